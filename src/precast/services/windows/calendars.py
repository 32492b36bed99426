"""Calendars: iCalendar files (RFC 5545), read as the time spans of their events.

A file comes from elsewhere and may be hostile, so all of it is bounded: its size, the number of its events, and how often they recur.
Time zones are those of the IANA database, by their name; a VTIMEZONE in the file is left out before the file is parsed, because it may
describe anything under a name that is known, and because the library would keep it for all later files.

A time that a change of the clocks skips or repeats means what it means everywhere (`base.wall_time`). An event that has an end lasts
exactly as long on every day; days of an all-day event, and whole days of a DURATION, are days of the calendar.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, NamedTuple

from icalendar import Calendar
from icalendar.cal.component import Component
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from precast.base.wall_time import find_zone, first_moment
from precast.services.windows import issues
from precast.services.windows.recurrences import Budget, Recurrence, parse_recurrence
from precast.wire.windows.intervals import Interval

MAX_CHARS = 200_000
MAX_EVENTS = 300
LONGEST_EVENT = timedelta(days=366)
EARLIEST, LATEST = datetime(1970, 1, 1), datetime(9000, 1, 1)  # noqa: DTZ001 - times on the wall
_FOREIGN_ZONE = re.compile(r'TZID="?/', re.IGNORECASE)
_MARGIN = timedelta(days=2)  # more than two zones differ
_DAY = timedelta(days=1)


class _Time(NamedTuple):
    """A time on the wall of a zone; a date is its midnight."""

    wall: datetime
    zone: tzinfo
    is_date: bool = False

    @property
    def moment(self) -> datetime:
        return first_moment(self.wall, self.zone)


class _Length(NamedTuple):
    """How long an event lasts: days of the calendar, then an exact time."""

    days: timedelta
    exact: timedelta

    def interval(self, start: _Time) -> Interval:
        end = first_moment(start.wall + self.days, start.zone) + self.exact
        return Interval(start.moment, max(end, start.moment))


class _Exclusions:
    """Times at which an event does not happen. A date excludes its whole day, a time of the event's own zone is compared on the wall."""

    def __init__(self, times: Iterable[_Time], zone: tzinfo) -> None:
        times = list(times)
        self._zone = zone
        self._days = {time.wall for time in times if time.is_date}
        self._walls = {time.wall for time in times if not time.is_date and time.zone is zone}
        self._moments = {time.moment for time in times if not time.is_date and time.zone is not zone}

    def has(self, time: _Time) -> bool:
        if time.wall.replace(hour=0, minute=0, second=0) in self._days or time.moment in self._moments:
            return True
        return time.wall in self._walls and time.zone is self._zone


class CalendarEvent(NamedTuple):
    """An event: its start and length, when it recurs, at which times it also happens, and at which it does not."""

    uid: str
    start: _Time
    length: _Length
    rules: tuple[Recurrence, ...]
    extra: tuple[tuple[_Time, _Length], ...]
    excluded: tuple[_Time, ...]
    replaces: _Time | None  # the recurrence of another event with this uid

    def expand(self, start: datetime, end: datetime, replaced: Iterable[_Time], budget: Budget) -> Iterator[Interval]:
        """Yield the spans that are open between two moments, except those that are excluded or replaced."""
        zone = self.start.zone
        exclusions = _Exclusions((*self.excluded, *replaced), zone)
        since = (start - self.length.days - self.length.exact - _MARGIN).astimezone(zone).replace(tzinfo=None, fold=0)
        until = (end + _MARGIN).astimezone(zone).replace(tzinfo=None, fold=0)
        walls = [wall for rule in self.rules for wall in rule.expand(self.start.wall, since, until, budget)]
        times = [(_Time(wall, zone), self.length) for wall in (walls if self.rules else [self.start.wall])]
        for time, length in (*times, *self.extra):
            if not exclusions.has(time):
                interval = length.interval(time)
                if interval.opens_at < end and interval.closes_at > start:
                    yield interval


