"""The types of single values: numbers, all forms of strings, Boolean, Regexp, and their groups."""

from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from precast.lang.datatypes.base import ANY_SIZE, Check, Seen, Size, Type, Write
from precast.lang.values import base as values
from precast.lang.values.base import Regexp, Value, quoted
from precast.lang.values.folding import fold
from precast.lang.values.regexps import compile_regexp

_NUMBERS: Final = (int, float)


class NumericType(Type):
    """Integer and Float."""

    name = "Numeric"

    def build_check(self) -> Check:
        return values.is_number

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, NumericType)


class IntegerType(NumericType):
    """Integer in a range; None means unbounded."""

    name = "Integer"

    def __init__(self, low: int | None = None, high: int | None = None) -> None:
        self.low = low
        self.high = high

    def parameters(self) -> tuple[object, ...]:
        return self.low, self.high

    def arguments(self, write: Write) -> tuple[str, ...]:
        return _range_texts(self.low, self.high, str)

    def build_check(self) -> Check:
        low, high = self.low, self.high
        if low is None and high is None:
            return lambda value: type(value) is int or (isinstance(value, int) and not isinstance(value, bool))
        return lambda value: (
            isinstance(value, int)
            and not isinstance(value, bool)
            and (low is None or value >= low)
            and (high is None or value <= high)
        )

    def python_class(self) -> type | None:
        return int if self.low is None and self.high is None else None

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, IntegerType) and _covers(self, other)

    def generalized(self) -> Type:
        return INTEGER

    def iterated(self) -> Type | None:
        return IntegerType(0, self.high)

    def iterated_as_value(self) -> Type | None:
        return self if self.is_finite else None

    @property
    def is_finite(self) -> bool:
        return self.low is not None and self.high is not None

    def range(self) -> range:
        """The numbers of a finite range."""
        assert self.low is not None
        assert self.high is not None
        return range(self.low, self.high + 1)


class FloatType(NumericType):
    """Float in a range; None means unbounded."""

    name = "Float"

    def __init__(self, low: float | None = None, high: float | None = None) -> None:
        self.low = low
        self.high = high

    def parameters(self) -> tuple[object, ...]:
        return self.low, self.high

    def arguments(self, write: Write) -> tuple[str, ...]:
        return _range_texts(self.low, self.high, values.float_text)

    def build_check(self) -> Check:
        low, high = self.low, self.high
        return lambda value: (
            isinstance(value, float) and (low is None or value >= low) and (high is None or value <= high)
        )

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, FloatType) and _covers(self, other)

    def generalized(self) -> Type:
        return FLOAT


def _covers(mine: IntegerType | FloatType, theirs: IntegerType | FloatType) -> bool:
    return (mine.low is None or (theirs.low is not None and mine.low <= theirs.low)) and (
        mine.high is None or (theirs.high is not None and theirs.high <= mine.high)
    )


def _range_texts(low: Value, high: Value, write: Callable[[Value], str]) -> tuple[str, ...]:
    if low is None and high is None:
        return ()
    first = "default" if low is None else write(low)
    return (first,) if high is None else (first, write(high))


class StringType(Type):
    """String of a size, or exactly one string (only in inferred types and keys)."""

    name = "String"

    def __init__(self, size: Size | None = None, literal: str | None = None) -> None:
        self.given_size = size
        self.literal = literal

    @property
    def size(self) -> Size:
        if self.literal is not None:
            return Size(len(self.literal), len(self.literal))
        return self.given_size or ANY_SIZE

    def parameters(self) -> tuple[object, ...]:
        return (self.literal,) if self.literal is not None else (None, self.size)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return () if self.given_size is None else self.given_size.texts()

    def build_check(self) -> Check:
        literal, low, high = self.literal, self.size.low, self.size.high
        if literal is not None:
            return lambda value: value == literal and type(value) is str
        if high is not None:
            return lambda value: type(value) is str and low <= len(value) <= high
        if low == 0:
            return lambda value: type(value) is str
        return lambda value: type(value) is str and len(value) >= low

    def python_class(self) -> type | None:
        return str if self.literal is None and self.size == ANY_SIZE else None

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if isinstance(other, StringType):
            return other.literal == self.literal if self.literal is not None else self.size.covers(other.size)
        if isinstance(other, EnumType):
            if self.literal is not None:
                return other.values == (self.literal,) and not other.any_case
            return self.size == ANY_SIZE or (bool(other.values) and all(self.size.holds(len(v)) for v in other.values))
        return isinstance(other, PatternType) and self.literal is None and self.size == ANY_SIZE

    def generalized(self) -> Type:
        return STRING

    def iterated(self) -> Type | None:
        return ONE_CHARACTER


