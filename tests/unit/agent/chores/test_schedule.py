"""When recurring work is due."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from precast.agent.chores.schedule import due_at

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
HALF = timedelta(minutes=30)


@pytest.mark.parametrize(
    "last_at",
    [None, NOW - HALF, NOW - timedelta(days=9), NOW + timedelta(days=400)],
    ids=["none", "old", "older", "future"],
)
def test_work_is_due_at_once_without_a_recent_run(last_at: datetime | None) -> None:
    assert due_at("web1", last_at, NOW, HALF, HALF) == NOW


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
