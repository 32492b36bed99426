"""Describes why a value does not fit a type, as narrowly as possible: which element, which key, what was expected there.

The value's own type is compared part by part with the expected one. Each difference is a `Mismatch` with a path ("index 1",
"entry 'a'"); alternatives of a Variant that fail in the same place are reported as one.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from precast.lang.datatypes.base import UNDEF, Size, Type
from precast.lang.datatypes.collections import ArrayType, CollectionType, HashType, StructType, TupleType
from precast.lang.datatypes.composites import NotUndefType, OptionalType, SensitiveType, TypeType, VariantType
from precast.lang.datatypes.groups import DATA, DataType
from precast.lang.datatypes.inference import infer
from precast.lang.datatypes.objects import ObjectType
from precast.lang.datatypes.references import ClassType, ResourceType, TypeAlias
from precast.lang.datatypes.scalars import SCALAR_DATA, STRING, EnumType, PatternType, StringType
from precast.lang.values.base import Value, quoted

Path = tuple[str, ...]


class Mismatch(NamedTuple):
    """One difference. `kind` is type, pattern, size, missing or extra; `expected` may be several types."""

    path: Path
    kind: str
    expected: tuple[Type, ...] = ()
    actual: Type = UNDEF
    size: tuple[Size, Size] | None = None
    key: str = ""

    def text(self) -> str:
        """The difference, with its path in front."""
        return " ".join((*self.path, self._fact()))

    def _fact(self) -> str:
        if self.kind == "size" and self.size is not None:
            return f"expects size to be {_size_text(*self.size)}"
        if self.kind == "missing":
            return f"expects a value for key '{self.key}'"
        if self.kind == "extra":
            return f"unrecognized key '{self.key}'"
        if self.kind == "pattern":
            return self._pattern_text()
        return f"expects {self._expected_text()}, got {self._actual_text()}"

    def _is_detailed(self) -> bool:
        """Whether names alone would not show the difference."""
        return any(t.name == self.actual.name for t in self.expected if not isinstance(t, TypeAlias))

    def _expected_text(self) -> str:
        detailed = self._is_detailed()
        texts = list(
            dict.fromkeys(
                t.expanded() if detailed or isinstance(t, TypeAlias) else short_name(t) for t in self.expected
            )
        )
        if len(texts) == 1:
            return f"{_article(texts[0])} {texts[0]} value"
        listed = f"{texts[0]} or {texts[1]}" if len(texts) == 2 else f"{', '.join(texts[:-1])}, or {texts[-1]}"
        return f"a value of type {listed}"

    def _actual_text(self) -> str:
        return self.actual.text if self._is_detailed() else short_name(self.actual)

    def _pattern_text(self) -> str:
        undef = "an undef value or " if self.expected[0] == UNDEF else ""
        types = [t for t in self.expected if t != UNDEF]
        wanted = types[0].expanded() if len(types) == 1 else _merged_text(types)
        got = self.actual
        is_word = isinstance(got, StringType) and got.literal is not None
        shown = quoted(got.literal or "") if is_word and isinstance(got, StringType) else short_name(got)
        return f"expects {undef}a match for {wanted}, got {shown}"


def _merged_text(types: list[Type]) -> str:
    if all(isinstance(t, EnumType) for t in types):
        return EnumType(word for t in types if isinstance(t, EnumType) for word in t.values).text
    return VariantType(tuple(types)).expanded()


def short_name(data_type: Type) -> str:
    """The type's name as messages shorten it: with parameters only if the name alone says nothing."""
    if isinstance(data_type, ResourceType | ClassType):
        return data_type.name
    if isinstance(data_type, ObjectType):
        return data_type.simple_name
    if isinstance(data_type, TypeType | SensitiveType) and data_type.inner is not None:
        return f"{data_type.name}[{short_name(data_type.inner)}]"
    return data_type.simple_name


def _article(name: str) -> str:
    return "an" if name[:1] in "AEIOUaeiou" else "a"


