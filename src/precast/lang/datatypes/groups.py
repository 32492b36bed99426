"""Scalar, Data and RichData, Puppet's named groups of types. They are recursive, so each has its own check without aliases."""

from typing import Final

from precast.lang.datatypes.base import Check, DefaultType, Seen, Type, UndefType
from precast.lang.datatypes.collections import ArrayType, HashType, StructType, TupleType
from precast.lang.datatypes.composites import SensitiveType, TypeType, variant
from precast.lang.datatypes.rich import BinaryType, ObjectLike, URIType
from precast.lang.datatypes.scalars import NUMERIC, SCALAR_DATA, STRING, RegexpType
from precast.lang.datatypes.times_and_versions import SemVerRangeType, SemVerType, TimespanType, TimestampType
from precast.lang.values import base as values
from precast.lang.values.base import Hash, Regexp, Rich, Unknown, Value
from precast.lang.values.times import Timespan, Timestamp
from precast.lang.values.versions import SemVer, SemVerRange

_NUMBERS: Final = (int, float)
_SCALARS: Final = (int, float, Regexp, Timestamp, Timespan, SemVer, SemVerRange)


class ScalarType(Type):
    """Values that contain no others."""

    name = "Scalar"

    def build_check(self) -> Check:
        return lambda value: type(value) is str or isinstance(value, _SCALARS)

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return SCALAR_DATA._accepts(other, seen) or isinstance(
            other, ScalarType | RegexpType | TimestampType | TimespanType | SemVerType | SemVerRangeType
        )


class DataType(Type):
    """Values that JSON can represent."""

    name = "Data"

    def build_check(self) -> Check:
        return is_data

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if isinstance(other, DataType | UndefType):
            return True
        if isinstance(other, HashType):
            return other.size.high == 0 or (
                STRING.accepts(other.key_type, seen) and self.accepts(other.value_type, seen)
            )
        return _contains_only(self, other, seen) or SCALAR_DATA._accepts(other, seen)


def is_data(value: Value) -> bool:
    """Whether a value is Data; an unknown value counts as Data."""
    if value is None or type(value) is str or isinstance(value, _NUMBERS):
        return True
    if isinstance(value, tuple):
        return all(map(is_data, value))
    if isinstance(value, Hash):
        return all(type(key) is str for key in value) and all(map(is_data, value.values()))
    return isinstance(value, Unknown)


def _contains_only(group: Type, other: Type, seen: Seen) -> bool:
    if isinstance(other, ArrayType):
        return other.size.high == 0 or group.accepts(other.element, seen)
    if isinstance(other, TupleType):
        return bool(other.types) and all(group.accepts(t, seen) for t in other.types)
    return isinstance(other, StructType) and all(group.accepts(member.value, seen) for member in other.members)


class RichDataType(Type):
    """Data and every kind of Rich value except iterators and functions."""

    name = "RichData"

    def build_check(self) -> Check:
        return _is_rich_data

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if isinstance(other, HashType):
            return other.size.high == 0 or (
                RICH_DATA_KEY.accepts(other.key_type, seen) and self.accepts(other.value_type, seen)
            )
        if isinstance(other, RichDataType | DataType | UndefType | DefaultType | TypeType | SensitiveType | BinaryType):
            return True
        return (
            isinstance(other, URIType | ObjectLike) or _contains_only(self, other, seen) or SCALAR._accepts(other, seen)
        )


def _is_rich_data(value: Value) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_rich_data, value))
    if isinstance(value, Hash):
        return all(map(RICH_DATA_KEY.check, value)) and all(map(_is_rich_data, value.values()))
    if isinstance(value, Rich):
        return not isinstance(value, values.Iterator)
    return value is None or isinstance(value, str | int | float)


SCALAR: Final = ScalarType()
DATA: Final = DataType()
RICH_DATA: Final = RichDataType()
RICH_DATA_KEY: Final = variant((STRING, NUMERIC))
