"""Timestamp and Timespan in whole nanoseconds, and their arithmetic.

One integer of nanoseconds makes every sum exact; a Float is involved only if a manifest wrote one. As in Puppet, numbers compare with
both as seconds.
"""

import datetime
import math
from collections.abc import Mapping
from typing import Final

from precast.lang.issues import types as issues
from precast.lang.values.base import Ordered, Value, is_number, kind_name

NS: Final = 1_000_000_000
MINUTE: Final = 60 * NS
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
CYCLE_S: Final = 146_097 * 86_400  # 400 years of the Gregorian calendar
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def from_seconds(seconds: float) -> int:
    """Nanoseconds from a number of seconds; a fraction of a nanosecond is cut off."""
    return _whole(seconds * NS)


def _whole(ns: float) -> int:
    """Whole nanoseconds. Raises LANG-256 if the number is not finite."""
    if not math.isfinite(ns):
        raise issues.TIME_OUT_OF_RANGE.error()
    return int(ns)


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)


class _Nanoseconds(Ordered):
    __slots__ = ("ns",)

    def __init__(self, ns: int) -> None:
        self.ns = ns

    def __eq__(self, other: object) -> bool:
        if type(other) is type(self):
            return self.ns == other.ns
        return is_number(other) and self.seconds() == other

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.ns))

    def order(self, other: Value) -> int | None:
        if type(other) is type(self):
            return _sign(self.ns - other.ns)
        return _sign(self.seconds() - other) if is_number(other) else None

    def seconds(self) -> float:
        """Seconds as a Float, or as an Integer if they are whole."""
        return self.ns // NS if self.ns % NS == 0 else self.ns / NS

    def whole_seconds(self) -> int:
        """Seconds without their fraction."""
        return self.ns // NS if self.ns >= 0 else -(-self.ns // NS)


class Timestamp(_Nanoseconds):
    """A point in time: nanoseconds since 1970 in UTC."""

    __slots__ = ()
    incomparable_reason = "Timestamps are only comparable to Timestamps, Integers, and Floats"

    def calendar_time(self, offset_s: int = 0) -> tuple[datetime.datetime, int]:
        """The calendar time of its second, and the true year: Python's calendar ends at 9999, and calendars repeat every 400 years."""
        seconds = self.ns // NS + offset_s
        cycles, rest = divmod(seconds, CYCLE_S)
        day = _EPOCH + datetime.timedelta(seconds=rest)
        return day, day.year + 400 * cycles

    def __str__(self) -> str:
        day, year = self.calendar_time()
        return f"{year:04d}-{day:%m-%dT%H:%M:%S}.{self.ns % NS:09d} UTC"


class Timespan(_Nanoseconds):
    """A duration, which may be negative."""

    __slots__ = ()
    incomparable_reason = "Timespans are only comparable to Timespans, Integers, and Floats"

    def __str__(self) -> str:
        ns = abs(self.ns)
        fraction = f"{ns % NS:09d}".rstrip("0").lstrip("0") or "0"
        clock = f"{ns // HOUR % 24:02d}:{ns // MINUTE % 60:02d}:{ns // NS % 60:02d}"
        return f"{'-' if self.ns < 0 else ''}{ns // DAY}-{clock}.{fraction}"

    def parts(self) -> dict[str, int | bool]:
        """The fields of Puppet's to_hash."""
        ns = abs(self.ns)
        return {
            "negative": self.ns < 0,
            "days": ns // DAY,
            "hours": ns // HOUR % 24,
            "minutes": ns // MINUTE % 60,
            "seconds": ns // NS % 60,
            "milliseconds": ns // 1_000_000 % 1000,
            "microseconds": ns // 1000 % 1000,
            "nanoseconds": ns % 1000,
        }


_UNITS: Final = {
    "days": DAY, "hours": HOUR, "minutes": MINUTE, "seconds": NS,
    "milliseconds": 1_000_000, "microseconds": 1000, "nanoseconds": 1,
}  # fmt: skip


def timespan_of(parts: Mapping[str, Value]) -> Timespan:
    """The duration of counted units, possibly negative; unknown names are ignored."""
    ns = sum(int(parts[name]) * unit for name, unit in _UNITS.items() if name in parts)
    return Timespan(-ns if parts.get("negative") else ns)


def calculate(operator: str, left: Value, right: Value) -> Value:
    """`left operator right` with a Timestamp or Timespan on at least one side. Raises LANG-202 if the operator does not apply."""
    if isinstance(left, Timestamp):
        return _with_timestamp(operator, left, right)
    if isinstance(left, Timespan):
        return _with_timespan(operator, left, right)
    if is_number(left):
        if operator == "+":
            return type(right)(from_seconds(left) + right.ns)
        if isinstance(right, Timespan):
            if operator == "-":
                return Timespan(from_seconds(left) - right.ns)
            if operator == "*":
                return _with_timespan("*", right, left)
    raise issues.NO_OPERATOR_FOR.error(operator=operator, left=kind_name(left), right=kind_name(right))


def _with_timestamp(operator: str, left: Timestamp, right: Value) -> Value:
    ns = right.ns if isinstance(right, Timespan) else from_seconds(right) if is_number(right) else None
    if operator == "-" and isinstance(right, Timestamp):
        return Timespan(left.ns - right.ns)
    if ns is not None and operator in ("+", "-"):
        return Timestamp(left.ns + ns if operator == "+" else left.ns - ns)
    raise issues.NO_OPERATOR_FOR.error(operator=operator, left="Timestamp", right=kind_name(right))


def _with_timespan(operator: str, left: Timespan, right: Value) -> Value:
    ns = right.ns if isinstance(right, Timespan) else from_seconds(right) if is_number(right) else None
    if operator == "+" and isinstance(right, Timestamp):
        return Timestamp(left.ns + right.ns)
    if operator in ("+", "-") and ns is not None:
        return Timespan(left.ns + ns if operator == "+" else left.ns - ns)
    if operator == "*" and is_number(right):
        return Timespan(_whole(left.ns * right))
    if operator in ("/", "%") and ns is not None:
        return _divide(operator, left, right)
    raise issues.NO_OPERATOR_FOR.error(operator=operator, left="Timespan", right=kind_name(right))


def _divide(operator: str, left: Timespan, right: Value) -> Value:
    if (right.ns if isinstance(right, Timespan) else right) == 0:
        raise issues.DIVISION_BY_ZERO.error()
    if operator == "%":
        if isinstance(right, Timespan):
            raise issues.NO_OPERATOR_FOR.error(operator=operator, left="Timespan", right="Timespan")
        return left.whole_seconds() % right
    if isinstance(right, Timespan):
        return left.ns / right.ns
    return Timespan(left.ns // right if isinstance(right, int) else _whole(left.ns / right))


def negated(span: Timespan) -> Timespan:
    return Timespan(-span.ns)
