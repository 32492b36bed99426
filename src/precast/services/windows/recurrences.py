"""Recurrence rules of calendars (RRULE), within bounds.

`dateutil` computes when a rule recurs. It cannot be interrupted, and searches until the year 9999 for a rule that never recurs, so only
rules are accepted for which its searches are short: they recur by days or longer periods, at most `MAX_TIMES` times a day, and the first
time within `MAX_WAIT` of their start. Whether they do is found out near the end of the calendar: days and weekdays repeat every 400 years.
A rule without COUNT is not searched from its start, but from just before the wanted time. What all rules of a calendar yield is counted
by one `Budget`.
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from dateutil.rrule import rrule, rrulestr

from precast.services.windows import issues

# Enough for a whole year of windows every hour.
MAX_OCCURRENCES = 20_000
MAX_TIMES = 24
MAX_INTERVAL = 1000
MAX_NUMBERS = 400
MAX_WAIT = timedelta(days=10 * 366)
LATEST_YEAR = 9988
_CYCLE = timedelta(days=146_097)  # 400 years
_PERIODS = {"DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1)}
_FREQUENCIES = (*_PERIODS, "MONTHLY", "YEARLY")
_TIMES = ("BYHOUR", "BYMINUTE", "BYSECOND")
_LISTS = ("BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYDAY", "BYSETPOS", *_TIMES)
_KEYS = frozenset(("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", *_LISTS))


class Budget:
    """Counts what the rules of one calendar yield. Raises InputError WINDOW-004 if it is too much."""

    def __init__(self, left: int = MAX_OCCURRENCES) -> None:
        self._left = left

    def spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise issues.BAD_CALENDAR.error(reason=f"its events recur more than {MAX_OCCURRENCES} times")


class Recurrence(NamedTuple):
    """A checked rule: its text without UNTIL, its last time on the wall, and what its start may be moved forward by."""

    text: str
    until: datetime | None
    step: timedelta | None

    def expand(self, start: datetime, since: datetime, until: datetime, budget: Budget) -> Iterator[datetime]:
        """Yield the times on the wall, from `since` to `until`, at which an event recurs that starts at `start`."""
        if self.step is not None and since > start:
            start += (since - start) // self.step * self.step
        last = until if self.until is None else min(until, self.until)
        for wall in _parse(self.text, start):
            if wall > last:
                return
            budget.spend()
            if wall >= since:
                yield wall


def parse_recurrence(parts: dict[str, list[Any]], start: datetime, zone: tzinfo) -> Recurrence:
    """Check a rule of an event that starts at a time on the wall of a zone. Raises InputError WINDOW-004."""
    problem = _find_problem(parts)
    if problem:
        raise issues.BAD_CALENDAR.error(reason=problem)
    text = ";".join(f"{key}={','.join(map(str, values))}" for key, values in parts.items() if key != "UNTIL")
    until = _to_wall(parts["UNTIL"][0], zone) if "UNTIL" in parts else None
    step = _PERIODS.get(parts["FREQ"][0]) if "COUNT" not in parts else None
    late_start = start + (LATEST_YEAR - start.year) // 400 * _CYCLE
    first = _find_first(text, late_start)
    if first is None or first - late_start > MAX_WAIT:
        raise issues.BAD_CALENDAR.error(reason=f"the rule {text[:80]} does not recur within ten years")
    return Recurrence(text, until, step * int(parts.get("INTERVAL", [1])[0]) if step is not None else None)


def _find_problem(parts: dict[str, list[Any]]) -> str:
    unknown = sorted(set(parts) - _KEYS)
    if unknown:
        return f"rules with {unknown[0][:40]} are not supported"
    if not all(parts.values()) or any(len(values) > MAX_NUMBERS for values in parts.values()):
        return "a rule is empty or has too many values"
    frequency = str(parts.get("FREQ", [""])[0])
    if frequency not in _FREQUENCIES:
        return f"a window cannot recur {frequency[:40] or 'without FREQ'}: write FREQ=DAILY with BYHOUR"
    if not 1 <= int(parts.get("INTERVAL", [1])[0]) <= MAX_INTERVAL:
        return f"INTERVAL must be from 1 to {MAX_INTERVAL}"
    if "COUNT" in parts and ("UNTIL" in parts or int(parts["COUNT"][0]) < 1):
        return "COUNT must be positive, and excludes UNTIL"
    times = 1
    for key in _TIMES:
        times *= len(parts.get(key, [0]))
    return f"a rule recurs more than {MAX_TIMES} times a day" if times > MAX_TIMES else ""


def _parse(text: str, start: datetime) -> rrule:
    try:
        rule = rrulestr(text, dtstart=start)
    except (ValueError, TypeError, OverflowError) as error:
        raise issues.BAD_CALENDAR.error(reason=f"the rule {text[:80]} is invalid: {str(error)[:80]}") from None
    assert isinstance(rule, rrule), "the text has one rule"
    return rule


def _find_first(text: str, start: datetime) -> datetime | None:
    try:
        return next(iter(_parse(text, start)), None)
    except (ValueError, OverflowError):  # it looked beyond the end of the calendar
        return None


def _to_wall(until: date | datetime, zone: tzinfo) -> datetime:
    """The last time on the wall of a zone. A date includes its whole day."""
    if not isinstance(until, datetime):
        return datetime.combine(until, time.max)
    return until if until.tzinfo is None else until.astimezone(zone).replace(tzinfo=None)
