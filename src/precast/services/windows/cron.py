"""Cron expressions with a time zone: which moments they name.

The five fields mean what they mean to Vixie's cron: if both the day of the month and the day of the week are restricted, a day needs to
match only one of them; a field that begins with `*` does not restrict, even with a step.

Changes to and from daylight saving time are handled as Vixie's cron handles them. An expression whose minute or hour begins with `*`
follows real time: it matches whenever the clock of the zone shows a matching time, twice in a repeated hour, never in a skipped one. Any
other expression names times of a day, each of which happens once: a skipped time at the first moment after the skipped hour, a repeated
time when it comes first. Several skipped times are one moment. This also holds for changes of more than three hours, which Vixie's cron
takes for a corrected clock.

All searches are bounded: they step from matching day to matching day, and end with an error after `SEARCH_YEARS`.
"""

import bisect
import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from precast.base.wall_time import find_zone, first_moment, next_change
from precast.services.windows import issues

MAX_CHARS = 200
# Days that match are at most 40 years apart: 29 February on a given weekday, over a year such as 2100.
SEARCH_YEARS = 41
_MINUTE, _DAY = timedelta(minutes=1), timedelta(days=1)
_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART = re.compile(
    r"(?:\*|(?P<low>[0-9]{1,2}|[A-Za-z]{3})(?:-(?P<high>[0-9]{1,2}|[A-Za-z]{3}))?)(?:/(?P<step>[0-9]{1,2}))?"
)


class _Field(NamedTuple):
    """One of the five fields: its name, its lowest and highest number, and the names of its numbers, from the lowest on."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 7, _WEEKDAYS),  # 0 and 7 are Sunday
)


class CronSchedule(NamedTuple):
    """A parsed expression. The numbers of each field are sorted; weekdays count from Monday, as Python's do."""

    text: str
    zone_name: str
    zone: tzinfo
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    needs_both_days: bool  # whether a day must match the day of the month and the day of the week, or only one of them
    is_interval: bool  # whether it follows real time

    def next_after(self, moment: datetime) -> datetime:
        """Return the first moment after `moment`, in UTC, that the expression names. Raises InputError CRON-003 if it names none."""
        try:
            found = self._next_by_interval(moment) if self.is_interval else self._next_by_time_of_day(moment)
        except OverflowError:  # the calendar ends with the year 9999
            found = None
        if found is None:
            raise issues.CRON_NEVER.error(expression=self.text)
        return found

    def _next_by_time_of_day(self, moment: datetime) -> datetime | None:
        """Later times name later moments, so the first time whose moment is later is the answer."""
        wall = _floor(moment.astimezone(self.zone).replace(tzinfo=None, fold=0))
        last = _last_day(wall)
        while (found := self._next_wall(wall, last)) is not None:
            named = first_moment(found, self.zone)
            if named > moment:
                return named
            wall = found + _MINUTE
        return None

    def _next_by_interval(self, moment: datetime) -> datetime | None:
        """Search from one change of the zone's offset to the next: between them the clock on the wall runs as fast as time does."""
        start = moment.astimezone(UTC)
        wall = _floor(start.astimezone(self.zone).replace(tzinfo=None, fold=0)) + _MINUTE
        last = _last_day(wall)
        while (found := self._next_wall(wall, last)) is not None:
            offset = start.astimezone(self.zone).utcoffset() or timedelta(0)
            named = (found - offset).replace(tzinfo=UTC)
            end = start + _DAY
            change = next_change(start, end, self.zone)
            if named < (change or end):
                return named
            # Without a change in this day no earlier time comes back, so that the days before the found one can be left out.
            start = change or max(end, named - 2 * _DAY)
            wall = _ceiling(start.astimezone(self.zone).replace(tzinfo=None, fold=0))
        return None

    def _next_wall(self, wall: datetime, last: date) -> datetime | None:
        """Return the first time that matches, at `wall` or later, as if no clock were ever changed; None after the day `last`."""
        day, minute = wall.date(), wall.time()
        while day <= last:
            if day.month not in self.months:
                day, minute = _next_month(day), time()
                continue
            if self._matches_day(day) and (found := self._next_time(minute)) is not None:
                return datetime.combine(day, found)
            day, minute = day + _DAY, time()
        return None

    def _matches_day(self, day: date) -> bool:
        is_day, is_weekday = day.day in self.days, day.weekday() in self.weekdays
        return is_day and is_weekday if self.needs_both_days else is_day or is_weekday

    def _next_time(self, start: time) -> time | None:
        """Return the first matching time of a day, at `start` or later."""
        place = bisect.bisect_left(self.hours, start.hour)
        if place == len(self.hours):
            return None
        if self.hours[place] > start.hour:
            return time(self.hours[place], self.minutes[0])
        minute = bisect.bisect_left(self.minutes, start.minute)
        if minute < len(self.minutes):
            return time(start.hour, self.minutes[minute])
        return time(self.hours[place + 1], self.minutes[0]) if place + 1 < len(self.hours) else None


