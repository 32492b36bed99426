"""The driver on threads is bounded and can be stopped, and reports the work that failed or was abandoned."""

import threading

import pytest

from precast.base.clock import ManualClock
from precast.net.execution.execution import Execution
from precast.net.model.builder import Builder
from precast.net.model.declarations import Outcome
from precast.net.model.structure import Net
from precast.running.threads import run_threads


def fan(width: int) -> Net:
    builder = Builder()
    builder.step("first")
    for n in range(width):
        builder.step(f"middle {n}", needs=["first"])
    builder.step("last", needs=[f"middle {n}" for n in range(width)])
    return builder.build()


def test_run_of_a_fan_does_everything_within_the_bound() -> None:
    net = fan(8)
    barrier, lock = threading.Barrier(3), threading.Lock()
    done: list[str] = []
    now = most = 0

    def work(t: int) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        name = net.transition_name(t)
        if name in ("middle 0", "middle 1", "middle 2"):
            barrier.wait(timeout=10)  # passes only if three really run together
        with lock:
            now -= 1
            done.append(name)

    result = run_threads(Execution(net), work, at_once=3, deadline_s=30)
    assert result.is_complete
    assert not result.errors
    assert most == 3
    assert done[0] == "first"
    assert done[-1] == "last"
    assert len(done) == 10


@pytest.mark.parametrize("error", [ValueError("no such package"), SystemExit(3)])
def test_run_with_work_that_raises_keeps_the_error_and_skips_dependents(error: BaseException) -> None:
    net = fan(2)
    execution = Execution(net)

    def work(t: int) -> None:
        if net.transition_name(t) == "middle 1":
            raise error

    result = run_threads(execution, work, at_once=2, deadline_s=30)
    by_name = net.transitions_by_name
    assert result.is_complete
    assert result.errors == {by_name["middle 1"]: error}
    assert execution.outcome(by_name["middle 0"]) == Outcome.SUCCESS
    assert execution.outcome(by_name["middle 1"]) == Outcome.FAILURE
    assert execution.outcome(by_name["last"]) == Outcome.SKIPPED


def test_run_that_is_stopped_starts_nothing_more_and_resumes_where_it_was() -> None:
    net, stop = fan(5), threading.Event()
    done: list[int] = []

    def work(t: int) -> None:
        done.append(t)
        if len(done) == 2:
            stop.set()

    execution = Execution(net)
    result = run_threads(execution, work, at_once=1, deadline_s=30, stop=stop)
    assert len(done) == 2
    assert not result.is_complete
    assert result.unfinished == []
    resumed = Execution.restore(net, execution.snapshot())
    assert run_threads(resumed, done.append, at_once=1, deadline_s=30).is_complete
    assert done == list(range(net.transition_count - len(net.skipped_step)))


def test_run_beyond_its_deadline_names_what_it_gave_up_and_that_is_done_again_on_resume() -> None:
    net, release, entered = fan(1), threading.Event(), threading.Event()
    clock = ManualClock()
    again: list[str] = []

    def work(t: int) -> None:
        if net.transition_name(t) == "middle 0":
            clock.advance(60)
            entered.set()
            release.wait(timeout=30)

    execution = Execution(net)
    result = run_threads(execution, work, at_once=1, deadline_s=0.2, clock=clock)
    snapshot = execution.snapshot()
    release.set()
    assert entered.is_set()
    assert result.is_late
    assert not result.is_complete
    assert [net.transition_name(t) for t in result.unfinished] == ["middle 0"]
    resumed = Execution.restore(net, snapshot)
    assert run_threads(resumed, lambda t: again.append(net.transition_name(t)), at_once=1, deadline_s=30).is_complete
    assert again == ["middle 0", "last"]


def test_run_with_an_outcome_from_the_work_uses_it() -> None:
    net = fan(1)
    execution = Execution(net)
    run_threads(execution, lambda t: Outcome.SKIPPED, at_once=1, deadline_s=30)
    assert [execution.outcome(t) for t in range(3)] == [Outcome.SKIPPED] * 3
