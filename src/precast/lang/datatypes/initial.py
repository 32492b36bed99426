"""Init[T]: the values that `T.new` would take."""

from typing import Final, Protocol

from precast.lang.datatypes.base import ANY, Check, Seen, Type, Write
from precast.lang.datatypes.collections import ArrayType, HashType, StructType, TupleType
from precast.lang.datatypes.combined import SensitiveType, variant
from precast.lang.datatypes.groups import RICH_DATA
from precast.lang.datatypes.iterables import ITERABLE
from precast.lang.datatypes.moments import TIMESPAN, TIMESTAMP, TimespanType, TimestampType
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
from precast.lang.values.core import Value, literal


class Conversions(Protocol):
    """What conversions know of types."""

    def can_create(self, wanted: Type, arguments: tuple[Value, ...], /) -> bool:
        """Whether `type.new(*arguments)` succeeds."""

    def check_new(self, wanted: Type, /) -> None:
        """Raises LANG-287 if the type has no `new`."""


_conversions: list[Conversions] = []


def provide(answers: Conversions) -> None:
    """Conversions stand below the types, so they come in here, once."""
    _conversions[:] = [answers]


class InitType(Type):
    """A value from which the inner type can be made, with further arguments."""

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
        under_way: set[int] = set()  # values asked about further up: an Init inside the type it makes adds nothing

        def check(value: Value) -> bool:
            if id(value) in under_way:
                return False
            under_way.add(id(value))
            try:
                conversions = _conversions[0]
                conversions.check_new(inner)
                return conversions.can_create(inner, (value, *further)) or (
                    not further and isinstance(value, tuple) and len(value) > 0 and conversions.can_create(inner, value)
                )
            finally:
                under_way.discard(id(value))

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


# What `new` takes of whole types, beside instances of the type itself.
_SOURCES: Final[tuple[tuple[tuple[type[Type], ...], Type], ...]] = (
    ((NumericType,), variant((NUMERIC, BOOLEAN, TIMESPAN, TIMESTAMP))),
    ((BooleanType,), NUMERIC),
    ((ArrayType, TupleType), ITERABLE),
    ((HashType, StructType, SensitiveType), ANY),
    ((TimestampType, TimespanType), variant((NUMERIC, NON_EMPTY_STRING))),
    ((BinaryType, RegexpType), STRING),
)

INIT: Final = InitType()
