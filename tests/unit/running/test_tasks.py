"""The driver on tasks gives the same guarantees as the one on threads, and cancelling leaves an execution that can be stored."""

import asyncio

import pytest

from precast.net.execution.execution import Execution
from precast.net.model.builder import Builder
from precast.net.model.declarations import Outcome
from precast.net.model.structure import Net
from precast.running.tasks import run_tasks


def fan(width: int) -> Net:
    builder = Builder()
    builder.step("first")
    for n in range(width):
        builder.step(f"middle {n}", needs=["first"])
    builder.step("last", needs=[f"middle {n}" for n in range(width)])
    return builder.build()


async def test_run_of_a_fan_does_everything_within_the_bound() -> None:
    net, together = fan(8), asyncio.Barrier(3)
    done: list[str] = []
    now = most = 0

    async def work(t: int) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        if net.transition_name(t) in ("middle 0", "middle 1", "middle 2"):
            await together.wait()
        now -= 1
        done.append(net.transition_name(t))

    result = await run_tasks(Execution(net), work, at_once=3, deadline_s=30)
    assert result.is_complete
    assert most == 3
    assert len(done) == 10
    assert (done[0], done[-1]) == ("first", "last")


@pytest.mark.parametrize("error", [ValueError("no such package"), asyncio.CancelledError()])
async def test_run_with_work_that_raises_keeps_the_error_and_skips_dependents(error: BaseException) -> None:
    net = fan(2)
    execution = Execution(net)
    by_name = net.transitions_by_name

    async def work(t: int) -> None:
        if t == by_name["middle 1"]:
            raise error

    result = await run_tasks(execution, work, at_once=2, deadline_s=30)
    assert result.is_complete
    assert result.errors == {by_name["middle 1"]: error}
    assert execution.outcome(by_name["last"]) == Outcome.SKIPPED


async def test_run_that_is_stopped_lets_work_end_and_starts_nothing_more() -> None:
    net, stop = fan(3), asyncio.Event()
    done: list[int] = []

    async def work(t: int) -> None:
        stop.set()
        done.append(t)

    execution = Execution(net)
    result = await run_tasks(execution, work, at_once=2, deadline_s=30, stop=stop)
    assert done == [0]
    assert not result.is_complete
    assert result.unfinished == []


async def test_run_beyond_its_deadline_cancels_the_work_and_names_it() -> None:
    net = fan(1)
    execution = Execution(net)
    cancelled: list[int] = []

    async def work(t: int) -> None:
        if net.transition_name(t) == "middle 0":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(t)
                raise

    result = await run_tasks(execution, work, at_once=1, deadline_s=0.05)
    assert result.is_late
    assert result.unfinished == cancelled == [net.transitions_by_name["middle 0"]]


async def test_run_that_is_cancelled_leaves_a_snapshot_that_resumes() -> None:
    net, reached = fan(2), asyncio.Event()
    execution = Execution(net)
    again: list[str] = []

    async def work(t: int) -> None:
        if net.transition_name(t) != "first":
            reached.set()
            await asyncio.Event().wait()

    async def note(t: int) -> None:
        again.append(net.transition_name(t))

    running = asyncio.create_task(run_tasks(execution, work, at_once=2))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    resumed = Execution.restore(net, execution.snapshot())
    assert (await run_tasks(resumed, note, at_once=2, deadline_s=30)).is_complete
    assert again == ["middle 0", "middle 1", "last"]
