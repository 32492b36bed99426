"""Output that goes to a server as content of its job, on both databases: who may send and read it, how much, and how long it lasts."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from lab.job_engine import ANN, JobEngine
from precast.app.plans import list_plan_parts
from precast.base import digests
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, NotFoundError
from precast.services.plans import task_content
from precast.services.plans.task_content import SentContent, TaskContentService
from precast.store.code.blobs import Blobs
from precast.store.jobs.attempts import purge_node_attempts
from precast.store.plans.task_content import ContentQuota, TaskContents
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.orders import ExecEnded, WholeOutput
from precast.wire.jobs.views import NewExecJob
from precast.wire.nodes.bodies import TargetsBody

LOG = b"line\n" * 1_000


class Commands:
    """Commands on the nodes of an engine, whose output is sent as content."""

    def __init__(self, site: JobEngine, spool: Path) -> None:
        self.site, database = site, site.database
        self.blobs = Blobs(database)
        self.service = TaskContentService(database, TaskContents(database), site.attempts, self.blobs, spool)

    async def start(self, *nodes: str) -> str:
        job = (await self.site.service.command(NewExecJob(TargetsBody(list(nodes)), ["cat"]), ANN)).id
        await self.site.drive()
        await self.site.claim(job, *nodes)
        return job

    async def send(self, node: str, data: bytes) -> str:
        async def parts() -> AsyncIterator[bytes]:
            yield data

        return (await self.service.receive(node, digests.of_bytes(data), len(data), parts())).digest

    async def end(self, job: str, node: str, whole: WholeOutput | None) -> None:
        now = self.site.database.clock.now()
        ended = ExecEnded(make_order_id(job, 1, 1), now, code=0, cut_bytes=1, whole=whole)
        await self.site.report(node, ended)
        await self.site.drive()

    async def read(self, job: str, node: str) -> bytes:
        sent = await self.service.find_sent(SentContent(job, 1, node))
        return b"".join([part async for part in self.blobs.stream(sent.digest, 0, sent.size)])

    async def refusal(self, job: str, node: str) -> str:
        with pytest.raises(NotFoundError) as caught:
            await self.read(job, node)
        assert caught.value.code == "PLAN-192"
        return caught.value.message


@pytest.fixture
def commands(site: JobEngine, tmp_path: Path) -> Commands:
    return Commands(site, tmp_path)


async def test_node_sends_output_only_while_its_command_runs(commands: Commands) -> None:
    with pytest.raises(ConflictError, match="no command runs there"):
        await commands.send("a", LOG)
    job = await commands.start("a")
    digest = await commands.send("a", LOG)
    assert "has returned nothing" in await commands.refusal(job, "a")
    await commands.end(job, "a", WholeOutput(len(LOG), digest))
    assert await commands.read(job, "a") == LOG
    (step,) = await commands.site.service.steps(job, "")
    assert step.result is not None
    assert step.result.output == WholeOutput(len(LOG)), "whoever sees a run is not shown the digest"
    with pytest.raises(ConflictError):
        await commands.send("a", LOG)


async def test_run_that_is_no_command_receives_no_output(commands: Commands) -> None:
    job = await commands.site.start("a")
    await commands.site.drive()
    await commands.site.claim(job, "a")
    with pytest.raises(ConflictError):
        await commands.send("a", LOG)


async def test_output_that_a_node_only_names_is_not_given_to_people(commands: Commands) -> None:
    job = await commands.start("a", "b")
    digest = await commands.send("a", LOG)
    await commands.end(job, "b", WholeOutput(len(LOG), digest))
    assert "the node has not sent it" in await commands.refusal(job, "b")


async def test_output_over_the_quota_is_refused_whole_with_its_reason(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_content, "QUOTA", ContentQuota(10, len(LOG) + 10, len(LOG)))
    job = await commands.start("a", "b")
    digest = await commands.send("a", LOG)
    with pytest.raises(ConflictError) as caught:
        await commands.send("b", LOG + b"more")
    assert caught.value.code == "PLAN-191"
    await commands.end(job, "a", WholeOutput(len(LOG), digest))
    await commands.end(job, "b", WholeOutput(len(LOG) + 4, error=caught.value.message + "\x1b[2J"))
    refusal = await commands.refusal(job, "b")
    assert "cannot send" in refusal
    assert "\x1b" not in refusal
    assert await commands.read(job, "a") == LOG
    (missing,) = await commands.blobs.filter_stored([digests.of_bytes(LOG + b"more")]) or ("",)
    assert missing == ""


async def test_output_is_deleted_with_the_results_of_its_run(commands: Commands, clock: ManualClock) -> None:
    job = await commands.start("a")
    digest = await commands.send("a", LOG)
    await commands.end(job, "a", WholeOutput(len(LOG), digest))
    clock.advance(3600)
    before, site = clock.now() - timedelta(minutes=1), commands.site
    page = await commands.blobs.list_unreferenced(before, "", 10)
    assert page.unreferenced == [], "it is spared as long as the run is stored"
    assert await site.jobs.delete_old(before, 10, list_plan_parts(site.database)) == 1
    page = await commands.blobs.list_unreferenced(before, "", 10)
    assert page.unreferenced == [digest]
    assert "no such step" in await commands.refusal(job, "a")


async def test_purged_node_leaves_no_output_that_can_be_read(commands: Commands) -> None:
    job = await commands.start("a")
    digest = await commands.send("a", LOG)
    await commands.end(job, "a", WholeOutput(len(LOG), digest))
    await commands.site.database.write(purge_node_attempts, "a", commands.site.database.clock.now())
    assert "has returned nothing" in await commands.refusal(job, "a")
