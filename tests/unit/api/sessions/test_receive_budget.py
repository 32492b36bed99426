"""The receive budget: a connection without free budget waits, and every waiting connection gets its turn."""

import asyncio

from precast.api.sessions.receive_budget import ReceiveBudget


async def acquire(budget: ReceiveBudget, size_bytes: int) -> None:
    await budget.wait_for_space()
    budget.acquire(size_bytes)


async def run_tasks() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_full_budget_is_waited_for_whatever_the_size() -> None:
    budget = ReceiveBudget(100)
    budget.acquire(150)  # a record may exceed the free budget
    assert budget.is_full
    empty, large = asyncio.create_task(acquire(budget, 0)), asyncio.create_task(acquire(budget, 60))
    await run_tasks()
    assert (empty.done(), large.done()) == (False, False)
    budget.release(150)
    await run_tasks()
    assert empty.done()
    budget.release(0)  # a connection that was woken and used nothing delays the next one only until the next release
    await run_tasks()
    assert large.done()
    assert not budget.is_full


async def test_cancelled_wait_uses_no_budget_and_blocks_no_other() -> None:
    budget = ReceiveBudget(10)
    budget.acquire(10)
    first, second = asyncio.create_task(acquire(budget, 5)), asyncio.create_task(acquire(budget, 5))
    await run_tasks()
    first.cancel()
    await run_tasks()
    budget.release(10)
    await run_tasks()
    assert second.done()
    budget.release(5)
    budget.acquire(10)
    assert budget.is_full


async def test_scarce_budget_wakes_one_at_a_time() -> None:
    budget = ReceiveBudget(100)
    budget.acquire(60)
    budget.acquire(60)  # some budget was free, and a record is never split
    waiting = [asyncio.create_task(acquire(budget, 10)) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    waiting[0].cancel()
    budget.release(60)
    async with asyncio.timeout(10):
        await waiting[1]
    budget.release(60)
    async with asyncio.timeout(10):
        await waiting[2]
