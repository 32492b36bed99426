"""Shared reads by themselves, over an engine whose answers the test holds back."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from precast.store.engine.interface import Done, Progress, TransactionFactory
from precast.store.engine.query import Dialect, Rows, Statement, Transaction
from precast.store.engine.shared_reads import MAX_BATCH, SharedReads


class HeldEngine:
    """Reads units that have no statements, each when the test lets it."""

    dialect = Dialect.SQLITE
    location = "held"
    gather_s = 0.0

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.may_answer = asyncio.Semaphore(0)
        self.failure: Exception | None = None

    async def transact(self, units: Sequence[TransactionFactory]) -> list[Done]:
        raise AssertionError("nothing writes here")

    async def read(self, unit: TransactionFactory) -> Any:
        progress = Progress(unit())
        assert progress.first() is None
        assert progress.done is not None
        self.asked.append(progress.done.value)
        await self.may_answer.acquire()
        if self.failure is not None:
            raise self.failure
        return progress.done.value

    def read_at_once(self, statement: Statement) -> Rows | None:
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


async def test_questions_that_come_during_a_read_are_asked_together(engine: HeldEngine) -> None:
    tasks = ask(SharedReads(engine), *range(5))
    await settle()
    assert engine.asked == [[0]]
    for _ in range(2):
        engine.may_answer.release()
    assert await asyncio.gather(*tasks) == [0, 1, 2, 3, 4]
    assert engine.asked == [[0], [1, 2, 3, 4]]


async def test_lone_question_is_asked_at_once_and_again_when_it_comes_again(engine: HeldEngine) -> None:
    """Nothing is remembered: an answer is never older than its question."""
    reads = SharedReads(engine)
    for _ in range(2):
        (task,) = ask(reads, 7)
        engine.may_answer.release()
        assert await task == 7
    assert engine.asked == [[7], [7]]


async def test_kinds_of_questions_do_not_wait_for_each_other(engine: HeldEngine) -> None:
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


async def test_failed_read_is_told_to_all_of_its_batch_and_the_next_goes_on(engine: HeldEngine) -> None:
    reads = SharedReads(engine)
    tasks = ask(reads, 1, 2, 3)
    await settle()
    engine.failure = OSError("away")
    for _ in range(2):
        engine.may_answer.release()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(one) for one in results] == ["away"] * 3
    engine.failure = None
    engine.may_answer.release()
    assert await asyncio.gather(*ask(reads, 4)) == [4]


@pytest.mark.parametrize("victim", [0, 1, 2])
async def test_cancelling_one_leaves_nobody_waiting(engine: HeldEngine, victim: int) -> None:
    """Whoever it is: the one who asks, the next in line, or another."""
    tasks = ask(SharedReads(engine), 0, 1, 2, 3)
    await settle()
    tasks[victim].cancel()
    for _ in range(4):
        engine.may_answer.release()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results.pop(victim), asyncio.CancelledError)
    assert results == [number for number in range(4) if number != victim]


async def test_cancelling_the_next_in_line_as_its_turn_comes_leaves_nobody_waiting(engine: HeldEngine) -> None:
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
