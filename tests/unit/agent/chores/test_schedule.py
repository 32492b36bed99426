"""When recurring work is due."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from precast.agent.chores.schedule import Rhythm, Timetable, due_at
from precast.base.clock import ManualClock

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
HALF = timedelta(minutes=30)
JUMPS = [timedelta(hours=1), timedelta(days=40), timedelta(hours=-1), timedelta(days=-40)]


class Work:
    """The recurring work of one node, which notes when it was done last as the node's clock shows it."""

    def __init__(self, clock: ManualClock, name: str = "web1", last_at: datetime | None = None) -> None:
        self.clock, self.name, self.last_at = clock, name, last_at
        self.rhythm = Rhythm(HALF, HALF)
        self.times = 0
        self.timetable = Timetable(clock, lambda: self.name, lambda: self.rhythm, lambda: self.last_at)

    def do(self) -> None:
        self.timetable.begin()
        self.last_at = self.clock.now()
        self.times += 1
        self.timetable.finish()

    @property
    def is_due(self) -> bool:
        return self.timetable.left() <= timedelta(0)


def fleet(clock: ManualClock, count: int = 200) -> list[Work]:
    """Nodes that all work in their slots."""
    nodes = [Work(clock, f"web{number}", clock.now()) for number in range(count)]
    pass_time(clock, nodes, HALF)
    return nodes


def pass_time(clock: ManualClock, nodes: Sequence[Work], span: timedelta) -> list[int]:
    """Let time pass and let nodes do what is due. Returns how many did so in each minute."""
    counts = []
    for _ in range(span // timedelta(minutes=1)):
        clock.advance(60)
        due = [node for node in nodes if node.is_due]
        for node in due:
            node.do()
        counts.append(len(due))
    return counts


def set_clock(clock: ManualClock, by: timedelta) -> None:
    if by > timedelta(0):
        clock.set_ahead(by.total_seconds())
    else:
        clock.set_back(-by.total_seconds())


@pytest.mark.parametrize(
    "last_at",
    [None, NOW - HALF, NOW - timedelta(days=9)],
    ids=["none", "old", "older"],
)
def test_work_is_due_at_once_without_a_recent_run(last_at: datetime | None) -> None:
    assert due_at("web1", last_at, NOW, HALF, HALF) == NOW


def test_work_of_a_fleet_that_was_done_in_the_future_is_spread_over_the_splay() -> None:
    """The clocks were ahead when it was done last, and were corrected while the agents did not run."""
    ahead = NOW + timedelta(days=400)
    minutes = [(due_at(f"web{number}", ahead, NOW, HALF, HALF) - NOW) / timedelta(minutes=1) for number in range(1000)]
    assert 0 <= min(minutes) < 0.5
    assert 29.5 < max(minutes) <= 30
    assert 20 < sum(4 <= minute < 5 for minute in minutes) < 50


def test_work_is_due_once_in_every_interval_at_an_offset_of_the_name() -> None:
    for name in ("web1", "web2", "db1"):
        at, moments = NOW - timedelta(seconds=1), []
        for _ in range(5):
            at = due_at(name, at, at + timedelta(seconds=1), HALF, HALF)
            moments.append(at)
        steps = {later - earlier for earlier, later in itertools.pairwise(moments)}
        assert steps == {HALF}


def test_work_of_a_fleet_is_spread_over_the_splay() -> None:
    last = datetime(2030, 1, 1, 11, 59, 59, tzinfo=UTC)
    splay = timedelta(minutes=10)
    minutes = [
        (due_at(f"web{number}", last, NOW, timedelta(hours=1), splay) - NOW) / timedelta(minutes=1)
        for number in range(1000)
    ]
    assert 0 <= min(minutes) < 0.5
    assert 9.5 < max(minutes) <= 10
    assert 80 < sum(4 <= minute < 5 for minute in minutes) < 120


@pytest.mark.parametrize("jump", JUMPS, ids=str)
def test_clocks_of_a_fleet_that_jump_and_are_corrected_change_no_time_at_which_work_is_due(
    clock: ManualClock, jump: timedelta
) -> None:
    nodes = fleet(clock)
    before = [node.timetable.left() for node in nodes]
    set_clock(clock, jump)
    assert [node.timetable.left() for node in nodes] == before
    during = pass_time(clock, nodes, timedelta(minutes=10))
    left = [node.timetable.left() for node in nodes]
    set_clock(clock, -jump)
    assert [node.timetable.left() for node in nodes] == left
    after = pass_time(clock, nodes, HALF * 2)
    assert max(during + after) < 20, "200 nodes in 30 minutes are 7 in a minute"
    assert {node.times for node in nodes} <= {3, 4}, "once in every half hour of the 100 minutes"


@pytest.mark.parametrize("jump", JUMPS, ids=str)
def test_work_that_was_done_while_the_clock_was_wrong_is_due_again_after_one_interval(
    clock: ManualClock, jump: timedelta
) -> None:
    work = Work(clock, last_at=clock.now())
    pass_time(clock, [work], HALF)
    set_clock(clock, jump)
    work.do()
    set_clock(clock, -jump)
    assert timedelta(0) < work.timetable.left() <= HALF


def test_work_that_another_process_has_done_is_not_done_again_before_the_next_slot(clock: ManualClock) -> None:
    work = Work(clock)
    assert work.is_due
    work.last_at = clock.now() - timedelta(days=40)  # by its clock
    assert timedelta(0) < work.timetable.left() <= HALF


def test_slow_work_is_due_again_in_the_slot_after_its_begin(clock: ManualClock) -> None:
    work = Work(clock)
    work.timetable.begin()
    clock.advance(3600)
    work.last_at = clock.now()
    assert work.timetable.left() > timedelta(0), "it is not done twice"
    work.timetable.finish()
    assert work.is_due


def test_overdue_work_stays_due_when_the_name_or_the_settings_change(clock: ManualClock) -> None:
    work = Work(clock)
    assert work.is_due
    work.name = "web2"
    assert work.is_due
    work.rhythm = Rhythm(HALF * 4, HALF)
    assert work.is_due


def test_shorter_interval_counts_from_now_on(clock: ManualClock) -> None:
    work = Work(clock, last_at=clock.now())
    work.rhythm = Rhythm(timedelta(days=7), timedelta(0))
    clock.advance(3600)
    assert work.timetable.left() > timedelta(hours=1)
    work.rhythm = Rhythm(HALF, HALF)
    assert timedelta(0) < work.timetable.left() <= HALF


def test_postponed_work_is_due_after_the_delay_whatever_the_clock_shows(clock: ManualClock) -> None:
    work = Work(clock)
    work.timetable.postpone(timedelta(minutes=5))
    set_clock(clock, timedelta(days=-40))
    assert work.timetable.left() == timedelta(minutes=5)
    clock.advance(300)
    assert work.is_due


def test_time_in_which_the_machine_was_suspended_counts(clock: ManualClock) -> None:
    work = Work(clock, last_at=clock.now())
    assert not work.is_due
    clock.advance(8 * 3600)
    assert work.is_due
