"""Content of tasks on both databases: who may send and read it, how much, and how long it is stored."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from precast.base import digests
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, PrecastError
from precast.services.plans import task_content
from precast.services.plans.task_content import TaskContentService
from precast.store.code.blobs import CHUNK_BYTES, Blobs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import AttemptKey, Attempts, Ending, NewAttempt
from precast.store.jobs.jobs import Jobs, NewJobRow
from precast.store.jobs.node_locks import NodeLocks
from precast.store.plans.task_content import ContentQuota, TaskContents
from precast.wire.jobs import states

KEYS = b"a private key"
LARGE = bytes(range(256)) * 4 * 1024 * 2 + b"end"
COLLECTS, COPIES = 1, 2


async def parts(data: bytes, size: int = 70_000) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


class RunningPlan:
    """A job `run` whose first task collects files; nodes begin and end its tasks."""

    def __init__(self, database: Database, spool: Path, job: str = "run") -> None:
        self.job, self.database = job, database
        self.contents, self.blobs = TaskContents(database), Blobs(database)
        self._attempts, self._locks = Attempts(database), NodeLocks(database)
        self.service = TaskContentService(database, self.contents, self._attempts, self.blobs, spool)

    async def create(self, *nodes: str) -> None:
        def create() -> Transaction[None]:
            row = NewJobRow(self.job, "plan", b"{}", None, None, "person:ann")
            yield from Jobs(self.database).create(row, 2 * len(nodes))
            steps = [NewAttempt(task, node, 0, 0) for task in (COLLECTS, COPIES) for node in nodes]
            yield from self._attempts.add(self.job, 1, 600.0, steps)
            yield from self.contents.expect(self.job, [COLLECTS])

        await self.database.write(create)

    async def begin(self, node: str, task: int) -> None:
        def begin() -> Transaction[None]:
            assert (yield from self._locks.take(AttemptKey(self.job, task, node, 1)))
            assert (yield from self._attempts.pick_up(AttemptKey(self.job, task, node, 1)))

        await self.database.write(begin)

    async def end(self, node: str, task: int) -> None:
        def end() -> Transaction[None]:
            key = AttemptKey(self.job, task, node, 1)
            assert (yield from self._attempts.end(key, states.PICKED_UP, Ending(states.COMPLETED)))
            assert (yield from self._locks.release(key))

        await self.database.write(end)

    async def send(self, node: str, data: bytes, named: str = "") -> str:
        digest = named or digests.of_bytes(data)
        await self.service.receive(node, digest, len(data), parts(data))
        return digest

    async def reads(self, node: str, digest: str) -> bytes | None:
        """What a node is given; None if it is told that there is no such content."""
        try:
            size = await self.service.find_size(node, digest)
        except PrecastError as error:
            if error.code != "ENV-013":
                raise
            return None
        return b"".join([part async for part in self.blobs.stream(digest, 0, size)])


async def code_of(attempt: object) -> str:
    with pytest.raises(PrecastError) as caught:
        await attempt  # type: ignore[misc] # any awaitable
    return caught.value.code


@pytest.fixture
async def plan(database: Database, tmp_path: Path) -> RunningPlan:
    made = RunningPlan(database, tmp_path)
    await made.create("master", "a", "b")
    return made


@pytest.mark.parametrize("data", [b"", KEYS, LARGE], ids=["empty", "small", "large"])
async def test_collected_content_is_read_by_the_nodes_that_are_allowed_it(plan: RunningPlan, data: bytes) -> None:
    await plan.begin("master", COLLECTS)
    digest = await plan.send("master", data)
    assert await plan.send("master", data) == digest
    assert await plan.database.write(plan.contents.allow_collected, "run", "master", [digest], "a")
    for node in ("a", "b"):
        await plan.begin(node, COPIES)
    assert (await plan.reads("a", digest), await plan.reads("b", digest)) == (data, None)


async def test_content_is_read_only_during_a_task_of_its_job(plan: RunningPlan, tmp_path: Path) -> None:
    digest = digests.of_bytes(KEYS)
    await plan.database.write(plan.blobs.put, digest, KEYS)
    await plan.database.write(plan.contents.allow, "run", [digest])
    assert await plan.reads("a", digest) is None
    await plan.begin("a", COPIES)
    assert await plan.reads("a", digest) == KEYS
    await plan.end("a", COPIES)
    assert await plan.reads("a", digest) is None
    other = RunningPlan(plan.database, tmp_path, "other")
    await other.create("a")
    await other.begin("a", COPIES)
    assert await plan.reads("a", digest) is None
    assert await plan.reads("a", "../etc/passwd") is None


async def test_node_sends_content_only_while_its_task_collects(plan: RunningPlan) -> None:
    assert await code_of(plan.send("master", KEYS)) == "PLAN-190"
    await plan.begin("master", COPIES)
    assert await code_of(plan.send("master", KEYS)) == "PLAN-190"
    await plan.end("master", COPIES)
    await plan.begin("master", COLLECTS)
    await plan.send("master", KEYS)
    assert await code_of(plan.send("a", KEYS)) == "PLAN-190"
    await plan.end("master", COLLECTS)
    assert await code_of(plan.send("master", b"late")) == "PLAN-190"
    assert await plan.blobs.filter_stored([digests.of_bytes(b"late")]) == set()


async def test_digest_that_a_node_has_not_sent_is_not_allowed_to_others(plan: RunningPlan) -> None:
    secret = digests.of_bytes(b"of another environment")
    await plan.database.write(plan.blobs.put, secret, b"of another environment")
    await plan.begin("master", COLLECTS)
    sent = await plan.send("master", KEYS)
    assert not await plan.database.write(plan.contents.allow_collected, "run", "master", [sent, secret], "a")
    assert not await plan.database.write(plan.contents.allow_collected, "run", "b", [sent], "a")
    assert not await plan.database.write(plan.contents.allow_collected, "run", "master", [sent, "\0"], "a")
    await plan.begin("a", COPIES)
    assert (await plan.reads("a", secret), await plan.reads("a", sent)) == (None, None)


async def test_content_whose_transfer_was_broken_off_is_not_allowed(
    plan: RunningPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def break_off(*_: object) -> None:
        raise ConnectionError

    await plan.begin("master", COLLECTS)
    with monkeypatch.context() as patched:
        patched.setattr(task_content, "store_file", break_off)
        assert await code_of(plan.send("master", KEYS)) == "ENV-015"
    digest = digests.of_bytes(KEYS)
    assert not await plan.database.write(plan.contents.allow_collected, "run", "master", [digest], "a")
    await plan.send("master", KEYS)
    assert await plan.database.write(plan.contents.allow_collected, "run", "master", [digest], "a")


async def test_content_with_another_digest_or_too_large_is_refused_and_not_stored(
    plan: RunningPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plan.begin("master", COLLECTS)
    named = digests.of_bytes(b"the truth")
    assert await code_of(plan.send("master", b"a lie", named)) == "ENV-010"
    assert await code_of(plan.send("master", KEYS, "x" * 64)) == "ENV-014"
    monkeypatch.setattr(task_content, "MAX_CONTENT_BYTES", 10)
    # By the length that the node announces, and by what it sends.
    assert await code_of(plan.send("master", b"x" * 11)) == "ENV-011"
    assert await code_of(plan.service.receive("master", named, None, parts(b"x" * 11, 2))) == "ENV-011"
    assert await plan.blobs.filter_stored([named, digests.of_bytes(b"a lie"), digests.of_bytes(b"x" * 11)]) == set()


@pytest.mark.parametrize("quota", [ContentQuota(2, 100, 100), ContentQuota(9, 8, 100), ContentQuota(9, 100, 8)])
async def test_content_beyond_the_quota_is_refused_and_not_stored(
    plan: RunningPlan, quota: ContentQuota, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_content, "QUOTA", quota)
    await plan.begin("master", COLLECTS)
    for data in (b"1234", b"5678", b"1234", b"5678"):  # the same content counts once
        await plan.send("master", data)
    assert await code_of(plan.send("master", b"9")) == "PLAN-191"
    assert await plan.blobs.filter_stored([digests.of_bytes(b"9")]) == set()
    await plan.begin("a", COLLECTS)
    if quota.node_bytes == 8:  # it is of each node
        await plan.send("a", b"9")
    else:
        assert await code_of(plan.send("a", b"9")) == "PLAN-191"


async def test_content_is_stored_as_long_as_its_job(plan: RunningPlan, clock: ManualClock) -> None:
    await plan.begin("master", COLLECTS)
    sent = await plan.send("master", KEYS)
    file = digests.of_bytes(b"of the environment")
    await plan.database.write(plan.blobs.put, file, b"of the environment")
    await plan.database.write(plan.contents.allow, "run", [file])
    clock.advance(3 * 86400)
    before = clock.now() - timedelta(days=1)
    assert (await plan.blobs.list_unreferenced(before, "", 10)).unreferenced == []
    await plan.end("master", COLLECTS)
    await plan.database.write(plan.contents.delete, "run")
    assert set((await plan.blobs.list_unreferenced(before, "", 10)).unreferenced) == {sent, file}
    await plan.begin("a", COPIES)
    assert (await plan.reads("a", file), await code_of(plan.send("a", KEYS))) == (None, "PLAN-190")


async def test_content_that_was_stored_long_ago_is_kept_from_collection_while_it_is_sent(
    plan: RunningPlan, clock: ManualClock
) -> None:
    digest = digests.of_bytes(KEYS)
    await plan.database.write(plan.blobs.put, digest, KEYS)
    clock.advance(3 * 86400)
    before = clock.now() - timedelta(days=1)
    await plan.begin("master", COLLECTS)

    async def parts_and_a_collection() -> AsyncIterator[bytes]:
        yield KEYS
        assert await plan.database.write(plan.blobs.delete_unreferenced, digest, before)

    await plan.service.receive("master", digest, None, parts_and_a_collection())
    assert not await plan.database.write(plan.blobs.delete_unreferenced, digest, clock.now())
    assert await plan.blobs.read(digest) == KEYS


async def test_content_that_is_not_stored_cannot_be_allowed(plan: RunningPlan) -> None:
    with pytest.raises(ConflictError) as caught:
        await plan.database.write(plan.contents.allow, "run", ["0" * 64])
    assert caught.value.code == "STORE-009"


async def test_missing_disk_space_is_reported_and_nothing_is_counted(plan: RunningPlan, tmp_path: Path) -> None:
    await plan.begin("master", COLLECTS)
    plan.service = TaskContentService(
        plan.database, plan.contents, Attempts(plan.database), plan.blobs, tmp_path / "gone"
    )
    assert await code_of(plan.send("master", b"x" * CHUNK_BYTES)) == "ENV-015"
    total = ContentQuota(1, CHUNK_BYTES, CHUNK_BYTES)
    assert await plan.database.write(plan.contents.note_collected, "run", "master", "0" * 64, CHUNK_BYTES, total)