class EnumType(Type):
    """One of several strings; sorted, as Puppet prints them."""

    name = "Enum"

    def __init__(self, words: Iterable[str] = (), any_case: bool = False) -> None:
        self.values = tuple(sorted(dict.fromkeys(words)))
        self.any_case = any_case

    def parameters(self) -> tuple[object, ...]:
        return self.values, self.any_case

    def arguments(self, write: Write) -> tuple[str, ...]:
        texts = tuple(map(quoted, self.values))
        return (*texts, "true") if texts and self.any_case else texts

    def build_check(self) -> Check:
        if self.any_case:
            folded = frozenset(map(fold, self.values))
            return lambda value: type(value) is str and fold(value) in folded
        words = frozenset(self.values)
        return lambda value: type(value) is str and value in words

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not self.values:
            return isinstance(other, StringType | EnumType | PatternType)
        if isinstance(other, StringType):
            return other.literal is not None and self.check(other.literal)
        if isinstance(other, EnumType):
            return (
                bool(other.values)
                and (self.any_case or not other.any_case)
                and all(self.check(v) for v in other.values)
            )
        return False

    def generalized(self) -> Type:
        if not self.values:
            return STRING
        sizes = [len(word) for word in self.values]
        return StringType(Size(min(sizes), max(sizes)))

    def iterated(self) -> Type | None:
        return ONE_CHARACTER

    def iterated_as_value(self) -> Type | None:
        return self


class PatternType(Type):
    """A string that matches one of several regular expressions."""

    name = "Pattern"

    def __init__(self, patterns: Iterable[Regexp] = ()) -> None:
        self.patterns = tuple(dict.fromkeys(patterns))

    def parameters(self) -> tuple[object, ...]:
        return (frozenset(self.patterns),)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return tuple(map(str, self.patterns))

    def build_check(self) -> Check:
        searches = [compile_regexp(pattern.pattern).search for pattern in self.patterns]
        if not searches:
            return lambda value: type(value) is str
        if len(searches) == 1:
            search = searches[0]
            return lambda value: type(value) is str and search(value) is not None
        return lambda value: type(value) is str and any(find(value) is not None for find in searches)

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not self.patterns:
            return isinstance(other, StringType | EnumType | PatternType)
        if isinstance(other, StringType):
            return other.literal is not None and self.check(other.literal)
        if isinstance(other, EnumType):
            return bool(other.values) and all(self.check(word) for word in other.values)
        return isinstance(other, PatternType) and set(other.patterns) == set(self.patterns)

    def iterated(self) -> Type | None:
        return ONE_CHARACTER


class BooleanType(Type):
    """true and false, or one of them."""

    name = "Boolean"

    def __init__(self, only: bool | None = None) -> None:
        self.only = only

    def parameters(self) -> tuple[object, ...]:
        return (self.only,)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return () if self.only is None else (values.to_string(self.only),)

    def build_check(self) -> Check:
        only = self.only
        return (lambda value: isinstance(value, bool)) if only is None else (lambda value: value is only)

    def python_class(self) -> type | None:
        return bool if self.only is None else None

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, BooleanType) and (self.only is None or self.only is other.only)

    def generalized(self) -> Type:
        return BOOLEAN


class RegexpType(Type):
    """A regular expression, or exactly one."""

    name = "Regexp"

    def __init__(self, pattern: Regexp | None = None) -> None:
        self.pattern = pattern

    def parameters(self) -> tuple[object, ...]:
        return (self.pattern,)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return () if self.pattern is None else (str(self.pattern),)

    def build_check(self) -> Check:
        pattern = self.pattern
        return lambda value: isinstance(value, Regexp) and (pattern is None or value == pattern)

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, RegexpType) and (self.pattern is None or self.pattern == other.pattern)


class ScalarDataType(Type):
    """Scalars that JSON can represent: Integer, Float, String, Boolean."""

    name = "ScalarData"
    members: ClassVar[tuple[type[Type], ...]] = (
        IntegerType, FloatType, NumericType, StringType, EnumType, PatternType, BooleanType,
    )  # fmt: skip

    def build_check(self) -> Check:
        return lambda value: type(value) is str or isinstance(value, _NUMBERS)

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, (*self.members, type(self)))


INTEGER = IntegerType()
FLOAT = FloatType()
NUMERIC = NumericType()
STRING = StringType()
NON_EMPTY_STRING = StringType(Size(1))
ONE_CHARACTER = StringType(Size(1, 1))
BOOLEAN = BooleanType()
REGEXP = RegexpType()
ENUM = EnumType()
PATTERN = PatternType()
SCALAR_DATA = ScalarDataType()