def parse_calendar(text: str, zone_name: str) -> tuple[CalendarEvent, ...]:
    """Parse the events of an iCalendar file; times without a zone are in the given one, unless the file names one.

    Raises InputError WINDOW-004, CRON-002.
    """
    events: list[CalendarEvent] = []
    for calendar in _parse_components(text):
        zone = _find_zone(str(calendar.get("X-WR-TIMEZONE", zone_name)))
        for component in calendar.subcomponents:
            if component.name == "VEVENT":
                events.append(_parse_event(component, zone))
            if len(events) > MAX_EVENTS:
                raise issues.BAD_CALENDAR.error(reason=f"it has more than {MAX_EVENTS} events")
    if not events:
        raise issues.BAD_CALENDAR.error(reason="it has no event")
    return tuple(events)


def expand_calendar(events: Sequence[CalendarEvent], start: datetime, end: datetime) -> Iterator[Interval]:
    """Yield the spans of all events that are open between two moments, in any order. Raises InputError WINDOW-004."""
    budget = Budget()
    replaced: dict[str, list[_Time]] = {}
    for event in events:
        if event.replaces is not None:
            replaced.setdefault(event.uid, []).append(event.replaces)
    for event in events:
        yield from event.expand(start, end, replaced.get(event.uid, ()) if event.replaces is None else (), budget)


def _parse_components(text: str) -> list[Component]:
    if len(text) > MAX_CHARS:
        raise issues.BAD_CALENDAR.error(reason=f"it is longer than {MAX_CHARS} characters")
    text = _without_time_zones(text)
    if _FOREIGN_ZONE.search(text):
        # The library would guess which zone is meant.
        raise issues.BAD_CALENDAR.error(reason="a TZID that begins with / is not a zone of the IANA database")
    try:
        calendars: list[Component] = list(Calendar.from_ical(text, multiple=True))
    except Exception as error:  # noqa: BLE001 - the boundary to the library, which raises many kinds for broken files
        raise issues.BAD_CALENDAR.error(reason=str(error)[:120]) from None
    if any(calendar.name != "VCALENDAR" for calendar in calendars):
        raise issues.BAD_CALENDAR.error(reason="it does not begin with BEGIN:VCALENDAR")
    return calendars


def _without_time_zones(text: str) -> str:
    """Join the lines that are folded, and leave out every VTIMEZONE."""
    lines: list[str] = []
    is_zone = False
    unfolded = text.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "")
    for line in unfolded.split("\n"):
        word = line.strip().upper()
        if word.startswith("BEGIN") and word.endswith("VTIMEZONE"):
            is_zone = True
        if not is_zone:
            lines.append(line)
        elif word.startswith("END") and word.endswith("VTIMEZONE"):
            is_zone = False
    return "\r\n".join(lines)


def _parse_event(component: Component, default: tzinfo) -> CalendarEvent:
    uid, errors = str(component.get("UID", "")), component.errors
    if errors:
        raise issues.BAD_CALENDAR.error(reason=f"{errors[0][0]} of an event is invalid: {str(errors[0][1])[:80]}")
    if "EXRULE" in component:
        raise issues.BAD_CALENDAR.error(reason="EXRULE is not supported: write EXDATE")
    start = _read_property(component, "DTSTART", default)
    if start is None:
        raise issues.BAD_CALENDAR.error(reason="an event has no DTSTART")
    replaces = _read_property(component, "RECURRENCE-ID", default)
    if replaces is not None and "RANGE" in component["RECURRENCE-ID"].params:
        raise issues.BAD_CALENDAR.error(reason="RECURRENCE-ID with RANGE is not supported")
    if str(component.get("STATUS", "")).upper() == "CANCELLED":
        return CalendarEvent(uid, start, _Length(timedelta(0), timedelta(0)), (), (), (), replaces)
    length = _read_length(component, start, default)
    rules = tuple(parse_recurrence(dict(rule), start.wall, start.zone) for rule in _values(component, "RRULE"))
    extra = tuple(_read_extra(value, params, length, default) for value, params in _dates(component, "RDATE"))
    excluded = tuple(_read_time(value, params, default) for value, params in _dates(component, "EXDATE"))
    return CalendarEvent(uid, start, length, rules, extra, excluded, replaces)


