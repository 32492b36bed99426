"""The types Timestamp, Timespan, SemVer and SemVerRange."""

from typing import ClassVar, Final

from precast.lang.datatypes.base import Check, Seen, Type, Write
from precast.lang.values.base import Value, quoted
from precast.lang.values.times import Timespan, Timestamp
from precast.lang.values.versions import SemVer, SemVerRange


class _RangeType(Type):
    """Instances of one class between two bounds; None means unbounded."""

    kind: ClassVar[type[Timestamp] | type[Timespan]]

    def __init__(self, low: Value = None, high: Value = None) -> None:
        self.low = low
        self.high = high

    def parameters(self) -> tuple[object, ...]:
        return self.low, self.high

    def arguments(self, write: Write) -> tuple[str, ...]:
        if self.low is None and self.high is None:
            return ()
        low = "default" if self.low is None else quoted(str(self.low))
        return (low,) if self.high is None or self.low == self.high else (low, quoted(str(self.high)))

    def build_check(self) -> Check:
        kind = self.kind
        low: Value = None if self.low is None else self.low.ns
        high: Value = None if self.high is None else self.high.ns
        return lambda value: (
            isinstance(value, kind) and (low is None or value.ns >= low) and (high is None or value.ns <= high)
        )

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not isinstance(other, type(self)):
            return False
        if self.low is not None and (other.low is None or other.low.ns < self.low.ns):
            return False
        return self.high is None or (other.high is not None and other.high.ns <= self.high.ns)

    def generalized(self) -> Type:
        return type(self)()


class TimestampType(_RangeType):
    """A point in time in a range."""

    name = "Timestamp"
    kind = Timestamp


class TimespanType(_RangeType):
    """A duration in a range."""

    name = "Timespan"
    kind = Timespan


class SemVerType(Type):
    """A version inside one of several ranges."""

    name = "SemVer"

    def __init__(self, ranges: tuple[SemVerRange, ...] = ()) -> None:
        self.ranges = ranges

    def parameters(self) -> tuple[object, ...]:
        return (frozenset(self.ranges),)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return tuple(quoted(str(version_range)) for version_range in self.ranges)

    def build_check(self) -> Check:
        ranges = self.ranges
        return lambda value: isinstance(value, SemVer) and (not ranges or any(r.includes(value) for r in ranges))

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not isinstance(other, SemVerType):
            return False
        return not self.ranges or (
            bool(other.ranges) and all(any(mine.covers(theirs) for mine in self.ranges) for theirs in other.ranges)
        )

    def generalized(self) -> Type:
        return SEM_VER


class SemVerRangeType(Type):
    """A range of versions."""

    name = "SemVerRange"

    def build_check(self) -> Check:
        return lambda value: isinstance(value, SemVerRange)

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, SemVerRangeType)


TIMESTAMP: Final = TimestampType()
TIMESPAN: Final = TimespanType()
SEM_VER: Final = SemVerType()
SEM_VER_RANGE: Final = SemVerRangeType()
