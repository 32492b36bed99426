"""Outcomes of attempts that returners send, on both databases: each once it has ended, whatever ended it."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.job_engine import ANN, JobEngine
from precast.api.http.webhook import post
from precast.base.clock import ManualClock
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.local import open_local_signer
from precast.services.reports.returned_attempts import ReturnedAttempts
from precast.services.reports.returners import Returner, ReturnerService, kind_of
from precast.services.reports.views import ReportViews
from precast.store.engine.database import Database
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import Jobs
from precast.store.queue.queue import WorkQueue
from precast.store.reports.views import ReportReader
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.orders import OrderEnded
from precast.wire.jobs.views import JobLimits


class ReturningSite:
    """A job engine whose attempts are sent to files, by the name of a returner."""

    def __init__(self, database: Database, signer: Any, directory: Path) -> None:
        self._directory = directory
        names = {"everything": "all", "failures": "failed", "events": "eventful"}
        returners: dict[str, Returner] = {
            name: Returner(file=str(directory / name), only=only, reports=False, attempts=True)  # type: ignore[arg-type]
            for name, only in names.items()
        }
        returners["reports"] = Returner(file=str(directory / "reports"))
        work = WorkQueue(database, [kind_of(name) for name in returners])
        views = ReportViews(database, ReportReader(database))
        returned = ReturnedAttempts(database, Jobs(database), Attempts(database))
        self.returners = ReturnerService(database, views, returned, work, returners, post)
        self.engine = JobEngine(database, signer, on_changes=[self.returners.enqueue_attempts])

    async def sent(self, name: str) -> list[Any]:
        """What a returner has got, after it has worked off its queue."""
        while await self.returners.work_off(name, "server"):
            pass
        path = self._directory / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    async def states(self, name: str) -> list[tuple[str, str]]:
        return sorted((sent["attempt"]["node"], sent["attempt"]["state"]) for sent in await self.sent(name))


@pytest.fixture
async def site(
    database: Database, authority_files: AuthorityFiles, clock: ManualClock, tmp_path: Path
) -> ReturningSite:
    made = ReturningSite(database, await open_local_signer(authority_files, clock), tmp_path)
    await made.engine.connect("a", "b", "c")
    await made.engine.introduce("d")
    return made


async def test_every_attempt_that_has_ended_is_sent_once(site: ReturningSite) -> None:
    engine = site.engine
    job = await engine.start("a", "b", "c", "d", limits=JobLimits(at_once="2", tolerate="4"), why="a reason")
    await engine.drive()
    assert await site.states("everything") == [("d", "SKIPPED")]
    await engine.claim(job, "a", "b")
    ended = OrderEnded(make_order_id(job, 1, 1), True, engine.database.clock.now(), result='{"free":5}')
    await engine.report("a", ended)
    await engine.end(job, "b", is_success=False)
    await engine.drive()
    await engine.service.stop(job, ANN)
    await engine.drive()
    every = [("a", "COMPLETED"), ("b", "FAILED"), ("c", "CANCELLED"), ("d", "SKIPPED")]
    assert await site.states("everything") == every
    assert await site.states("failures") == [("b", "FAILED")]
    assert await site.states("events") == [("a", "COMPLETED"), ("b", "FAILED")]
    assert await site.sent("reports") == []
    (sent,) = [sent for sent in await site.sent("everything") if sent["attempt"]["node"] == "a"]
    assert sent["attempt"]["result"]["returned"] == '{"free":5}'
    assert (sent["job"]["id"], sent["job"]["kind"], sent["job"]["why"]) == (job, "apply", "a reason")


async def test_retry_is_sent_as_an_attempt_of_its_own(site: ReturningSite) -> None:
    engine = site.engine
    job = await engine.start("a", "b", limits=JobLimits(tolerate="2"))
    await engine.drive()
    for n in (1, 2):
        await engine.carry_out(job, "b", n=n, is_success=False)
        await engine.drive()
        if n == 1:
            await engine.carry_out(job, "a")
            await engine.drive()
            await site.sent("failures")
            await engine.service.retry(job, ANN)
            await engine.drive()
    sent = [(each["attempt"]["node"], each["attempt"].get("attempt", 1)) for each in await site.sent("failures")]
    assert sent == [("b", 1), ("b", 2)]


async def test_late_result_is_sent_while_the_job_goes_on(site: ReturningSite, clock: ManualClock) -> None:
    engine = site.engine
    job = await engine.start("a", "b", limits=JobLimits(take_s=60, tolerate="2"))
    await engine.drive()
    await engine.claim(job, "a")
    clock.advance(30)
    await engine.connect("b")
    await engine.claim(job, "b")
    clock.advance(31)
    await engine.connect("b")
    await engine.drive()
    assert [(each["attempt"]["state"], each["attempt"].get("late")) for each in await site.sent("everything")] == [
        ("FAILED", None)
    ]
    await engine.end(job, "a")
    await engine.drive()
    assert [(each["attempt"]["state"], each["attempt"].get("late")) for each in await site.sent("everything")] == [
        ("FAILED", None),
        ("FAILED", "COMPLETED"),
    ]


async def test_attempt_whose_job_was_deleted_is_not_sent(site: ReturningSite) -> None:
    job = await site.engine.start("a")
    await site.engine.drive()
    await site.engine.carry_out(job, "a")
    await site.engine.drive()
    await site.engine.jobs.delete_old(site.engine.database.clock.now().replace(year=2100), 10)
    assert await site.sent("everything") == []