def _read_property(component: Component, name: str, default: tzinfo) -> _Time | None:
    """Read a time that an event has at most once."""
    values = _values(component, name)
    if len(values) > 1:
        raise issues.BAD_CALENDAR.error(reason=f"an event has more than one {name}")
    return _read_time(values[0].dt, values[0].params, default) if values else None


def _read_length(component: Component, start: _Time, default: tzinfo) -> _Length:
    end = _read_property(component, "DTEND", default)
    if end is not None:
        return _length_between(start, end)
    durations = _values(component, "DURATION")
    if durations:
        return _checked_length(durations[0].dt)
    return _checked_length(_DAY if start.is_date else timedelta(0))


def _read_extra(value: Any, params: dict[str, Any], length: _Length, default: tzinfo) -> tuple[_Time, _Length]:
    """Read a value of RDATE: a time, or a period with an end or a length of its own."""
    if not isinstance(value, tuple):
        return _read_time(value, params, default), length
    start = _read_time(value[0], params, default)
    if isinstance(value[1], timedelta):
        return start, _checked_length(value[1])
    return start, _length_between(start, _read_time(value[1], params, default))


def _length_between(start: _Time, end: _Time) -> _Length:
    if start.is_date != end.is_date:
        raise issues.BAD_CALENDAR.error(reason="an event begins with a date and ends with a time, or the reverse")
    if start.is_date:
        return _checked_length(end.wall - start.wall)
    return _checked_length(end.moment - start.moment, is_exact=True)


def _checked_length(length: Any, *, is_exact: bool = False) -> _Length:
    if not isinstance(length, timedelta) or not timedelta(0) < length <= LONGEST_EVENT:
        raise issues.BAD_CALENDAR.error(
            reason="an event has no end, ends before it begins, or lasts longer than 366 days"
        )
    days = timedelta(0) if is_exact else timedelta(days=length.days)
    return _Length(days, length - days)


def _read_time(value: Any, params: dict[str, Any], default: tzinfo) -> _Time:
    """Read a date or a time, in the zone that TZID names, in UTC or in the default zone."""
    if not isinstance(value, date):
        raise issues.BAD_CALENDAR.error(reason="an event has a time that is not a date or time")
    zone = _find_zone(str(params["TZID"])) if "TZID" in params else default
    if not isinstance(value, datetime):
        return _checked_time(_Time(datetime(value.year, value.month, value.day), zone, is_date=True))  # noqa: DTZ001
    if value.tzinfo is not None and "TZID" not in params:
        value, zone = value.astimezone(UTC), UTC
    return _checked_time(_Time(value.replace(tzinfo=None, fold=0), zone))


def _checked_time(time: _Time) -> _Time:
    if not EARLIEST <= time.wall <= LATEST:
        raise issues.BAD_CALENDAR.error(reason=f"{time.wall:%Y-%m-%d} is not from {EARLIEST.year} to {LATEST.year}")
    return time


def _find_zone(name: str) -> tzinfo:
    """Find a zone by its name in the IANA database, or by its name in Windows."""
    zone = find_zone(WINDOWS_TO_OLSON.get(name, name))
    if zone is None:
        raise issues.UNKNOWN_ZONE.error(zone=name[:80])
    return zone


def _values(component: Component, name: str) -> list[Any]:
    """All values of a property that may occur several times."""
    value: Any = component.get(name, [])
    return value if isinstance(value, list) else [value]


def _dates(component: Component, name: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    for dates in _values(component, name):
        for value in dates.dts:
            yield value.dt, dates.params
