"""Clocks, and times as they are stored."""

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from precast.base.clock import AnchoredClock, ManualClock, SystemClock, from_micros, to_micros

NOON = datetime(2031, 5, 6, 12, tzinfo=UTC)


def test_system_clock_gives_the_machines_time_aware_and_in_utc() -> None:
    before = datetime.now(UTC)
    now = SystemClock().now()
    assert now.utcoffset() == timedelta(0)
    assert before <= now <= datetime.now(UTC)


def test_system_clock_monotonic_time_never_runs_backwards() -> None:
    before_s = time.monotonic()
    now_s = SystemClock().monotonic_s()
    assert before_s <= now_s <= time.monotonic()


def test_manual_clock_untouched_stands_still() -> None:
    clock = ManualClock(NOON)
    assert (clock.now(), clock.monotonic_s()) == (clock.now(), clock.monotonic_s()) == (NOON, 0.0)


def test_manual_clock_advanced_moves_both_times() -> None:
    clock = ManualClock(NOON)
    clock.advance(1.5)
    clock.advance(0)
    assert clock.now() == NOON + timedelta(seconds=1.5)
    assert clock.monotonic_s() == 1.5


def test_manual_clock_advanced_by_less_than_nothing_is_refused() -> None:
    clock = ManualClock(NOON)
    with pytest.raises(ValueError, match="only moved forward"):
        clock.advance(-0.001)
    assert (clock.now(), clock.monotonic_s()) == (NOON, 0.0)


def test_manual_clock_set_back_leaves_the_monotonic_time() -> None:
    clock = ManualClock(NOON)
    clock.advance(10)
    clock.set_back(3600)
    assert clock.now() == NOON + timedelta(seconds=10 - 3600)
    assert clock.monotonic_s() == 10


def test_anchored_clock_carries_the_other_time_on_when_ours_is_corrected() -> None:
    ours = ManualClock(NOON)
    theirs = AnchoredClock(ours, NOON + timedelta(hours=3))
    ours.advance(5)
    ours.set_back(86_400)
    assert theirs.now() == NOON + timedelta(hours=3, seconds=5)
    assert theirs.monotonic_s() == ours.monotonic_s()


def test_anchored_clock_anchored_anew_forgets_the_earlier_anchor() -> None:
    ours = ManualClock(NOON)
    theirs = AnchoredClock(ours, NOON)
    ours.advance(5)
    theirs.anchor(NOON - timedelta(hours=1))
    ours.advance(2)
    assert theirs.now() == NOON - timedelta(hours=1) + timedelta(seconds=2)


@pytest.mark.parametrize(
    ("moment", "micros"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC), 1),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), -1),
        (datetime(2030, 1, 1, tzinfo=UTC), 1_893_456_000_000_000),
        (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), 253_402_300_799_999_999),
        (datetime(1, 1, 1, tzinfo=UTC), -62_135_596_800_000_000),
    ],
)
def test_stored_time_reads_back_to_the_microsecond(moment: datetime, micros: int) -> None:
    assert to_micros(moment) == micros
    assert from_micros(micros) == moment
    assert from_micros(micros).utcoffset() == timedelta(0)


def test_stored_time_of_another_zone_is_that_of_the_same_moment() -> None:
    assert to_micros(NOON.astimezone(timezone(timedelta(hours=-7)))) == to_micros(NOON)


def test_stored_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        to_micros(NOON.replace(tzinfo=None))
