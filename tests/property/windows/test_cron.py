"""Cron schedules against a model of Vixie's cron that looks at the clock on the wall once a minute."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from precast.services.windows.cron import CronSchedule, parse_cron

MINUTE = timedelta(minutes=1)
# Each zone with days before a change of its offset.
CHANGES = {
    "Europe/Berlin": ("2026-03-28", "2026-10-24"),
    "America/New_York": ("2026-03-07", "2026-10-31"),
    "Australia/Lord_Howe": ("2026-04-04", "2026-10-03"),
    "Africa/Casablanca": ("2026-02-14", "2026-03-21"),
    "America/St_Johns": ("2010-03-13", "2010-11-06"),
    "Asia/Beirut": ("2026-03-28", "2026-10-24"),
    "UTC": ("2026-02-27", "2026-12-30"),
}


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    ranges = st.tuples(number, number).map(sorted).map(lambda pair: f"{pair[0]}-{pair[1]}")
    stepped = st.tuples(ranges | st.just("*"), st.integers(1, min(high, 30))).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.just("*") | st.lists(number.map(str) | ranges | stepped, min_size=1, max_size=3).map(",".join)


hours = fields(0, 23) | st.sampled_from(["0", "1", "2", "3", "1-3", "23"])
expressions = st.tuples(fields(0, 59), hours, st.just("*") | fields(1, 28), st.just("*"), st.just("*") | fields(0, 7))
starts = st.sampled_from([(zone, day) for zone, days in CHANGES.items() for day in days])


def matches(schedule: CronSchedule, wall: datetime) -> bool:
    is_day, is_weekday = wall.day in schedule.days, wall.weekday() in schedule.weekdays
    is_date = is_day and is_weekday if schedule.needs_both_days else is_day or is_weekday
    return is_date and wall.month in schedule.months and wall.hour in schedule.hours and wall.minute in schedule.minutes


def walk(schedule: CronSchedule, zone: tzinfo, start: datetime, end: datetime) -> Iterator[datetime]:
    """Do what the daemon does: jobs with * follow the clock; for others a clock that goes back stands still until it has caught up."""
    seen = start.astimezone(zone).replace(tzinfo=None)
    moment = start
    while (moment := moment + MINUTE) < end:
        wall = moment.astimezone(zone).replace(tzinfo=None)
        if schedule.is_interval:
            if matches(schedule, wall):
                yield moment
            continue
        is_due = False
        while seen < wall:
            seen += MINUTE
            is_due = is_due or matches(schedule, seen)
        if is_due:
            yield moment


@given(starts, expressions.map(" ".join), st.integers(0, 26 * 60))
def test_schedule_names_the_moments_of_the_model(start: tuple[str, str], text: str, minutes: int) -> None:
    zone_name, day = start
    zone = ZoneInfo(zone_name)
    begin = datetime.fromisoformat(day).replace(tzinfo=UTC) + minutes * MINUTE
    if begin.astimezone(zone).fold:
        begin += timedelta(hours=2)  # the model must not begin in the middle of a repeated hour
    end = begin + timedelta(days=2)
    schedule = parse_cron(text, zone_name)
    found, moment = [], begin
    while (moment := schedule.next_after(moment)) < end:
        found.append(moment)
    assert found == list(walk(schedule, zone, begin, end))
