"""What can be said about a difference that was measured in pairs, each of two runs one after the other.

Single runs differ by more than small costs do, so a median alone may have the wrong sign. The interval is that of the sign test: it
assumes nothing about how the differences are distributed, and contains their median in at least 95 of 100 benchmarks.
"""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """The median of the differences, and the bounds within which the true one lies; None if there are too few pairs to say."""

    median: float | None
    low: float | None
    high: float | None


def median_interval(differences: Sequence[float]) -> Interval:
    """The interval for the median of paired differences."""
    count, ordered = len(differences), sorted(differences)
    median = statistics.median(ordered) if ordered else None
    outside, rank = 0.5**count, 0
    while outside <= (1 - CONFIDENCE) / 2 and rank < count // 2:
        rank += 1
        outside += math.comb(count, rank) * 0.5**count
    return Interval(median, ordered[rank - 1], ordered[-rank]) if rank else Interval(median, None, None)


def describe(interval: Interval) -> str:
    """The interval for people: a bound where even the sign is not known."""
    if interval.low is None or interval.high is None:
        return "not measurable with so few rounds"
    if interval.low < 0 < interval.high:
        return f"at most {interval.high:.1f}"
    return f"{interval.low:.1f} to {interval.high:.1f}"
