"""Finds the conversion of a type, and checks that its result fits the type's parameters."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from precast.base.errors import PrecastError
from precast.lang.conversions import numbers, rich_values
from precast.lang.conversions.arguments import Arguments
from precast.lang.conversions.collections import new_array, new_hash
from precast.lang.conversions.formatting import format_value
from precast.lang.datatypes import init_types, mismatch
from precast.lang.datatypes.base import Type
from precast.lang.datatypes.collections import ArrayType, HashType, StructType, TupleType
from precast.lang.datatypes.composites import NotUndefType, OptionalType, SensitiveType, TypeType
from precast.lang.datatypes.construction.notation import parse_type
from precast.lang.datatypes.init_types import InitType
from precast.lang.datatypes.objects import ObjectType
from precast.lang.datatypes.references import TypeAlias
from precast.lang.datatypes.rich import BinaryType, URIType
from precast.lang.datatypes.scalars import BooleanType, FloatType, IntegerType, NumericType, RegexpType, StringType
from precast.lang.datatypes.times_and_versions import SemVerRangeType, SemVerType, TimespanType, TimestampType
from precast.lang.issues import types as issues
from precast.lang.values.base import DEFAULT, Hash, Value
from precast.lang.values.times import Timestamp


class CreationHost(Protocol):
    """The services of a compile that a conversion needs."""

    def now(self) -> Timestamp: ...

    def parse_type(self, scope: Any, text: str) -> Type: ...


class Caller(Protocol):
    """The call that a conversion is made for."""

    @property
    def host(self) -> CreationHost: ...

    @property
    def scope(self) -> Any: ...


def create(wanted: Type, given: tuple[Value, ...], call: Caller | None = None) -> Value:
    """Make a value of the type. Raises LANG-28x if there is no conversion, and LANG-282 if the result does not fit."""
    value = _convert(wanted, given, call)
    if not isinstance(wanted, InitType) and not wanted.check(value):
        subject = f"Converted value from {wanted.text}.new() has wrong type,"
        raise issues.CONVERTED_WRONG.error(reason=mismatch.describe(subject, wanted, value))
    return value


def _convert(wanted: Type, given: tuple[Value, ...], call: Caller | None) -> Value:
    if len(given) == 1 and not isinstance(wanted, InitType) and wanted.check(given[0]):
        return given[0]
    if isinstance(wanted, TypeAlias):
        return _convert(wanted.resolved(), given, call)
    if isinstance(wanted, OptionalType | NotUndefType) and wanted.inner is not None:
        return create(wanted.inner, given, call)
    if isinstance(wanted, InitType) and wanted.inner is not None:
        return _from_init(wanted.inner, wanted.further, given, call)
    if isinstance(wanted, ObjectType) and not wanted.is_default:
        return _object(wanted, given)
    if isinstance(wanted, TypeType):
        return _type(given, call)
    arguments = Arguments(wanted.name, given)
    if isinstance(wanted, TimestampType):
        return rich_values.new_timestamp(arguments, lambda: _now(call))
    make = _CONVERSIONS.get(type(wanted))
    if make is not None:
        return make(arguments)
    raise issues.NO_NEW.error(type=str(wanted))


def _now(call: Caller | None) -> Timestamp:
    if call is None:
        raise issues.WRONG_NEW_ARGUMENTS.error(kind="Timestamp", reason="expects an argument")
    return call.host.now()


def _type(given: tuple[Value, ...], call: Caller | None) -> Value:
    arguments = Arguments("Type", given)
    value = arguments.take("type_string")
    arguments.done()
    if isinstance(value, Type):
        return value
    if not isinstance(value, str):
        raise arguments.wrong("parameter 'type_string' expects a String value")
    return parse_type(value) if call is None else call.host.parse_type(call.scope, value)


def _from_init(inner: Type, further: tuple[Value, ...], given: tuple[Value, ...], call: Caller | None) -> Value:
    """Init[T, …]: T.new with the value and Init's further arguments; an Array may contain all arguments, if T.new accepts them."""
    if len(given) != 1:
        raise Arguments("Init", given).wrong(f"expects 1 argument, got {len(given) or 'none'}")
    check_new(inner)
    value = given[0]
    if not further and inner.check(value):
        return value
    if isinstance(value, tuple) and not further and value:
        try:
            return create(inner, value, call)
        except PrecastError as error:
            if not any(issue.matches(error) for issue in _NOT_ACCEPTED):
                raise
    return create(inner, (value, *further), call)


# Errors of a `new` that does not accept such arguments at all, as opposed to one that fails on their values.
_NOT_ACCEPTED: Final = (issues.WRONG_NEW_ARGUMENTS, issues.NOT_CONVERTIBLE, issues.STRING_NOT_CONVERTIBLE)


def _object(wanted: ObjectType, given: tuple[Value, ...]) -> Value:
    accepted = wanted.given_attributes()
    if len(given) == 1 and isinstance(given[0], Hash) and wanted.initial_struct().check(given[0]):
        return wanted.make(dict(given[0]))
    arguments = Arguments(wanted.simple_name, given)
    values: dict[str, Value] = {}
    for attribute in accepted:
        if arguments.at < len(given) or not attribute.is_optional:
            values[attribute.name] = arguments.take_typed(attribute.name, attribute.type)
    arguments.done()
    return wanted.make(values)


def new_string(arguments: Arguments) -> Value:
    value = arguments.take("from")
    formats = arguments.take("string_formats", DEFAULT)
    arguments.done()
    return format_value(value, formats)


_CONVERSIONS: Final[dict[type[Type], Callable[[Arguments], Value]]] = {
    IntegerType: numbers.new_integer,
    FloatType: numbers.new_float,
    NumericType: numbers.new_numeric,
    BooleanType: numbers.new_boolean,
    StringType: new_string,
    ArrayType: new_array,
    TupleType: new_array,
    HashType: new_hash,
    StructType: new_hash,
    TimespanType: rich_values.new_timespan,
    SemVerType: rich_values.new_sem_ver,
    SemVerRangeType: rich_values.new_sem_ver_range,
    BinaryType: rich_values.new_binary,
    URIType: rich_values.new_uri,
    RegexpType: rich_values.new_regexp,
    SensitiveType: rich_values.new_sensitive,
}


def check_new(wanted: Type) -> None:
    """Raises LANG-287 if the type has no `new`."""
    inner = wanted.resolved()
    has_new = type(inner) in _CONVERSIONS or isinstance(inner, TypeType | TimestampType)
    if not has_new and not (isinstance(inner, ObjectType) and not inner.is_default):
        raise issues.NO_NEW.error(type=str(wanted))


class _Conversions:
    def can_create(self, wanted: Type, given: tuple[Value, ...], /) -> bool:
        try:
            create(wanted, given)
        except PrecastError:
            return False
        return True

    def check_new(self, wanted: Type, /) -> None:
        check_new(wanted)


init_types.provide(_Conversions())
