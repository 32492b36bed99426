"""Schedules: hours, days, and how often in a period."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from precast.agent.applying.options import RunOptions
from precast.agent.applying.resource_memory import ResourceMemory
from precast.agent.applying.schedules import BUILT_IN, parse_schedule
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from tests.unit.agent.applying.world import body, resource, run

MONDAY = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    ("parameters", "hour", "allowed"),
    [
        ({"range": "2 - 4"}, 3.0, True),
        ({"range": "2 - 4"}, 4.5, False),
        ({"range": "2:30 - 4:45"}, 2.25, False),
        ({"range": ["2 - 4", "10 - 11"]}, 10.5, True),
        ({"range": "22 - 4"}, 23.0, True),
        ({"range": "22 - 4"}, 3.0, True),
        ({"range": "22 - 4"}, 12.0, False),
        ({"range": "22 - 4", "weekday": "Sunday"}, 3.0, True),
        ({"range": "22 - 4", "weekday": "Monday"}, 3.0, False),
        ({"weekday": ["mon", "Wed"]}, 12.0, True),
        ({"weekday": "0"}, 12.0, False),
        ({"weekday": "1"}, 12.0, True),
        ({"period": "never"}, 12.0, False),
    ],
)
def test_hours_and_days(parameters: dict[str, Any], hour: float, allowed: bool) -> None:
    assert parse_schedule("s", parameters).allows(MONDAY + timedelta(hours=hour), None) is allowed


def test_period_by_distance_and_by_calendar() -> None:
    now = MONDAY + timedelta(hours=1)
    assert not BUILT_IN["daily"].allows(now, now - timedelta(hours=2))
    assert parse_schedule("s", {"period": "daily", "periodmatch": "number"}).allows(now, now - timedelta(hours=2))
    assert parse_schedule("s", {"period": "daily", "repeat": 12}).allows(now, now - timedelta(hours=2))
    assert BUILT_IN["weekly"].allows(now, now - timedelta(days=8))


@pytest.mark.parametrize(
    "parameters",
    [{"period": "yearly"}, {"range": "soon"}, {"range": "2 - 40"}, {"weekday": "Someday"}, {"repeat": 0},
     {"periodmatch": "number", "repeat": 2}],
)  # fmt: skip
def test_invalid_schedule_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(PrecastError) as caught:
        parse_schedule("s", parameters)
    assert caught.value.code == "APPLY-004"


def test_schedule_of_a_catalog_is_respected_and_noop_does_not_use_it_up() -> None:
    catalog = body(
        resource("schedule", "once", period="daily"),
        resource("cell", "a", value="1", schedule="once"),
        resource("cell", "b", value="1", schedule="nowhere"),
    )
    memory, clock = ResourceMemory(), ManualClock()
    assert run(catalog, None, RunOptions(is_noop=True), memory=memory, clock=clock).statuses()["Cell[a]"] == "noop"
    ran = run(catalog, None, memory=memory, clock=clock)
    assert ran.statuses() == {"Schedule[once]": "unchanged", "Cell[a]": "changed", "Cell[b]": "failed"}
    memory._applied.update(memory._new_applied)
    assert run(catalog, None, memory=memory, clock=clock).statuses()["Cell[a]"] == "skipped"
    assert run(catalog, None, RunOptions(ignores_schedules=True), memory=memory).statuses()["Cell[a]"] == "changed"
    clock.advance(24 * 3600)
    assert run(catalog, None, memory=memory, clock=clock).statuses()["Cell[a]"] == "changed"