def _size_text(wanted: Size, got: Size) -> str:
    count = "unlimited" if got.high is None else str(got.high)
    if wanted.high is None:
        return f"at least {wanted.low}, got {count}"
    if wanted.low == wanted.high:
        return f"{wanted.low}, got {count}"
    if wanted.low == 0:
        return f"at most {wanted.high}, got {count}"
    return f"between {wanted.low} and {wanted.high}, got {count}"


def fits_parameter(wanted: Type, value: Value) -> bool:
    """Whether a parameter of a class, define or template accepts a value.

    A bare Optional or Variant has no instances of its own, but Puppet tests whether there is a difference to describe, and finds none.
    """
    return wanted.check(value) or wanted.accepts(infer(value)) or (isinstance(wanted, VariantType) and not wanted.types)


def describe(subject: str, wanted: Type, value: Value) -> str:
    """Why a value does not fit a type, in one line: the subject ("parameter 'x'") and every reason."""
    reasons = "; ".join(differences(wanted, value))
    return f"{subject} {reasons}" if subject else reasons


def differences(wanted: Type, value: Value) -> list[str]:
    """Every difference between a value and a type as text; empty if it fits."""
    if wanted.check(value):
        return []
    actual = infer(value)
    mismatches = compare_types(wanted, actual)
    return [mismatch.text() for mismatch in mismatches] or [Mismatch((), "type", (wanted,), actual).text()]


def compare_types(wanted: Type, actual: Type, path: Path = ()) -> list[Mismatch]:
    """The differences between an expected type and the type of a value."""
    return _compare(wanted, (wanted,), actual, path)


