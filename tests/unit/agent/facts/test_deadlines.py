"""Work that returns in time, late, or never."""

import threading

import pytest

from precast.agent.facts.deadlines import Deadlines, StillStuck


def test_work_in_time_returns_its_result() -> None:
    assert Deadlines().within(20, "sum", lambda: 1 + 1) == 2


def test_work_that_raises_raises_here() -> None:
    with pytest.raises(ZeroDivisionError):
        Deadlines().within(20, "division", lambda: 1 // 0)


def test_work_past_its_deadline_is_not_started_again_until_it_returns() -> None:
    deadlines, free = Deadlines(), threading.Event()
    starts = []

    def work() -> bool:
        starts.append(1)
        return free.wait(60)

    with pytest.raises(TimeoutError):
        deadlines.within(0.01, "mount", work)
    with pytest.raises(StillStuck):
        deadlines.within(20, "mount", work)
    assert len(starts) == 1
    free.set()
    for thread in threading.enumerate():
        if thread.name == "facts: mount":
            thread.join(20)
    assert deadlines.within(20, "mount", work) is True
    assert len(starts) == 2


def test_stuck_work_does_not_delay_other_work() -> None:
    deadlines, free = Deadlines(), threading.Event()
    with pytest.raises(TimeoutError):
        deadlines.within(0.01, "mount", lambda: free.wait(60))
    assert deadlines.within(20, "other", lambda: "answer") == "answer"
    free.set()
