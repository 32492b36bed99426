"""Work past its deadline is cancelled; work that another task cancels stays cancelled."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from precast.api.http import deadlines
from precast.api.http.deadlines import DeadlineError, Deadlines


@pytest.fixture
async def checked(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Deadlines]:
    monkeypatch.setattr(deadlines, "CHECK_EVERY_S", 0.0)
    deadlines_checked = Deadlines()
    task = asyncio.create_task(deadlines_checked.run())
    yield deadlines_checked
    task.cancel()


async def test_work_within_its_deadline_returns_its_value(checked: Deadlines) -> None:
    assert await checked.within(60, asyncio.sleep(0, "done")) == "done"


async def test_work_past_its_deadline_is_cancelled_and_its_task_goes_on(checked: Deadlines) -> None:
    with pytest.raises(DeadlineError):
        await checked.within(0, asyncio.Event().wait())
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert await checked.within(60, asyncio.sleep(0, "next")) == "next"


async def test_error_of_the_work_is_passed_on(checked: Deadlines) -> None:
    async def fail() -> None:
        raise TimeoutError("of another kind")

    with pytest.raises(TimeoutError, match="of another kind"):
        await checked.within(60, fail())


async def test_cancellation_by_another_task_is_passed_on(checked: Deadlines) -> None:
    task = asyncio.create_task(checked.within(60, asyncio.Event().wait()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