def _compare(wanted: Type, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    """`named` is the type that the message reports as expected: an alias or Optional around the compared type."""
    for kind, compare in _COMPARISONS:
        if isinstance(wanted, kind):
            return compare(wanted, named, actual, path)
    return [] if wanted.accepts(actual) else [Mismatch(path, "type", named, actual)]


def _alias(wanted: Value, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    return _compare(wanted.resolved(), (wanted,), actual, path)


def _optional(wanted: Value, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    if wanted.inner is None or actual == UNDEF:
        return []
    reported = named if isinstance(named[0], TypeAlias) else (UNDEF, wanted.inner)
    return _compare(wanted.inner, reported, actual, path)


def _not_undef(wanted: Value, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    if wanted.inner is None:
        return [] if not actual.accepts(UNDEF) else [Mismatch(path, "type", named, actual)]
    reported = named if isinstance(named[0], TypeAlias) else (wanted.inner,)
    return _compare(wanted.inner, reported, actual, path)


def _data(wanted: Value, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    if wanted.accepts(actual):
        return []
    return _variants((SCALAR_DATA, HashType(STRING, DATA), ArrayType(DATA)), (DATA,), actual, path)


def _variant(wanted: Value, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    if wanted.accepts(actual):
        return []
    types: tuple[Type, ...] = wanted.types
    if named[0] == UNDEF:
        types = (UNDEF, *types)
    return _variants(types, named if isinstance(named[0], TypeAlias) else (), actual, path)


def _variants(types: tuple[Type, ...], reported: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    depth = len(path)
    by_type = [_compare(t, (t,), actual, (*path, f"variant {index}")) for index, t in enumerate(types)]
    if any(not mismatches for mismatches in by_type):
        return []
    merged = _merge(by_type, depth)
    if merged is None:
        return [mismatch for mismatches in by_type for mismatch in mismatches]
    return [merged._replace(expected=reported)] if reported and merged.path == path else [merged]


def _merge(by_type: list[list[Mismatch]], depth: int) -> Mismatch | None:
    """The single mismatch of all alternatives, if they differ only in what was expected."""
    if not by_type or any(len(mismatches) != 1 for mismatches in by_type):
        return None
    firsts = [mismatches[0] for mismatches in by_type]
    paths = {(*first.path[:depth], *first.path[depth + 1 :]) for first in firsts}
    kinds = {first.kind for first in firsts}
    if len(paths) != 1 or not kinds <= {"type", "pattern"}:
        return None
    expected = tuple(dict.fromkeys(t for first in firsts for t in first.expected))
    kind = "pattern" if "pattern" in kinds and isinstance(firsts[0].actual, StringType) else "type"
    return firsts[0]._replace(path=paths.pop(), kind=kind, expected=expected)


def _pattern(wanted: Value, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    return [] if wanted.accepts(actual) else [Mismatch(path, "pattern", named, actual)]


def _sized(wanted: CollectionType, named: tuple[Type, ...], actual: CollectionType, path: Path) -> list[Mismatch]:
    """The mismatch of a collection whose elements are not known individually."""
    if not wanted.size.covers(actual.size):
        return [Mismatch(path, "size", size=(wanted.size, actual.size))]
    return [] if wanted.accepts(actual) else [Mismatch(path, "type", named, actual)]


def _collection(wanted: Value, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    if isinstance(actual, CollectionType):
        return _sized(wanted, named, actual, path)
    return [Mismatch(path, "type", named, actual)]


def _array(wanted: Value, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    if isinstance(actual, ArrayType):
        return _sized(wanted, named, actual, path)
    if not isinstance(actual, TupleType):
        return [Mismatch(path, "type", named, actual)]
    if not wanted.size.covers(actual.size):
        return [Mismatch(path, "size", size=(wanted.size, actual.size))]
    return _compare_elements(lambda index: wanted.element, actual, path)


def _tuple(wanted: Value, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    if isinstance(actual, ArrayType):
        return _sized(wanted, named, actual, path)
    if not isinstance(actual, TupleType):
        return [Mismatch(path, "type", named, actual)]
    if not wanted.size.covers(actual.size):
        return [Mismatch(path, "size", size=(wanted.size, actual.size))]
    return _compare_elements(wanted.at, actual, path)


def _compare_elements(wanted_at: Callable[[int], Type], actual: TupleType, path: Path) -> list[Mismatch]:
    mismatches: list[Mismatch] = []
    for index, element in enumerate(actual.types):
        mismatches += compare_types(wanted_at(index), element, (*path, f"index {index}"))
    return mismatches


def _hash(wanted: Value, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    if isinstance(actual, HashType):
        return _sized(wanted, named, actual, path)
    if not isinstance(actual, StructType):
        return [Mismatch(path, "type", named, actual)]
    if not wanted.size.covers(actual.size):
        return [Mismatch(path, "size", size=(wanted.size, actual.size))]
    mismatches: list[Mismatch] = []
    for member in actual.members:
        mismatches += compare_types(wanted.key_type, member.key_string, (*path, f"key of entry '{member.key}'"))
        mismatches += compare_types(wanted.value_type, member.value, (*path, f"entry '{member.key}'"))
    return mismatches


def _struct(wanted: Value, named: tuple[Type, ...], actual: Type, path: Path) -> list[Mismatch]:
    if isinstance(actual, HashType):
        return _sized(wanted, named, actual, path)
    if not isinstance(actual, StructType):
        return [Mismatch(path, "type", named, actual)]
    actual_members = {member.key: member for member in actual.members}
    mismatches: list[Mismatch] = []
    for member in wanted.members:
        actual_member = actual_members.pop(member.key, None)
        if actual_member is not None:
            mismatches += compare_types(member.value, actual_member.value, (*path, f"entry '{member.key}'"))
        elif not member.is_optional:
            mismatches.append(Mismatch(path, "missing", key=member.key))
    return [*mismatches, *(Mismatch(path, "extra", key=key) for key in actual_members)]


_COMPARISONS: Final[tuple[tuple[type, Callable[[Value, tuple[Type, ...], Type, Path], list[Mismatch]]], ...]] = (
    (TypeAlias, _alias),
    (OptionalType, _optional),
    (NotUndefType, _not_undef),
    (VariantType, _variant),
    (DataType, _data),
    (EnumType, _pattern),
    (PatternType, _pattern),
    (ArrayType, _array),
    (TupleType, _tuple),
    (HashType, _hash),
    (StructType, _struct),
    (CollectionType, _collection),
)
