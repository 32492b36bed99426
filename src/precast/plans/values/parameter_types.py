"""The types of a plan's parameters: those of Puppet's data types whose values are plain data.

A server checks values itself, so nothing here may take long: the text of a type is short, types are nested within a limit, and a `Pattern`
is matched by an automaton, in time linear in the value, never by an engine that backtracks.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from precast.base.errors import PrecastError
from precast.lang.datatypes.base import ANY, Check, Type, UndefType
from precast.lang.datatypes.collections import ArrayType, CollectionType, HashType, Member, StructType, TupleType
from precast.lang.datatypes.composites import NotUndefType, OptionalType, VariantType
from precast.lang.datatypes.construction.notation import parse_type_in
from precast.lang.datatypes.core_types import core
from precast.lang.datatypes.groups import DataType, ScalarType
from precast.lang.datatypes.scalars import (
    BooleanType,
    EnumType,
    FloatType,
    IntegerType,
    NumericType,
    PatternType,
    ScalarDataType,
    StringType,
)
from precast.lang.values.base import Regexp, Value
from precast.lang.values.linear_regexps import LinearRegexp, compile_linear
from precast.net.model.compiler import guess

MAX_CHARS: Final = 2_000
MAX_DEPTH: Final = 20
# What matching one value costs at most: the states of all patterns of a type, for each of its characters.
MAX_STATES: Final = 500
MAX_MATCHED_CHARS: Final = 2_000

_PLAIN: Final = (
    BooleanType,
    DataType,
    EnumType,
    FloatType,
    IntegerType,
    NumericType,
    ScalarDataType,
    ScalarType,
    StringType,
    UndefType,
)


_NAMES: Final = (
    *(
        "Any",
        "Array",
        "Boolean",
        "Collection",
        "Data",
        "Enum",
        "Float",
        "Hash",
        "Integer",
        "NotUndef",
        "Numeric",
        "Optional",
    ),
    *("Pattern", "Scalar", "ScalarData", "String", "Struct", "Tuple", "Undef", "Variant"),
)
_NAME: Final = re.compile(r"\b[A-Z]\w*")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"|/[^/]*/")


class BadType(ValueError):
    """A text is not the type of a parameter; the message says why."""


class LinearPatternType(PatternType):
    """A Pattern whose expressions are matched in linear time. Longer values than `MAX_MATCHED_CHARS` are not instances."""

    def __init__(self, patterns: tuple[Regexp, ...], automata: tuple[LinearRegexp, ...]) -> None:
        super().__init__(patterns)
        self._automata = automata

    def build_check(self) -> Check:
        return self._matches

    def _matches(self, value: Value) -> bool:
        if type(value) is not str or len(value) > MAX_MATCHED_CHARS:
            return False
        return not self._automata or any(linear.automaton.matches(value) for linear in self._automata)


def parse_parameter_type(text: str) -> Type:
    """The type that a text describes. Raises BadType."""
    if len(text) > MAX_CHARS:
        raise BadType(f"the text of a type has at most {MAX_CHARS} characters")
    try:
        return _Rebuilding().rebuild(parse_type_in(text, core))
    except RecursionError:
        raise BadType(f"types are nested at most {MAX_DEPTH} deep") from None
    except (PrecastError, BadType) as error:
        reason = error.message if isinstance(error, PrecastError) else str(error)
        raise BadType(_find_misspelt(text) or reason) from None


def _find_misspelt(text: str) -> str:
    """What is said of the first name in a wrong type that is nearly that of a type; to the language it is a type of resources."""
    for name in _NAME.findall(_QUOTED.sub("", text)):
        if name not in _NAMES and (near := guess(name, _NAMES, 0.7)):
            return f"there is no type {name}{near}"
    return ""


class _Rebuilding:
    """Makes the same type again, with linear patterns. What has values that are not data is refused."""

    def __init__(self) -> None:
        self._states = 0
        self._depth = 0

    def rebuild(self, given: Type) -> Type:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadType(f"types are nested at most {MAX_DEPTH} deep")
        make = next((make for kind, make in self._makers.items() if isinstance(given, kind)), None)
        if make is None and given != ANY and type(given) is not CollectionType and not isinstance(given, _PLAIN):
            raise BadType(f"{given.text} is not a type of plain data")
        made = given if make is None else make(self, given)
        self._depth -= 1
        return made

    def _pattern(self, given: Any) -> Type:
        automata = []
        for pattern in given.patterns:
            linear = compile_linear(pattern.pattern)
            self._states += MAX_STATES + 1 if linear is None else linear.automaton.size
            if linear is None or self._states > MAX_STATES:
                raise BadType(f"the expression {pattern} is too complex to be matched in linear time")
            automata.append(linear)
        return LinearPatternType(given.patterns, tuple(automata))

    def _inner(self, given: Any) -> Type | None:
        return None if given.inner is None else self.rebuild(given.inner)

    def _optional(self, given: Any) -> Type:
        return OptionalType(self._inner(given))

    def _not_undef(self, given: Any) -> Type:
        return NotUndefType(self._inner(given))

    def _variant(self, given: Any) -> Type:
        return VariantType(tuple(map(self.rebuild, given.types)))

    def _array(self, given: Any) -> Type:
        return ArrayType(self.rebuild(given.element), given.given_size) if given.element != ANY else given

    def _hash(self, given: Any) -> Type:
        return HashType(self.rebuild(given.key_type), self.rebuild(given.value_type), given.given_size)

    def _tuple(self, given: Any) -> Type:
        return TupleType(map(self.rebuild, given.types), given.given_size)

    def _struct(self, given: Any) -> Type:
        return StructType(Member(member.key, self.rebuild(member.value), member.form) for member in given.members)

    _makers: Final[dict[type[Type], Callable[["_Rebuilding", Any], Type]]] = {
        PatternType: _pattern,
        OptionalType: _optional,
        NotUndefType: _not_undef,
        VariantType: _variant,
        ArrayType: _array,
        HashType: _hash,
        TupleType: _tuple,
        StructType: _struct,
    }