def parse_cron(text: str, zone_name: str = "UTC") -> CronSchedule:
    """Parse five fields, or a name such as `@daily`. Raises InputError CRON-001 to CRON-003."""
    zone = find_zone(zone_name)
    if zone is None:
        raise issues.UNKNOWN_ZONE.error(zone=zone_name[:80])
    shown = text[:80]
    words = _MACROS.get(text.strip().lower(), text).split() if len(text) <= MAX_CHARS else []
    if len(words) != len(_FIELDS):
        raise issues.BAD_CRON.error(expression=shown, reason=_explain_shape(text, len(words)))
    minutes, hours, days, months, weekdays = (
        _parse_field(word, field, shown) for word, field in zip(words, _FIELDS, strict=True)
    )
    schedule = CronSchedule(
        " ".join(words),
        zone_name,
        zone,
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        frozenset(days),
        frozenset(months),
        frozenset((number - 1) % 7 for number in weekdays),
        needs_both_days=words[2].startswith("*") or words[4].startswith("*"),
        is_interval=words[0].startswith("*") or words[1].startswith("*"),
    )
    start = datetime(2000, 1, 1)  # noqa: DTZ001 - a time on the wall; a leap year, so that 29 February is found
    if schedule._next_wall(start, _last_day(start)) is None:
        raise issues.CRON_NEVER.error(expression=shown)
    return schedule


def _explain_shape(text: str, count: int) -> str:
    if len(text) > MAX_CHARS:
        return f"it is longer than {MAX_CHARS} characters"
    if text.strip().lower() == "@reboot":
        return "@reboot names no time"
    if text.strip().startswith("@"):
        return f"it is none of {', '.join(_MACROS)}"
    return f"it has {count} field{'' if count == 1 else 's'}, not 5"


def _parse_field(word: str, field: _Field, expression: str) -> set[int]:
    """Parse the parts between commas. Raises InputError CRON-001."""
    numbers: set[int] = set()
    for part in word.split(","):
        match = _PART.fullmatch(part)
        reason = (
            f"{part[:20]!r} is not valid as the {field.name}" if match is None else _add_part(match, field, numbers)
        )
        if reason:
            raise issues.BAD_CRON.error(expression=expression, reason=reason)
    return numbers


def _add_part(match: re.Match[str], field: _Field, numbers: set[int]) -> str:
    """Add the numbers of a number, a range or `*` with its step; returns the reason if it is invalid."""
    part, step = match[0], int(match["step"] or 1)
    if match["low"] is None:
        low, high = field.low, field.high if field.names != _WEEKDAYS else 6
    else:
        low, high = _number(match["low"], field), _number(match["high"] or match["low"], field)
    if low < 0 or high < 0:
        return f"{part!r} is not valid as the {field.name}, which goes from {field.low} to {field.high}"
    if low > high:
        return f"the range {part!r} ends before it begins"
    if match["step"] and match["low"] and not match["high"]:
        return f"the step in {part!r} needs a range, such as {match['low']}-{field.high}/{step}"
    if not 0 < step <= field.high:
        return f"the step in {part!r} must be from 1 to {field.high}"
    numbers.update(range(low, high + 1, step))
    return ""


def _number(word: str, field: _Field) -> int:
    """Return the number of a digit or name; -1 if the field has no such number."""
    if not word.isdecimal():
        return field.names.index(word.lower()) + field.low if word.lower() in field.names else -1
    return int(word) if field.low <= int(word) <= field.high else -1


def _floor(wall: datetime) -> datetime:
    return wall.replace(second=0, microsecond=0)


def _ceiling(wall: datetime) -> datetime:
    floor = _floor(wall)
    return floor if floor == wall else floor + _MINUTE


def _last_day(wall: datetime) -> date:
    return date(min(wall.year + SEARCH_YEARS, date.max.year - 1), 12, 31)


def _next_month(day: date) -> date:
    return date(day.year + 1, 1, 1) if day.month == 12 else date(day.year, day.month + 1, 1)
