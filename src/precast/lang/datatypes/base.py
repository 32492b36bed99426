"""What every data type is: a frozen value that can say whether a value is an instance and whether another type fits in.

Checking an instance is the hottest thing a compile does, so a type builds its check once, at first use, as one closure of plain
Python (`check`). Assignability (`accepts`) first takes the other side apart where it stands for several types: aliases, Variant,
Optional and NotUndef; what is left goes to the type's own `_accepts`. Aliases may be recursive; `seen` holds the pairs under way,
and a pair met again is taken to hold, for it would have failed elsewhere.
"""

import functools
from collections.abc import Callable
from typing import ClassVar

from precast.lang.values.core import DEFAULT, Rich, Unknown, Value

Check = Callable[[Value], bool]
Seen = frozenset[tuple[int, int]]
NOTHING_SEEN: Seen = frozenset()
Write = Callable[["Type"], str]


class Type(Rich):
    """A data type. Equality and hash go by `key`; the text is Puppet's normalised form."""

    name: ClassVar[str] = "Any"

    def parameters(self) -> tuple[object, ...]:
        """What tells this type from others of its class; hashable."""
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
        """The texts between the brackets; types in them are written by `write`."""
        return ()

    def form(self, write: Write) -> str:
        """The type's text with the types inside it written by `write`."""
        arguments = self.arguments(write)
        return f"{self.name}[{', '.join(arguments)}]" if arguments else self.name

    @functools.cached_property
    def text(self) -> str:
        """The text as it stands inside another type's: an alias is only named."""
        return self.form(lambda inner: inner.text)

    def expanded(self, aliases: tuple["Type", ...] = ()) -> str:
        """The text in which every alias outside the given ones says what it stands for, as messages show it."""
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
        """The Python class all of whose direct instances are instances of this type, for a check in one step."""
        return None

    def build_check(self) -> Check:
        """The check for known values; made once."""
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
        """Whether a type that stands for itself alone fits in."""
        raise NotImplementedError

    def generalized(self) -> "Type":
        """The type without what only says something of one value: ranges, sizes, literal strings."""
        return self

    def resolved(self) -> "Type":
        """The type an alias stands for; any other type itself."""
        return self

    def iterated(self) -> "Type | None":
        """The type of what an instance yields when iterated, None if it cannot be."""
        return None

    def iterated_as_value(self) -> "Type | None":
        """The type of what this type itself, used as a value, yields when iterated: only ranges and enumerations do."""
        return None

    @property
    def simple_name(self) -> str:
        """The name without parameters, as messages use it."""
        return self.name


class AnyType(Type):
    """Everything, undef included."""

    def build_check(self) -> Check:
        return lambda value: True

    def accepts(self, other: Type, seen: Seen = NOTHING_SEEN) -> bool:
        return True

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return True


class UnitType(Type):
    """The element of what is empty: fits in everywhere and takes everything. It has no name in the language."""

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
    """How many: at least `low`, at most `high` (None: no limit)."""

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
        """The smallest that covers both."""
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return Size(min(self.low, other.low), high)


ANY_SIZE = Size()
EMPTY_SIZE = Size(0, 0)


def by_size(size: Size, known: Check) -> Check:
    """A check narrowed to values of a size."""
    low, high = size.low, size.high
    if high is None:
        return known if low == 0 else lambda value: known(value) and len(value) >= low
    return lambda value: known(value) and low <= len(value) <= high
