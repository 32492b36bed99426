"""Makes times, versions, bytes, URIs, regular expressions and Sensitive from other values."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any, Final

from precast.lang.conversions.arguments import Arguments
from precast.lang.datatypes.construction.notation import parse_type
from precast.lang.issues import types as issues
from precast.lang.values.base import DEFAULT, Binary, Hash, Regexp, Sensitive, Value, is_number
from precast.lang.values.regexps import compile_regexp
from precast.lang.values.strptime import TIMESPAN_FORMATS, TIMESTAMP_FORMATS, parse_timespan, parse_timestamp
from precast.lang.values.times import Timespan, Timestamp, from_seconds, timespan_of
from precast.lang.values.uris import PARTS, URI
from precast.lang.values.versions import SemVer, SemVerRange, bounded_range

FORMATS: Final = parse_type("Variant[String[2], Array[String[2], 1]]")
NAME: Final = parse_type("String[1]")
INTEGER: Final = parse_type("Integer")
COUNT: Final = parse_type("Integer[0]")
STRING: Final = parse_type("String")
_SPAN_HASH: Final = parse_type(
    "Struct[{Optional[negative] => Boolean, Optional[days] => Integer, Optional[hours] => Integer, Optional[minutes] => Integer,"
    "Optional[seconds] => Integer, Optional[milliseconds] => Integer, Optional[microseconds] => Integer,"
    "Optional[nanoseconds] => Integer}]"
)
_SPAN_UNITS: Final = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds")


def _as_list(formats: Value, default: tuple[str, ...]) -> tuple[str, ...]:
    return default if formats is None else (formats,) if isinstance(formats, str) else formats


def new_timestamp(arguments: Arguments, now: Callable[[], Timestamp]) -> Value:
    if not arguments.given:
        return now()
    arguments.spread("string", ("string", "format", "timezone"))
    value = arguments.take("seconds")
    if isinstance(value, Timestamp) or is_number(value):
        arguments.done()
        return value if isinstance(value, Timestamp) else Timestamp(from_seconds(value))
    if not isinstance(value, str) or not value:
        raise arguments.wrong("expects an Integer, a Float or a String")
    formats = arguments.take_typed("format", FORMATS, None)
    zone = arguments.take_typed("timezone", NAME, None)
    arguments.done()
    return parse_timestamp(value, _as_list(formats, TIMESTAMP_FORMATS), zone)


def new_timespan(arguments: Arguments) -> Value:
    arguments.spread("string", ("string", "format"))
    if len(arguments.given) >= 4:
        parts = {name: arguments.take_typed(name, INTEGER, 0) for name in _SPAN_UNITS}
        arguments.done()
        return timespan_of(parts)
    value = arguments.take("seconds")
    if isinstance(value, str) and value:
        formats = arguments.take_typed("format", FORMATS, None)
        arguments.done()
        return parse_timespan(value, _as_list(formats, TIMESPAN_FORMATS))
    arguments.done()
    if isinstance(value, Timespan) or is_number(value):
        return value if isinstance(value, Timespan) else Timespan(from_seconds(value))
    if isinstance(value, Hash) and _SPAN_HASH.check(value):
        return timespan_of(value)
    raise arguments.wrong("expects seconds, a String, counts of units, or a Hash of them")


_QUALIFIER: Final = re.compile(r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*")


def new_sem_ver(arguments: Arguments) -> Value:
    arguments.spread("major", ("major", "minor", "patch", "prerelease", "build"))
    if len(arguments.given) == 1:
        return _sem_ver_from(arguments.take("str"), arguments)
    numbers = [arguments.take_typed(name, COUNT) for name in ("major", "minor", "patch")]
    qualifiers = [arguments.take_typed(name, STRING, None) for name in ("prerelease", "build")]
    arguments.done()
    for text in qualifiers:
        if text is not None and not _QUALIFIER.fullmatch(text):
            raise arguments.wrong(f"expects letters, digits and hyphens between dots, got '{text}'")
    return SemVer(numbers[0], numbers[1], numbers[2], qualifiers[0], qualifiers[1])


def _sem_ver_from(value: Value, arguments: Arguments) -> SemVer:
    if isinstance(value, SemVer):
        return value
    if not isinstance(value, str):
        raise arguments.wrong("expects a String, numbers, or a Hash with them")
    version = SemVer.parse(value)
    if version is None:
        raise issues.STRING_NOT_CONVERTIBLE.error(text=value, kind="SemVer")
    return version


def new_sem_ver_range(arguments: Arguments) -> Value:
    by_name = len(arguments.given) == 1 and isinstance(arguments.given[0], Hash)
    arguments.spread("min", ("min", "max", "exclude_max"))
    if len(arguments.given) == 1 and isinstance(arguments.given[0], str | SemVerRange):
        value = arguments.given[0]
        if value == "":
            raise arguments.wrong("expects a String[1] value, got String")
        return value if isinstance(value, SemVerRange) else SemVerRange.parse(value)
    low = _bound(arguments, "min")
    high = _bound(arguments, "max", DEFAULT if by_name else None)
    excluded = arguments.take_boolean("exclude_max")
    arguments.done()
    return bounded_range(low, high, excluded)


def _bound(arguments: Arguments, name: str, default: Value = None) -> SemVer | None:
    value = arguments.take(name) if default is None else arguments.take(name, default)
    if isinstance(value, SemVer):
        return value
    if value is not DEFAULT:
        raise arguments.wrong(f"parameter '{name}' expects a value of type Default or SemVer")
    return None


def new_binary(arguments: Arguments) -> Value:
    arguments.spread("value", ("value", "format"))
    value = arguments.take("str")
    form = arguments.take("format", None)
    arguments.done()
    if isinstance(value, tuple) and form is None:
        if not all(isinstance(byte, int) and not isinstance(byte, bool) and 0 <= byte <= 255 for byte in value):
            raise arguments.wrong("parameter 'byte_array' expects Integers from 0 to 255")
        return Binary(bytes(value))
    if isinstance(value, Binary) and form is None:
        return value
    if not isinstance(value, str):
        raise arguments.wrong("expects a String or an Array of bytes")
    decode = _DECODERS.get(form or "%B") if form is None or isinstance(form, str) else None
    if decode is None:
        raise arguments.wrong(
            f"parameter 'format' expects a match for Enum['%B', '%b', '%r', '%s', '%u'], got '{form}'"
        )
    try:
        return Binary(decode(value))
    except (binascii.Error, ValueError):
        raise issues.BAD_BASE64.error() from None


def _url_safe(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _relaxed(text: str) -> bytes:
    digits = re.sub(r"[^A-Za-z0-9+/]", "", text)
    return base64.b64decode(digits[: len(digits) - (len(digits) % 4 == 1)] + "=" * (-len(digits) % 4))


_DECODERS: Final[dict[str, Callable[[str], bytes]]] = {
    "%B": lambda text: base64.b64decode(text, validate=True),
    "%b": _relaxed,
    "%u": _url_safe,
    "%s": str.encode,
    "%r": str.encode,
}
_URI_TYPES: Final = {name: parse_type("Integer[0]") if name == "port" else NAME for name in PARTS}


def new_uri(arguments: Arguments) -> Value:
    value = arguments.take("uri")
    arguments.done()
    if isinstance(value, URI):
        return value
    if isinstance(value, str) and value:
        uri = URI.parse(value)
        if uri is None:
            raise issues.BAD_URI.error(text=value)
        return uri
    if isinstance(value, Hash) and all(
        key in _URI_TYPES and _URI_TYPES[key].check(part) for key, part in value.items()
    ):
        parts: dict[str, Any] = dict(value)
        return URI(**parts)
    raise arguments.wrong("expects a String or a Hash with the parts of a URI")


def new_regexp(arguments: Arguments) -> Value:
    value = arguments.take("pattern")
    escape = arguments.take_boolean("escape")
    arguments.done()
    if isinstance(value, Regexp):
        return value
    if not isinstance(value, str):
        raise arguments.wrong("parameter 'pattern' expects a String value")
    pattern = _ruby_escape(value) if escape else value
    compile_regexp(pattern)
    return Regexp(pattern)


def _ruby_escape(text: str) -> str:
    return re.sub(r"[\[\]{}()|\-*.\\?+^$#\s]", lambda char: _BLANKS.get(char[0], f"\\{char[0]}"), text)


_BLANKS: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f", "\v": "\\v"}


def new_sensitive(arguments: Arguments) -> Value:
    value = arguments.take("value")
    arguments.done()
    return value if isinstance(value, Sensitive) else Sensitive(value)
