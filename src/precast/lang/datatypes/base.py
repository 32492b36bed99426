"""The base of every data type: a frozen value that tells whether a value is an instance and whether it accepts another type.

Instance checks are the hottest operation of a compile, so a type builds its check once, at first use, as one closure of plain Python
(`check`). Assignability (`accepts`) first splits the other type if it stands for several: aliases, Variant, Optional and NotUndef; the
parts go to the type's own `_accepts`. Aliases may be recursive: `seen` contains the pairs in progress, and a pair met again counts
as accepted, because a real difference would have been found elsewhere.
"""

import functools
from collections.abc import Callable
from typing import ClassVar

from precast.lang.values.base import DEFAULT, Rich, Unknown, Value

Check = Callable[[Value], bool]
Seen = frozenset[tuple[int, int]]
NOTHING_SEEN: Seen = frozenset()
Write = Callable[["Type"], str]


class Type(Rich):
    """A data type. Equality and hash depend on `key`; the text is Puppet's normalised form."""

    name: ClassVar[str] = "Any"

    def parameters(self) -> tuple[object, ...]:
        """The parameters that distinguish this type from others of its class; hashable."""
        return ()

    @functools.cached_property
    def key(self) -> tuple[object, ...]:
        return type(self).__name__, *self.parameters()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Type) and self.key == other.key)

    @functools.cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __hash__(self) -> int:
        return self._hash

    def arguments(self, write: Write) -> tuple[str, ...]:
        """The texts between the brackets; `write` writes the types in them."""
        return ()

    def form(self, write: Write) -> str:
        """The type's text; `write` writes the types inside it."""
        arguments = self.arguments(write)
        return f"{self.name}[{', '.join(arguments)}]" if arguments else self.name

    @functools.cached_property
    def text(self) -> str:
        """The text inside another type's text: an alias appears only by name."""
        return self.form(lambda inner: inner.text)

    def expanded(self, aliases: tuple["Type", ...] = ()) -> str:
        """The text as messages show it: every alias, except the given ones, with its definition."""
        return self.form(lambda inner: inner.expanded(aliases))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def rich_name(self) -> str:
        return "Type"

    @functools.cached_property
    def check(self) -> Check:
        """Whether a value is an instance of this type."""
        known = self.build_check()

        def slow(value: Value) -> bool:
            return known(value) or (isinstance(value, Unknown) and value.may_be(self))

        python_class = self.python_class()
        if python_class is None:
            return slow
        return lambda value: type(value) is python_class or slow(value)

    def python_class(self) -> type | None:
        """A Python class whose direct instances are all instances of this type, for a check in one step; or None."""
        return None

    def build_check(self) -> Check:
        """Build the check for known values; called once."""
        raise NotImplementedError

    def equal_to(self, other: Value) -> bool:
        return self == other or (isinstance(other, Type) and self.accepts(other) and other.accepts(self))

    def accepts(self, other: "Type", seen: Seen = NOTHING_SEEN) -> bool:
        """Whether every instance of the other type is an instance of this one."""
        return other.fits_into(self, seen)

    def fits_into(self, wanted: "Type", seen: Seen) -> bool:
        """The same question from the other side; types that stand for several override it."""
        return wanted._accepts(self, seen)

    def _accepts(self, other: "Type", seen: Seen) -> bool:
        """Whether this type accepts a type that stands only for itself."""
        raise NotImplementedError

    def generalized(self) -> "Type":
        """The type without details of single values: ranges, sizes, literal strings."""
        return self

    def resolved(self) -> "Type":
        """The type an alias stands for; any other type itself."""
        return self

    def iterated(self) -> "Type | None":
        """The type of the values that an iteration over an instance yields; None if it cannot be iterated."""
        return None

    def iterated_as_value(self) -> "Type | None":
        """The type of the values that an iteration over this type itself yields: only ranges and enumerations can be iterated."""
        return None

    @property
    def simple_name(self) -> str:
        """The name without parameters, as messages use it."""
        return self.name


class AnyType(Type):
    """Every value, including undef."""

    def build_check(self) -> Check:
        return lambda value: True

    def accepts(self, other: Type, seen: Seen = NOTHING_SEEN) -> bool:
        return True

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return True


class UnitType(Type):
    """The element type of an empty collection: every type accepts it, and it accepts every type. It has no name in the language."""

    name = "Unit"

    def build_check(self) -> Check:
        return lambda value: True

    def fits_into(self, wanted: Type, seen: Seen) -> bool:
        return True

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return True


class UndefType(Type):
    """undef."""

    name = "Undef"

    def build_check(self) -> Check:
        return lambda value: value is None

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, UndefType)


class DefaultType(Type):
    """The value `default`."""

    name = "Default"

    def build_check(self) -> Check:
        return lambda value: value is DEFAULT

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, DefaultType)


ANY = AnyType()
UNIT = UnitType()
UNDEF = UndefType()
DEFAULT_TYPE = DefaultType()


class Size:
    """A number of elements: at least `low`, at most `high` (None: no limit)."""

    __slots__ = ("high", "low")

    def __init__(self, low: int = 0, high: int | None = None) -> None:
        self.low = low
        self.high = high

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.low == other.low and self.high == other.high

    def __hash__(self) -> int:
        return hash((self.low, self.high))

    def holds(self, count: int) -> bool:
        return count >= self.low and (self.high is None or count <= self.high)

    def covers(self, other: "Size") -> bool:
        return self.low <= other.low and (self.high is None or (other.high is not None and other.high <= self.high))

    def texts(self) -> tuple[str, ...]:
        return (str(self.low),) if self.high is None else (str(self.low), str(self.high))

    def joined(self, other: "Size") -> "Size":
        """The smallest size that covers both."""
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return Size(min(self.low, other.low), high)


ANY_SIZE = Size()
EMPTY_SIZE = Size(0, 0)


def by_size(size: Size, known: Check) -> Check:
    """A check restricted to values of a size."""
    low, high = size.low, size.high
    if high is None:
        return known if low == 0 else lambda value: known(value) and len(value) >= low
    return lambda value: known(value) and low <= len(value) <= high
