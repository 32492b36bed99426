"""When a resource may be applied: hours of the day, days of the week, and how often in a period. By Puppet's rules, in local time."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from precast.agent.applying import issues

PERIODS = ("hourly", "daily", "weekly", "monthly", "never")
_LENGTHS = {
    "hourly": timedelta(hours=1),
    "daily": timedelta(days=1),
    "weekly": timedelta(weeks=1),
    "monthly": timedelta(days=30),
}
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME = re.compile(r"\s*(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}))?)?\s*")
_DAY_S = 24 * 60 * 60
Range = tuple[int, int]  # seconds of the day, both inclusive


class Schedule(NamedTuple):
    """One schedule. If `is_distance`, applications are period / `repeat` apart; otherwise there is one in each calendar unit."""

    period: str | None = None
    is_distance: bool = True
    repeat: int = 1
    ranges: tuple[Range, ...] = ()
    weekdays: frozenset[int] = frozenset()

    def allows(self, now: datetime, last: datetime | None) -> bool:
        """Whether a resource may be applied now; `last` is when it was applied last. Both are in local time."""
        return self._fits_hours(now) and self._fits_period(now, last)

    def _fits_hours(self, now: datetime) -> bool:
        today = now.weekday()
        if not self.ranges:
            return self._fits_day(today)
        second = now.hour * 3600 + now.minute * 60 + now.second
        return any(self._fits_range(hours, second, today) for hours in self.ranges)

    def _fits_range(self, hours: Range, second: int, today: int) -> bool:
        start, end = hours
        if start <= end:
            return start <= second <= end and self._fits_day(today)
        # A range past midnight: the morning belongs to the day before.
        return (second >= start and self._fits_day(today)) or (second <= end and self._fits_day((today - 1) % 7))

    def _fits_day(self, day: int) -> bool:
        return not self.weekdays or day in self.weekdays

    def _fits_period(self, now: datetime, last: datetime | None) -> bool:
        if self.period == "never":
            return False
        if self.period is None or last is None:
            return True
        if self.is_distance:
            return now - last >= _LENGTHS[self.period] / self.repeat
        return _calendar_unit(self.period, now) != _calendar_unit(self.period, last)


def _calendar_unit(period: str, at: datetime) -> tuple[int, ...]:
    """The calendar unit (hour, day, week or month) that contains a time."""
    if period == "weekly":
        return tuple(at.isocalendar()[:2])
    parts = (at.year, at.month, at.day, at.hour)
    return parts[: {"hourly": 4, "daily": 3, "monthly": 2}[period]]


# The schedules that a catalog need not declare.
BUILT_IN: dict[str, Schedule] = {
    "puppet": Schedule("hourly", repeat=2),
    **{period: Schedule(period) for period in PERIODS},
}


def parse_schedule(name: str, parameters: Mapping[str, Any]) -> Schedule:
    """Parse the parameters of a schedule in a catalog. Raises InputError APPLY-004."""
    period = parameters.get("period")
    if period is not None and period not in PERIODS:
        raise issues.BAD_SCHEDULE.error(schedule=name, reason=f"period is {period!r}, not {', '.join(PERIODS)}")
    repeat = _parse_repeat(name, parameters.get("repeat", 1))
    is_distance = parameters.get("periodmatch", "distance") == "distance"
    if not is_distance and repeat != 1:
        raise issues.BAD_SCHEDULE.error(schedule=name, reason="repeat needs periodmatch => distance")
    return Schedule(
        period,
        is_distance,
        repeat,
        tuple(_parse_range(name, text) for text in _as_list(parameters.get("range"))),
        frozenset(_parse_weekday(name, day) for day in _as_list(parameters.get("weekday"))),
    )


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else () if value is None else (value,)


def _parse_repeat(name: str, value: Any) -> int:
    try:
        repeat = int(value)
    except (TypeError, ValueError):
        repeat = 0
    if repeat < 1:
        raise issues.BAD_SCHEDULE.error(schedule=name, reason=f"repeat is {value!r}, not a number from 1 on")
    return repeat


def _parse_range(name: str, text: Any) -> Range:
    parts = [_TIME.fullmatch(part) for part in str(text).split("-")]
    times = [_second_of_day(part) for part in parts if part is not None]
    if len(parts) != 2 or len(times) != 2 or max(times) > _DAY_S:
        raise issues.BAD_SCHEDULE.error(schedule=name, reason=f"range is {text!r}, not like '2 - 4' or '22:00 - 04:30'")
    return times[0], times[1]


def _second_of_day(match: "re.Match[str]") -> int:
    hour, minute, second = (int(part or 0) for part in match.groups())
    return hour * 3600 + minute * 60 + second


def _parse_weekday(name: str, value: Any) -> int:
    text = str(value).strip().lower()
    if text.isdecimal() and int(text) <= 6:
        return (int(text) - 1) % 7  # Puppet counts from Sunday
    if text[:3] in _DAYS:
        return _DAYS.index(text[:3])
    raise issues.BAD_SCHEDULE.error(schedule=name, reason=f"weekday is {value!r}, not a day or 0 (Sunday) to 6")
