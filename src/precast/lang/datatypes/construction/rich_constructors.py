"""The constructors of types whose arguments are texts, times and versions: Runtime, Timestamp, Timespan, SemVer, URI."""

from precast.lang.datatypes.base import Type
from precast.lang.datatypes.construction import constructors
from precast.lang.datatypes.construction.constructors import Arguments
from precast.lang.datatypes.rich import RuntimeType, URIType
from precast.lang.datatypes.times_and_versions import SemVerType, TimespanType, TimestampType
from precast.lang.issues import types as issues
from precast.lang.values import base as values
from precast.lang.values.base import DEFAULT, Hash, Regexp, Value
from precast.lang.values.strptime import parse_timespan, parse_timestamp
from precast.lang.values.times import Timespan, Timestamp, from_seconds, timespan_of
from precast.lang.values.uris import PARTS, URI
from precast.lang.values.versions import SemVerRange, join_ranges


def construct_runtime(arguments: Arguments) -> Type:
    if len(arguments) != 2:
        raise constructors.wrong_count("Runtime", "1 to 2 arguments", arguments)
    for argument in arguments:
        if not isinstance(argument, str):
            raise constructors.wrong_argument("Runtime", argument, "String or String")
    return RuntimeType(arguments[0], arguments[1])


def _bound(name: str, argument: Value, kind: type[Timestamp] | type[Timespan]) -> Value:
    if argument is DEFAULT:
        return None
    if isinstance(argument, kind):
        return argument
    if values.is_number(argument):
        return kind(from_seconds(argument))
    if isinstance(argument, str):
        return parse_timestamp(argument) if kind is Timestamp else parse_timespan(argument)
    if isinstance(argument, Hash) and kind is Timespan:
        return timespan_of(argument)
    raise constructors.wrong_argument(name, argument, f"{name} or String or Numeric")


def construct_timestamp(arguments: Arguments) -> Type:
    if not 1 <= len(arguments) <= 2:
        raise constructors.wrong_count("Timestamp", "1 to 2 arguments", arguments)
    low, high = (_bound("Timestamp", argument, Timestamp) for argument in (*arguments, DEFAULT)[:2])
    if low is not None and high is not None and low.ns > high.ns:
        raise issues.BOUNDS_REVERSED.error(low=low, high=high)
    return TimestampType(low, high)


def construct_timespan(arguments: Arguments) -> Type:
    if not 1 <= len(arguments) <= 2:
        raise constructors.wrong_count("Timespan", "1 to 2 arguments", arguments)
    low, high = (_bound("Timespan", argument, Timespan) for argument in (*arguments, DEFAULT)[:2])
    if low is not None and high is not None and low.ns > high.ns:
        raise issues.BOUNDS_REVERSED.error(low=low, high=high)
    return TimespanType(low, high)


def construct_sem_ver(arguments: Arguments) -> Type:
    ranges: list[SemVerRange] = []
    for argument in arguments:
        if isinstance(argument, str):
            ranges.append(SemVerRange.parse(argument))
        elif isinstance(argument, SemVerRange):
            ranges.append(argument)
        else:
            raise constructors.wrong_argument("SemVer", argument, "String or SemVerRange")
    return SemVerType(join_ranges(ranges))


def construct_uri(arguments: Arguments) -> Type:
    if len(arguments) != 1:
        raise constructors.wrong_count("URI", "1 argument", arguments)
    given = arguments[0]
    if isinstance(given, str):
        parsed = URI.parse(given)
        if parsed is None or parsed.scheme is None:
            raise issues.BAD_URI.error(text=given)
        return URIType(parsed.described())
    if isinstance(given, URI):
        return URIType(given.described())
    if not isinstance(given, Hash):
        raise issues.ARGUMENT_NOT_A_TYPE.error(type="URI", got=constructors.type_name_of(given))
    for key, part in given.items():
        is_plain = isinstance(part, int) if key == "port" else isinstance(part, str)
        if key not in PARTS or not (is_plain or isinstance(part, Regexp | Type)):
            raise issues.BAD_URI.error(text=values.to_string(given))
    return URIType(given)
