"""Infers the type of a value: in detail (Tuple, Struct), or reduced to one element type; and the closest common type of two."""

from collections.abc import Callable, Iterable
from typing import Final

from precast.lang.datatypes.base import ANY, DEFAULT_TYPE, UNDEF, UNIT, Size, Type, UnitType
from precast.lang.datatypes.callables import CALLABLE, CallableType, HasCallable
from precast.lang.datatypes.collections import (
    EMPTY_ARRAY,
    EMPTY_HASH,
    ArrayType,
    HashType,
    Member,
    StructType,
    TupleType,
)
from precast.lang.datatypes.composites import SensitiveType, TypeType, VariantType, variant
from precast.lang.datatypes.groups import DATA, RICH_DATA, SCALAR
from precast.lang.datatypes.iterables import IteratorType, provide_inference
from precast.lang.datatypes.references import CLASS, RESOURCE, ClassType, ResourceType
from precast.lang.datatypes.rich import BINARY, URIType
from precast.lang.datatypes.scalars import (
    NUMERIC,
    REGEXP,
    SCALAR_DATA,
    BooleanType,
    EnumType,
    FloatType,
    IntegerType,
    PatternType,
    RegexpType,
    StringType,
)
from precast.lang.datatypes.times_and_versions import SEM_VER, SEM_VER_RANGE, SemVerType, TimespanType, TimestampType
from precast.lang.values import base as values
from precast.lang.values.base import Binary, Default, Hash, Regexp, Sensitive, Value
from precast.lang.values.times import Timespan, Timestamp
from precast.lang.values.uris import URI
from precast.lang.values.versions import SemVer, SemVerRange

Infer = Callable[[Value], Type]


def infer(value: Value) -> Type:
    """The most specific type of a value: a Tuple for an Array, a Struct for a Hash whose keys are names."""
    if isinstance(value, tuple):
        return TupleType(map(infer, value)) if value else EMPTY_ARRAY
    if isinstance(value, Hash):
        return _struct_or_hash(value) if value else EMPTY_HASH
    return _single(value)


def _struct_or_hash(value: Hash) -> Type:
    if all(type(key) is str and key for key in value):
        return StructType(_member(key, infer(item)) for key, item in value.items())
    size = Size(len(value), len(value))
    return HashType(variant(map(infer, value)), variant(map(infer, value.values())), size)


def _member(key: str, item: Type) -> Member:
    return Member(key, item, "NotUndef")


def infer_reduced(value: Value) -> Type:
    """The type of a value with one type for all elements of a collection."""
    if isinstance(value, tuple):
        size = Size(len(value), len(value))
        return ArrayType(reduced(map(infer_reduced, value)), size) if value else EMPTY_ARRAY
    if isinstance(value, Hash):
        if not value:
            return EMPTY_HASH
        keys, items = reduced(map(infer_reduced, value)), reduced(map(infer_reduced, value.values()))
        return HashType(keys, items, Size(len(value), len(value)))
    return SEM_VER if isinstance(value, SemVer) else _single(value)


def infer_generalized(value: Value) -> Type:
    """The type of a value without details of this value, such as sizes and ranges."""
    return infer_reduced(value).generalized()


_SINGLE: Final[dict[type, Infer]] = {
    type(None): lambda value: UNDEF,
    bool: BooleanType,
    int: lambda value: IntegerType(int(value), int(value)),
    float: lambda value: FloatType(float(value), float(value)),
    str: lambda value: StringType(literal=value),
    Default: lambda value: DEFAULT_TYPE,
    Regexp: RegexpType,
    Sensitive: lambda value: SensitiveType(infer_reduced(value.unwrap()).generalized()),
    Binary: lambda value: BINARY,
    Timestamp: lambda value: TimestampType(value, value),
    Timespan: lambda value: TimespanType(value, value),
    SemVer: lambda value: SemVerType((SemVerRange.exactly(value),)),
    SemVerRange: lambda value: SEM_VER_RANGE,
    URI: lambda value: URIType(value.described()),
    values.Object: lambda value: value.type.inferred(value),
    values.Iterator: lambda value: IteratorType(value.element_type),
}


def _single(value: Value) -> Type:
    known = _SINGLE.get(type(value))
    if known is not None:
        return known(value)
    if isinstance(value, Type):
        return TypeType(value)
    for kind, infer_kind in _SINGLE.items():  # keys of a Hash are subclasses
        if isinstance(value, kind):
            return infer_kind(value)
    if isinstance(value, HasCallable):
        return value.type
    return ANY


def reduced(types: Iterable[Type]) -> Type:
    """One type that covers all of these."""
    result: Type | None = None
    for member in types:
        result = member if result is None else common(result, member)
    return UNIT if result is None else result


def common(a: Type, b: Type) -> Type:
    """The closest type that covers both; undef is ignored."""
    if a == UNDEF or isinstance(a, UnitType):
        return b
    if b == UNDEF or isinstance(b, UnitType):
        return a
    if a.accepts(b):
        return a
    if b.accepts(a):
        return b
    for kinds, join in _JOINS:
        if isinstance(a, kinds) and isinstance(b, kinds):
            joined = join(a, b)
            if joined is not None:
                return joined
    for group in (NUMERIC, SCALAR_DATA, SCALAR, DATA, RICH_DATA):
        if group.accepts(a) and group.accepts(b):
            return group
    return ANY


def _join_strings(a: Value, b: Value) -> Type | None:
    if isinstance(a, StringType) and isinstance(b, StringType):
        if a.literal is not None and b.literal is not None:
            return EnumType((a.literal, b.literal))
        return StringType(a.size.joined(b.size))
    words: list[str] = []
    for string_type in (a, b):
        if isinstance(string_type, EnumType):
            words.extend(string_type.values)
        elif string_type.literal is not None:
            words.append(string_type.literal)
        else:
            return None
    return EnumType(words)


def _join_range(a: Value, b: Value) -> Type:
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    high = None if a.high is None or b.high is None else max(a.high, b.high)
    return IntegerType(low, high) if isinstance(a, IntegerType) else FloatType(low, high)


def _join_resources(a: Value, b: Value) -> Type:
    return ResourceType(a.type_name) if a.type_name == b.type_name else RESOURCE


_JOINS: Final[list[tuple[type | tuple[type, ...], Callable[[Value, Value], Type | None]]]] = [
    (ArrayType, lambda a, b: ArrayType(common(a.element, b.element))),
    (HashType, lambda a, b: HashType(common(a.key_type, b.key_type), common(a.value_type, b.value_type))),
    (ClassType, lambda a, b: CLASS),
    (ResourceType, _join_resources),
    (IntegerType, _join_range),
    (FloatType, _join_range),
    ((StringType, EnumType), _join_strings),
    (PatternType, lambda a, b: PatternType((*a.patterns, *b.patterns))),
    (RegexpType, lambda a, b: REGEXP),
    (VariantType, lambda a, b: variant((a, b))),
    (CallableType, lambda a, b: CALLABLE),
    (SemVerType, lambda a, b: SEM_VER),
    (TypeType, lambda a, b: TypeType(common(a.inner or ANY, b.inner or ANY))),
]


provide_inference(infer_reduced)
