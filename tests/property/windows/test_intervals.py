"""Intervals against sets of minutes, and rules against a clock that is watched minute by minute."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from precast.wire.windows.intervals import Interval, clip, closes_at, find_start, is_open, may_start, merge, subtract
from precast.wire.windows.rules import WindowRule, parse_rule

ZERO = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MINUTES = 60
CHANGES = {
    "Europe/Berlin": ("2026-03-27", "2026-10-23"),
    "America/New_York": ("2026-03-06", "2026-10-30"),
    "Australia/Lord_Howe": ("2026-04-03", "2026-10-02"),
    "Africa/Casablanca": ("2026-02-13", "2026-03-20"),
    "Asia/Beirut": ("2026-03-27", "2026-10-23"),
    "UTC": ("2026-02-26", "2026-12-30"),
}

spans = st.tuples(st.integers(0, MINUTES), st.integers(0, MINUTES)).map(
    lambda pair: Interval(ZERO + min(pair) * MINUTE, ZERO + max(pair) * MINUTE)
)
span_lists = st.lists(spans, max_size=8)


def minutes(intervals: list[Interval]) -> set[int]:
    moments = range(-1, MINUTES + 2)
    return {at for at in moments if any(one.opens_at <= ZERO + at * MINUTE < one.closes_at for one in intervals)}


def assert_canonical(intervals: list[Interval]) -> None:
    assert all(interval.opens_at < interval.closes_at for interval in intervals)
    assert all(first.closes_at < second.opens_at for first, second in pairwise(intervals))


@given(span_lists, span_lists, st.integers(0, MINUTES), st.integers(0, MINUTES), st.integers(0, 20))
def test_intervals_behave_like_sets_of_minutes(
    opens: list[Interval], blackouts: list[Interval], start: int, at: int, needs: int
) -> None:
    merged, closed = merge(opens), merge(blackouts)
    assert_canonical(merged)
    assert minutes(merged) == minutes(opens)
    left = subtract(merged, closed)
    assert_canonical(left)
    open_minutes = minutes(left)
    assert open_minutes == minutes(opens) - minutes(blackouts)
    assert minutes(clip(left, ZERO + start * MINUTE, ZERO + at * MINUTE)) == open_minutes & set(range(start, at))

    moment = ZERO + at * MINUTE
    assert is_open(left, moment) == (at in open_minutes)
    end = next(minute for minute in range(at, MINUTES + 2) if minute not in open_minutes)
    assert closes_at(left, moment) == (ZERO + end * MINUTE if at in open_minutes else None)
    fitting = [
        minute for minute in range(at, MINUTES + 1)
        if minute in open_minutes and set(range(minute, minute + needs)) <= open_minutes
    ]  # fmt: skip
    begins_at = find_start(left, moment, needs * 60)
    assert begins_at == (ZERO + fitting[0] * MINUTE if fitting else None)
    assert may_start(left, moment, needs * 60) == (bool(fitting) and fitting[0] == at)


def walk(rule: WindowRule, start: datetime, end: datetime) -> set[datetime]:
    """Watch the clock of the zone: the window opens when it first shows the time of the rule, or a later one, on a day of the rule."""
    zone = ZoneInfo(rule.zone)
    seen = start.astimezone(zone).replace(tzinfo=None)
    left, opened, moment = timedelta(0), set(), start
    while (moment := moment + MINUTE) < end:
        wall = moment.astimezone(zone).replace(tzinfo=None)
        while seen < wall:
            seen += MINUTE
            if seen.time() == rule.start and rule.weekday in (None, seen.weekday()):
                left = max(left, rule.length)
        if left > timedelta(0):
            opened.add(moment)
            left -= MINUTE
    return opened


rules = st.builds(
    lambda day, hour, minute, length: f"{day} {hour}:{minute:02} {length}m",
    st.sampled_from(["daily", "Sun", "Sat"]),
    st.integers(0, 23) | st.integers(1, 3),
    st.sampled_from([0, 15, 30, 59]),
    st.integers(1, 1500),
)


@given(st.sampled_from([(zone, day) for zone, days in CHANGES.items() for day in days]), rules)
def test_rule_is_open_when_a_watched_clock_says_so(place: tuple[str, str], text: str) -> None:
    zone, day = place
    rule = parse_rule(f"{text} {zone}")
    start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    # The model needs a day to know what is open.
    begin, end = start + timedelta(days=1, hours=2), start + timedelta(days=3)
    watched = {moment for moment in walk(rule, start, end) if moment >= begin}
    intervals = merge(rule.expand(begin, end))
    moments = [begin + count * MINUTE for count in range(int((end - begin) / MINUTE))]
    assert {moment for moment in moments if is_open(intervals, moment)} == watched
