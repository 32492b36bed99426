"""What takes too long is ended; what somebody else ends stays ended."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from precast.api.http import deadlines
from precast.api.http.deadlines import DeadlineError, Deadlines


@pytest.fixture
async def looking(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Deadlines]:
    monkeypatch.setattr(deadlines, "LOOK_EVERY_S", 0.0)
    made = Deadlines()
    task = asyncio.create_task(made.run())
    yield made
    task.cancel()


async def test_work_in_time_has_its_value(looking: Deadlines) -> None:
    assert await looking.within(60, asyncio.sleep(0, "done")) == "done"


async def test_work_past_its_deadline_is_ended_and_its_task_goes_on(looking: Deadlines) -> None:
    with pytest.raises(DeadlineError):
        await looking.within(0, asyncio.Event().wait())
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert await looking.within(60, asyncio.sleep(0, "next")) == "next"


async def test_error_of_the_work_is_its_own(looking: Deadlines) -> None:
    async def fail() -> None:
        raise TimeoutError("of another sort")

    with pytest.raises(TimeoutError, match="of another sort"):
        await looking.within(60, fail())


async def test_cancelled_by_another_is_cancelled(looking: Deadlines) -> None:
    task = asyncio.create_task(looking.within(60, asyncio.Event().wait()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
