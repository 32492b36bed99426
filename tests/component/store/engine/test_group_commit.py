"""Group commit by itself, over an engine whose commits the test delays."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any

import pytest

from precast.base.errors import UnavailableError
from precast.store import issues
from precast.store.engine import group_commit
from precast.store.engine.group_commit import MANY, GroupCommit
from precast.store.engine.interface import (
    DatabaseFailed,
    TransactionFactory,
    TransactionFailed,
    TransactionResult,
    TransactionStepper,
)
from precast.store.engine.query import Dialect, Rows, Statement, Transaction


class HeldEngine:
    """Runs transactions without statements; a commit waits until the test allows it."""

    dialect = Dialect.SQLITE
    location = "held"
    gather_s = 0.0

    def __init__(self) -> None:
        self.may_commit = asyncio.Event()
        self.groups: list[int] = []
        self.holds = 1_000_000  # how many commits wait, from the first on
        self.failure: Exception | None = None

    async def transact(self, factories: Sequence[TransactionFactory]) -> list[TransactionResult]:
        self.groups.append(len(factories))
        if len(self.groups) <= self.holds:
            await self.may_commit.wait()
        if self.failure is not None:
            raise self.failure
        done = []
        for index, factory in enumerate(factories):
            stepper = TransactionStepper(factory())
            try:
                assert stepper.first() is None
            except Exception as error:
                raise TransactionFailed(index) from error
            assert stepper.result is not None
            done.append(stepper.result)
        return done

    async def read(self, factory: TransactionFactory) -> Any:
        raise AssertionError("nothing reads here")

    def read_immediately(self, statement: Statement) -> Rows | None:
        return None

    async def close(self) -> None:
        pass


def value(number: int) -> Transaction[int]:
    yield from ()
    return number


@pytest.fixture
def engine() -> HeldEngine:
    return HeldEngine()


@asynccontextmanager
async def started(engine: HeldEngine, committers: int) -> AsyncIterator[GroupCommit]:
    group = GroupCommit(engine, lambda topics: None, committers)
    group.start()
    yield group
    engine.may_commit.set()
    await group.close()


@pytest.fixture
async def commits(engine: HeldEngine) -> AsyncIterator[GroupCommit]:
    async with started(engine, 1) as group:
        yield group


@pytest.fixture
async def two(engine: HeldEngine) -> AsyncIterator[GroupCommit]:
    """Two committers, as on PostgreSQL."""
    async with started(engine, 2) as group:
        yield group


async def under_way(commits: GroupCommit, engine: HeldEngine) -> "asyncio.Task[int]":
    """Start a writer, and wait until its commit has begun and is delayed."""
    first = asyncio.create_task(commits.submit(lambda: value(0)))
    while not engine.groups:
        await asyncio.sleep(0)
    return first


async def until_queued(commits: GroupCommit, count: int) -> None:
    while len(commits._pending) < count:
        await asyncio.sleep(0)


async def test_writes_during_a_commit_share_the_next(commits: GroupCommit, engine: HeldEngine) -> None:
    first = await under_way(commits, engine)
    others = [asyncio.create_task(commits.submit(partial(value, number))) for number in range(1, 101)]
    await until_queued(commits, 100)
    engine.may_commit.set()
    assert await asyncio.gather(first, *others) == list(range(101))
    assert engine.groups == [1, 100]


async def test_committer_waits_for_the_next_group_after_a_large_one(commits: GroupCommit, engine: HeldEngine) -> None:
    engine.may_commit.set()
    engine.gather_s = 0.4

    async def write_again_and_again(number: int) -> None:
        for turn in range(3):
            await commits.submit(partial(value, number))
            for _ in range(number % 5 * turn):  # some take longer to come again
                await asyncio.sleep(0)

    await asyncio.gather(*map(write_again_and_again, range(MANY)))
    assert engine.groups == [MANY] * 3
    assert await commits.submit(lambda: value(1)) == 1
    await commits.submit(lambda: value(2))
    assert engine.groups == [MANY] * 3 + [1, 1]


async def test_gathering_ends_when_as_many_writes_are_pending_again(commits: GroupCommit, engine: HeldEngine) -> None:
    engine.may_commit.set()
    engine.gather_s = 3600.0
    async with asyncio.timeout(20):
        for _ in range(3):
            await asyncio.gather(*(commits.submit(partial(value, number)) for number in range(MANY)))
    assert engine.groups == [MANY] * 3


async def test_second_committer_waits_for_the_first_and_takes_all_pending_writes(
    two: GroupCommit, engine: HeldEngine
) -> None:
    first = await under_way(two, engine)
    others = [asyncio.create_task(two.submit(partial(value, number))) for number in range(1, 11)]
    for _ in range(20):
        await asyncio.sleep(0)
    engine.may_commit.set()
    assert await asyncio.gather(first, *others) == list(range(11))
    assert engine.groups == [1, 10]


async def test_slow_commit_does_not_block_the_other_committer(
    two: GroupCommit, engine: HeldEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "TURN_S", 0.0)
    first = await under_way(two, engine)
    others = [asyncio.create_task(two.submit(partial(value, number))) for number in range(1, 4)]
    async with asyncio.timeout(20):
        while len(engine.groups) < 2:
            await asyncio.sleep(0)
    assert not first.done()
    engine.may_commit.set()
    assert await asyncio.gather(first, *others) == [0, 1, 2, 3]


async def test_slow_commit_is_waited_for_once_and_not_by_each_group(
    two: GroupCommit, engine: HeldEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first commit starts at 0, and everything else happens long after that.
    times = chain([0.0], repeat(2 * 3600.0))
    monkeypatch.setattr(group_commit, "time", SimpleNamespace(monotonic=lambda: next(times)))
    monkeypatch.setattr(group_commit, "TURN_S", 3600.0)
    engine.holds = 1
    long = await under_way(two, engine)
    async with asyncio.timeout(20):
        for number in range(20):
            assert await two.submit(partial(value, number)) == number
    assert not long.done()
    engine.may_commit.set()
    assert await long == 0


class Deaf:
    """A completion that raises."""

    def done(self) -> bool:
        return False

    def set_result(self, value: object) -> None:
        raise RuntimeError("it cannot be told")

    set_exception = set_result


async def test_completion_that_raises_leaves_no_other_writer_waiting(commits: GroupCommit, engine: HeldEngine) -> None:
    first = await under_way(commits, engine)
    commits.submit_item(doubled, 13, Deaf())
    commits.submit_item(doubled, 1, Deaf())
    other = submit(commits, 2)
    await until_queued(commits, 3)
    engine.may_commit.set()
    async with asyncio.timeout(20):
        assert (await first, await other) == (0, 4)
        assert await commits.submit(lambda: value(5)) == 5


async def test_write_that_is_alone_shares_its_commit_with_no_other(commits: GroupCommit, engine: HeldEngine) -> None:
    def refuse() -> Transaction[int]:
        yield from ()
        raise issues.QUEUE_FULL.error(kind="k", limit=1)

    first = await under_way(commits, engine)
    writes = [
        asyncio.create_task(commits.submit(partial(value, number), is_alone=number % 5 == 0)) for number in range(1, 11)
    ]
    refused = asyncio.create_task(commits.submit(refuse, is_alone=True))
    await until_queued(commits, 11)
    engine.may_commit.set()
    assert await asyncio.gather(first, *writes) == list(range(11))
    with pytest.raises(UnavailableError):
        await refused
    assert engine.groups == [1, 8, 1, 1, 1]


async def test_group_is_never_larger_than_its_bound(commits: GroupCommit, engine: HeldEngine) -> None:
    engine.may_commit.set()
    count = group_commit.MAX_GROUP * 2 + 10
    await asyncio.gather(*(commits.submit(lambda: value(1)) for _ in range(count)))
    assert sum(engine.groups) == count
    assert max(engine.groups) == group_commit.MAX_GROUP


async def test_full_queue_delays_the_next_writer_and_then_refuses_it(
    commits: GroupCommit, engine: HeldEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "PATIENCE_S", 0.01)
    taken = asyncio.create_task(commits.submit(lambda: value(0)))
    while not engine.groups:
        await asyncio.sleep(0)
    waiting = [asyncio.create_task(commits.submit(lambda: value(1))) for _ in range(group_commit.MAX_PENDING)]
    await until_queued(commits, group_commit.MAX_PENDING)
    with pytest.raises(UnavailableError) as caught:
        await commits.submit(lambda: value(2))
    assert caught.value.code == "STORE-005"
    engine.may_commit.set()
    assert await asyncio.gather(taken, *waiting) == [0] + [1] * group_commit.MAX_PENDING


async def test_writer_that_waits_for_a_place_while_the_database_closes_is_refused(engine: HeldEngine) -> None:
    group = GroupCommit(engine, lambda topics: None, committers=1)
    group.start()
    writes = [asyncio.create_task(group.submit(lambda: value(1))) for _ in range(group_commit.MAX_PENDING + 300)]
    while not engine.groups or len(group._pending) < group_commit.MAX_PENDING:
        await asyncio.sleep(0)
    closing = asyncio.create_task(group.close())
    await asyncio.sleep(0)
    engine.may_commit.set()
    results = await asyncio.gather(*writes, return_exceptions=True)
    await closing
    assert {getattr(result, "code", result) for result in results} <= {1, "STORE-013"}


async def test_database_failure_reaches_every_writer_once(commits: GroupCommit, engine: HeldEngine) -> None:
    engine.failure = DatabaseFailed(issues.DISK_FULL.error(location="held"))
    writes = [asyncio.create_task(commits.submit(lambda: value(1))) for _ in range(5)]
    await asyncio.sleep(0)
    engine.may_commit.set()
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [getattr(result, "code", None) for result in results] == ["STORE-006"] * 5
    assert engine.groups == [5]


async def test_failing_transaction_costs_a_few_commits_not_one_for_each_writer(
    commits: GroupCommit, engine: HeldEngine
) -> None:
    def refuse() -> Transaction[int]:
        yield from ()
        raise issues.QUEUE_FULL.error(kind="k", limit=1)

    factories = [value] * 50
    writes = [asyncio.create_task(commits.submit(partial(factory, 1))) for factory in factories[:25]]
    writes.append(asyncio.create_task(commits.submit(refuse)))
    writes += [asyncio.create_task(commits.submit(partial(factory, 1))) for factory in factories[25:]]
    await asyncio.sleep(0)
    engine.may_commit.set()
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert results[:25] + results[26:] == [1] * 50
    assert isinstance(results[25], UnavailableError)
    assert engine.groups == [51, 25, 1, 25]


async def test_engine_bug_reaches_every_writer_instead_of_leaving_them_waiting(engine: HeldEngine) -> None:
    group = GroupCommit(engine, lambda topics: None, committers=1)
    group.start()
    engine.failure = RuntimeError("broken")
    engine.may_commit.set()
    with pytest.raises(Exception, match="broken") as caught:
        await group.submit(lambda: value(1))
    assert getattr(caught.value, "code", None) == "STORE-012"
    engine.failure = None
    assert await group.submit(lambda: value(2)) == 2
    await group.close()


def doubled(numbers: Sequence[int]) -> Transaction[Sequence[int]]:
    yield from ()
    if 13 in numbers:
        raise ValueError("thirteen")
    return [2 * number for number in numbers]


def submit(commits: GroupCommit, number: int) -> "asyncio.Future[int]":
    completion: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    commits.submit_item(doubled, number, completion)
    return completion


async def test_items_of_a_batch_share_one_transaction_and_each_gets_its_value(
    commits: GroupCommit, engine: HeldEngine
) -> None:
    first = await under_way(commits, engine)
    items = [submit(commits, number) for number in range(10)]
    other = asyncio.create_task(commits.submit(lambda: value(99)))
    await until_queued(commits, 11)
    engine.may_commit.set()
    assert await asyncio.gather(*items) == [2 * number for number in range(10)]
    assert (await first, await other) == (0, 99)
    assert engine.groups == [1, 2]


async def test_failing_item_of_a_batch_fails_alone(commits: GroupCommit, engine: HeldEngine) -> None:
    first = await under_way(commits, engine)
    items = [submit(commits, number) for number in range(20)]
    others = [asyncio.create_task(commits.submit(partial(value, number))) for number in range(3)]
    await until_queued(commits, 23)
    engine.may_commit.set()
    results = await asyncio.gather(*items, return_exceptions=True)
    assert isinstance(results.pop(13), ValueError)
    assert results == [2 * number for number in range(20) if number != 13]
    assert await asyncio.gather(first, *others) == [0, 0, 1, 2]
