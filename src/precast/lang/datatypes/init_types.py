"""Init[T]: the values that `T.new` accepts."""

from typing import Final, Protocol

from precast.lang.datatypes.base import ANY, Check, Seen, Type, Write
from precast.lang.datatypes.collections import ArrayType, HashType, StructType, TupleType
from precast.lang.datatypes.composites import SensitiveType, variant
from precast.lang.datatypes.groups import RICH_DATA
from precast.lang.datatypes.iterables import ITERABLE
from precast.lang.datatypes.rich import BinaryType
from precast.lang.datatypes.scalars import (
    BOOLEAN,
    NON_EMPTY_STRING,
    NUMERIC,
    STRING,
    BooleanType,
    NumericType,
    RegexpType,
    StringType,
)
from precast.lang.datatypes.times_and_versions import TIMESPAN, TIMESTAMP, TimespanType, TimestampType
from precast.lang.values.base import Value, literal


class Conversions(Protocol):
    """What the types need to know about conversions."""

    def can_create(self, wanted: Type, arguments: tuple[Value, ...], /) -> bool:
        """Whether `type.new(*arguments)` succeeds."""

    def check_new(self, wanted: Type, /) -> None:
        """Raises LANG-287 if the type has no `new`."""


_conversions: list[Conversions] = []


def provide(conversions: Conversions) -> None:
    """Set the conversions, once: they import the types, so the types cannot import them."""
    _conversions[:] = [conversions]


class InitType(Type):
    """A value from which the inner type can be made, with further arguments of its `new`."""

    name = "Init"

    def __init__(self, inner: Type | None = None, further: tuple[Value, ...] = ()) -> None:
        self.inner = inner
        self.further = further

    def parameters(self) -> tuple[object, ...]:
        return self.inner, self.further

    def arguments(self, write: Write) -> tuple[str, ...]:
        if self.inner is None:
            return ()
        return write(self.inner), *(write(a) if isinstance(a, Type) else literal(a) for a in self.further)

    def build_check(self) -> Check:
        if self.inner is None:
            return RICH_DATA.check
        inner, further = self.inner, self.further
        in_progress: set[int] = set()  # values whose check is in progress: a recursive Init adds nothing

        def check(value: Value) -> bool:
            if id(value) in in_progress:
                return False
            in_progress.add(id(value))
            try:
                conversions = _conversions[0]
                conversions.check_new(inner)
                return conversions.can_create(inner, (value, *further)) or (
                    not further and isinstance(value, tuple) and len(value) > 0 and conversions.can_create(inner, value)
                )
            finally:
                in_progress.discard(id(value))

        return check

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if isinstance(other, InitType):
            return self.inner is None or (
                other.inner is not None and self.inner.accepts(other.inner, seen) and self.further == other.further
            )
        if self.inner is None:
            return RICH_DATA.accepts(other, seen)
        if isinstance(self.inner, StringType):
            return True
        return self.inner.accepts(other, seen) or any(
            isinstance(self.inner, kinds) and sources.accepts(other, seen) for kinds, sources in _SOURCES
        )


# Types that `new` accepts besides instances of the type itself.
_SOURCES: Final[tuple[tuple[tuple[type[Type], ...], Type], ...]] = (
    ((NumericType,), variant((NUMERIC, BOOLEAN, TIMESPAN, TIMESTAMP))),
    ((BooleanType,), NUMERIC),
    ((ArrayType, TupleType), ITERABLE),
    ((HashType, StructType, SensitiveType), ANY),
    ((TimestampType, TimespanType), variant((NUMERIC, NON_EMPTY_STRING))),
    ((BinaryType, RegexpType), STRING),
)

INIT: Final = InitType()
