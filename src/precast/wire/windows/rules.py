"""Simple rules of windows: a time span in every week or on every day, as operators write it in one line.

    Sun 02:00 4h                    daily 22:30 90m Europe/Berlin

The span begins at a time of its zone (`base.wall_time`) and lasts exactly as long as the rule says, also over a change to or from
daylight saving time.
"""

import re
from collections.abc import Iterator
from datetime import datetime, time, timedelta, tzinfo
from typing import NamedTuple

from precast.base.wall_time import find_zone, first_moment
from precast.wire import issues
from precast.wire.windows.intervals import Interval

LONGEST = timedelta(days=7)
_DAY = timedelta(days=1)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_RULE = re.compile(
    r"([A-Za-z]{3}|daily)\s+(\d{1,2}):(\d{2})\s+(\d{1,5})([mhd])(?:\s+([A-Za-z0-9_+/-]{1,64}))?", re.ASCII
)
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


class WindowRule(NamedTuple):
    """A time span in every week, or every day if `weekday` is None."""

    weekday: int | None
    start: time
    length: timedelta
    zone: str = "UTC"

    def __str__(self) -> str:
        day = "daily" if self.weekday is None else _DAYS[self.weekday].capitalize()
        unit = next(unit for unit in "dhm" if self.length % _UNITS[unit] == timedelta(0))
        zone = "" if self.zone == "UTC" else f" {self.zone}"
        return f"{day} {self.start:%H:%M} {self.length // _UNITS[unit]}{unit}{zone}"

    def expand(self, start: datetime, end: datetime) -> Iterator[Interval]:
        """Yield the spans that are open between two moments, by their beginning. Raises InputError POLICY-001 for an unknown zone."""
        zone = _zone(self.zone, str(self))
        day = (start - self.length).astimezone(zone).date() - _DAY
        last = end.astimezone(zone).date() + _DAY
        while day <= last:
            if self.weekday in (None, day.weekday()):
                opens_at = first_moment(datetime.combine(day, self.start), zone)
                if opens_at < end and opens_at + self.length > start:
                    yield Interval(opens_at, opens_at + self.length)
            day += _DAY


def parse_rule(text: str) -> WindowRule:
    """Parse a rule as operators write it: `Sun 02:00 4h`, `daily 22:30 90m Europe/Berlin`. Raises InputError POLICY-001."""
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise issues.BAD_WINDOW.error(window=text[:80], reason="it does not have the form DAY START LENGTH [ZONE]")
    day, hour, minute, count, unit, zone = match.groups()
    length = int(count) * _UNITS[unit]
    if day.lower() not in (*_DAYS, "daily"):
        raise issues.BAD_WINDOW.error(window=text[:80], reason=f"there is no day {day}")
    if int(hour) > 23 or int(minute) > 59:
        raise issues.BAD_WINDOW.error(window=text[:80], reason=f"there is no time {hour}:{minute}")
    if not timedelta(0) < length <= LONGEST:
        raise issues.BAD_WINDOW.error(window=text[:80], reason="its length must be between a minute and 7 days")
    _zone(zone or "UTC", text)
    weekday = None if day.lower() == "daily" else _DAYS.index(day.lower())
    return WindowRule(weekday, time(int(hour), int(minute)), length, zone or "UTC")


def _zone(name: str, text: str) -> tzinfo:
    zone = find_zone(name)
    if zone is None:
        raise issues.BAD_WINDOW.error(window=text[:80], reason=f"the time zone {name} is not known on this machine")
    return zone
