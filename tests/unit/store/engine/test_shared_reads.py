"""Shared reads by themselves, over an engine whose answers the test delays."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from precast.store.engine.interface import TransactionFactory, TransactionResult, TransactionStepper
from precast.store.engine.query import Dialect, Rows, Statement, Transaction
from precast.store.engine.shared_reads import MAX_BATCH, SharedReads


class HeldEngine:
    """Runs read transactions without statements, each when the test allows it."""

    dialect = Dialect.SQLITE
    location = "held"
    gather_s = 0.0

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.may_answer = asyncio.Semaphore(0)
        self.failure: Exception | None = None

    async def transact(self, factories: Sequence[TransactionFactory]) -> list[TransactionResult]:
        raise AssertionError("nothing writes here")

    async def read(self, factory: TransactionFactory) -> Any:
        stepper = TransactionStepper(factory())
        assert stepper.first() is None
        assert stepper.result is not None
        self.asked.append(stepper.result.value)
        await self.may_answer.acquire()
        if self.failure is not None:
            raise self.failure
        return stepper.result.value

    def read_immediately(self, statement: Statement) -> Rows | None:
        return None

    async def close(self) -> None:
        pass


def same(items: Sequence[int]) -> Transaction[Sequence[int]]:
    yield from ()
    return list(items)


def other(items: Sequence[int]) -> Transaction[Sequence[int]]:
    yield from ()
    return [-item for item in items]


@pytest.fixture
def engine() -> HeldEngine:
    return HeldEngine()


def ask(reads: SharedReads, *items: int) -> "list[asyncio.Task[Any]]":
    return [asyncio.create_task(reads.read(same, item)) for item in items]


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_lookups_during_a_read_are_batched(engine: HeldEngine) -> None:
    tasks = ask(SharedReads(engine), *range(5))
    await settle()
    assert engine.asked == [[0]]
    for _ in range(2):
        engine.may_answer.release()
    assert await asyncio.gather(*tasks) == [0, 1, 2, 3, 4]
    assert engine.asked == [[0], [1, 2, 3, 4]]


async def test_single_lookup_is_read_at_once_and_never_cached(engine: HeldEngine) -> None:
    """Nothing is cached: an answer is never older than its question."""
    reads = SharedReads(engine)
    for _ in range(2):
        (task,) = ask(reads, 7)
        engine.may_answer.release()
        assert await task == 7
    assert engine.asked == [[7], [7]]


async def test_lookups_of_different_kinds_do_not_wait_for_each_other(engine: HeldEngine) -> None:
    reads = SharedReads(engine)
    tasks = [*ask(reads, 1), asyncio.create_task(reads.read(other, 2))]
    await settle()
    assert engine.asked == [[1], [-2]]
    for _ in range(2):
        engine.may_answer.release()
    assert await asyncio.gather(*tasks) == [1, -2]


async def test_batch_is_never_larger_than_its_bound(engine: HeldEngine) -> None:
    tasks = ask(SharedReads(engine), *range(MAX_BATCH + 10))
    await settle()
    for _ in range(3):
        engine.may_answer.release()
    assert await asyncio.gather(*tasks) == list(range(MAX_BATCH + 10))
    assert [len(batch) for batch in engine.asked] == [1, MAX_BATCH, 9]


async def test_failed_read_fails_its_whole_batch_and_the_next_batch_proceeds(engine: HeldEngine) -> None:
    reads = SharedReads(engine)
    tasks = ask(reads, 1, 2, 3)
    await settle()
    engine.failure = OSError("away")
    for _ in range(2):
        engine.may_answer.release()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(result) for result in results] == ["away"] * 3
    engine.failure = None
    engine.may_answer.release()
    assert await asyncio.gather(*ask(reads, 4)) == [4]


@pytest.mark.parametrize("victim", [0, 1, 2])
async def test_cancelled_lookup_leaves_no_caller_waiting(engine: HeldEngine, victim: int) -> None:
    """The cancelled caller is the reading one, the next in the queue, or another."""
    tasks = ask(SharedReads(engine), 0, 1, 2, 3)
    await settle()
    tasks[victim].cancel()
    for _ in range(4):
        engine.may_answer.release()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results.pop(victim), asyncio.CancelledError)
    assert results == [number for number in range(4) if number != victim]


async def test_cancelling_the_next_caller_at_its_turn_leaves_no_caller_waiting(engine: HeldEngine) -> None:
    tasks = ask(SharedReads(engine), 0, 1, 2)
    await settle()
    engine.may_answer.release()
    await tasks[0]
    tasks[1].cancel()
    for _ in range(2):
        engine.may_answer.release()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[1], asyncio.CancelledError)
    assert results[2] == 2
