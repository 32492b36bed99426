"""Ids have the form of RFC 9562 and sort by creation time."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from precast.base.clock import ManualClock, SystemClock
from precast.base.ids import CountedIds, TimeOrderedIds


def no_bits(count: int) -> int:
    return 0


def all_bits(count: int) -> int:
    return (1 << count) - 1


def test_time_ordered_id_of_the_rfc_example_moment_is_its_example() -> None:
    # RFC 9562, appendix A.6: unix_ts_ms 0x017F22E279B0, rand_b 0x18C4DC0C0C07398F; its rand_a is free, ours is the fraction.
    clock = ManualClock(datetime(2022, 2, 22, 19, 22, 22, tzinfo=UTC))
    made = TimeOrderedIds(clock, lambda _: 0x18C4DC0C0C07398F).new()
    assert made == "017f22e2-79b0-7000-98c4-dc0c0c07398f"


@pytest.mark.parametrize("random_bits", [no_bits, all_bits])
@pytest.mark.parametrize("micros", [0, 1, 499, 999])
def test_time_ordered_id_is_a_uuid_of_version_7_with_the_clocks_milliseconds(
    random_bits: Callable[[int], int], micros: int
) -> None:
    moment = datetime(2030, 1, 1, tzinfo=UTC) + timedelta(milliseconds=7, microseconds=micros)
    made = uuid.UUID(TimeOrderedIds(ManualClock(moment), random_bits).new())
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert made.int >> 80 == 1_893_456_000_007
    assert (made.int >> 64 & 0xFFF) * 1000 // 4096 in (micros - 1, micros)


def test_time_ordered_ids_of_a_clock_that_stands_still_ascend() -> None:
    ids = TimeOrderedIds(ManualClock(), all_bits)
    made = [ids.new() for _ in range(10_000)]
    assert made == sorted(set(made))


def test_time_ordered_ids_of_a_clock_set_back_ascend() -> None:
    clock = ManualClock()
    ids = TimeOrderedIds(clock, no_bits)
    first = ids.new()
    clock.set_back(86_400)
    assert ids.new() > first


def test_time_ordered_ids_of_a_clock_before_1970_ascend() -> None:
    ids = TimeOrderedIds(ManualClock(datetime(1969, 7, 20, tzinfo=UTC)))
    made = [ids.new() for _ in range(3)]
    assert made == sorted(set(made))
    assert uuid.UUID(made[0]).version == 7


def test_time_ordered_ids_of_two_makers_at_one_moment_differ() -> None:
    clock = ManualClock()
    made = {TimeOrderedIds(clock).new() for _ in range(1000)}
    assert len(made) == 1000


def test_time_ordered_id_of_the_system_clock_is_in_lower_case_text() -> None:
    made = TimeOrderedIds(SystemClock()).new()
    assert made == str(uuid.UUID(made)).lower()


def test_counted_ids_are_foreseen() -> None:
    ids = CountedIds("job")
    assert [ids.new(), ids.new()] == ["job-1", "job-2"]
    assert CountedIds().new() == "id-1"
