"""Intervals in which something is open: sets of moments, as sorted lists of intervals that neither overlap nor touch.

`None` in place of a list means always open: nothing restricts it.
"""

import bisect
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec


class Interval(msgspec.Struct, frozen=True, order=True):
    """Open from `opens_at` until just before `closes_at`, in UTC."""

    opens_at: datetime
    closes_at: datetime


def merge(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the union of intervals that come in any order and may overlap."""
    merged: list[Interval] = []
    for interval in sorted(intervals):
        if merged and interval.opens_at <= merged[-1].closes_at:
            if interval.closes_at > merged[-1].closes_at:
                merged[-1] = Interval(merged[-1].opens_at, interval.closes_at)
        elif interval.opens_at < interval.closes_at:
            merged.append(interval)
    return merged


def subtract(opens: Sequence[Interval], blackouts: Sequence[Interval]) -> list[Interval]:
    """Return what is left of merged intervals outside other merged intervals."""
    left: list[Interval] = []
    place = 0
    for interval in opens:
        opens_at = interval.opens_at
        while place < len(blackouts) and blackouts[place].closes_at <= opens_at:
            place += 1
        while place < len(blackouts) and blackouts[place].opens_at < interval.closes_at:
            if opens_at < blackouts[place].opens_at:
                left.append(Interval(opens_at, blackouts[place].opens_at))
            opens_at = blackouts[place].closes_at
            if opens_at >= interval.closes_at:
                break  # it may also close a part of the next interval
            place += 1
        if opens_at < interval.closes_at:
            left.append(Interval(opens_at, interval.closes_at))
    return left


def clip(intervals: Iterable[Interval], start: datetime, end: datetime) -> list[Interval]:
    """Return the parts of intervals that lie between two moments."""
    return [
        Interval(max(interval.opens_at, start), min(interval.closes_at, end))
        for interval in intervals
        if interval.closes_at > start and interval.opens_at < end
    ]


def find_open(intervals: Sequence[Interval], at: datetime) -> Interval | None:
    """Return the interval that contains a moment; None if it is closed then."""
    place = bisect.bisect_right(intervals, at, key=lambda interval: interval.opens_at) - 1
    return intervals[place] if place >= 0 and at < intervals[place].closes_at else None


def is_open(intervals: Sequence[Interval] | None, at: datetime) -> bool:
    return intervals is None or find_open(intervals, at) is not None


def closes_at(intervals: Sequence[Interval] | None, at: datetime) -> datetime | None:
    """Return when that which is open at a moment closes; None if it is closed then, or never closes."""
    interval = find_open(intervals, at) if intervals is not None else None
    return interval.closes_at if interval is not None else None


def may_start(intervals: Sequence[Interval] | None, at: datetime, needs_s: float) -> bool:
    """Whether something that takes `needs_s` seconds may begin at a moment: it is open then, and stays open for that long."""
    return intervals is None or find_start(intervals, at, needs_s) == at


def find_start(intervals: Sequence[Interval] | None, at: datetime, needs_s: float) -> datetime | None:
    """Return the first moment, `at` or later, at which something that takes `needs_s` seconds may begin; None if there is none."""
    if intervals is None:
        return at
    needs = timedelta(seconds=needs_s)
    first = bisect.bisect_right(intervals, at, key=lambda interval: interval.closes_at)
    for interval in intervals[first:]:
        begins_at = max(at, interval.opens_at)
        if begins_at + needs <= interval.closes_at:
            return begins_at
    return None


def next_open(intervals: Sequence[Interval] | None, at: datetime) -> datetime | None:
    """Return the first moment, `at` or later, at which it is open; None if there is none."""
    return find_start(intervals, at, 0)
