"""Makes Integer, Float, Numeric and Boolean from other values."""

import math
import re
from typing import Final

from precast.lang.conversions.arguments import Arguments, not_convertible
from precast.lang.issues import types as issues
from precast.lang.values.base import DEFAULT, Value
from precast.lang.values.times import NS, Timespan, Timestamp

_DECIMAL: Final = r"\d+"
_HEX: Final = r"0[xX][0-9A-Fa-f]+"
_OCTAL: Final = r"0[0-7]+"
_BINARY: Final = r"0[bB][01]+"
_INTEGER: Final = re.compile(rf"\s*([+-]?)\s*({_DECIMAL}|{_HEX}|{_BINARY})")
_NUMERIC: Final = re.compile(
    rf"\s*([+-]?)\s*({_HEX}|{_BINARY}|{_OCTAL}|\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0|[1-9]\d*)"
)
_FLOAT: Final = re.compile(rf"\s*([+-]?)\s*({_HEX}|{_BINARY}|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)")
_MAX_CHARACTERS: Final = 1000  # Python refuses numbers of thousands of digits
_RADIXES: Final = (2, 8, 10, 16)
_PREFIXES: Final = {2: ("0b", "0B"), 8: ("0",), 16: ("0x", "0X"), 10: ()}


def _spread_hash(arguments: Arguments, names: tuple[str, ...]) -> None:
    """Replace a single Hash with `from` by the arguments it names."""
    arguments.spread("from", names)


def new_integer(arguments: Arguments) -> Value:
    _spread_hash(arguments, ("from", "radix", "abs"))
    value = arguments.take("from")
    radix = arguments.take("radix", DEFAULT)
    absolute = arguments.take_boolean("abs")
    arguments.done()
    base = None if radix is DEFAULT else _radix(radix)
    if isinstance(value, str):
        result = _from_digits(value, base)
    else:
        number = _as_number(value, "Integer")
        if not math.isfinite(number):
            raise issues.NOT_CONVERTIBLE.error(what=f"The value {number}", kind="Integer")
        result = int(number)
    return abs(result) if absolute else result


def _radix(value: Value) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value not in _RADIXES:
        raise issues.BAD_RADIX.error(radix=value)
    return value


def _from_digits(text: str, radix: int | None) -> int:
    match = _INTEGER.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    if match is None:
        raise issues.STRING_NOT_CONVERTIBLE.error(text=text, kind="Integer")
    sign, digits = match[1], match[2]
    base = radix or (
        16 if digits[:2] in ("0x", "0X") else 2 if digits[:2] in ("0b", "0B") else 8 if _is_octal(digits) else 10
    )
    for prefix in _PREFIXES[base]:
        if digits.startswith(prefix) and len(digits) > len(prefix):
            digits = digits[len(prefix) :]
            break
    try:
        number = int(digits, base)
    except ValueError:
        raise issues.STRING_NOT_CONVERTIBLE.error(text=text, kind="Integer") from None
    return -number if sign == "-" else number


def _is_octal(digits: str) -> bool:
    return len(digits) > 1 and digits[0] == "0"


def _as_number(value: Value, kind: str) -> float:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, Timestamp | Timespan):
        return value.whole_seconds() if kind == "Integer" else value.ns / NS
    raise not_convertible(value, kind)


def new_float(arguments: Arguments) -> Value:
    _spread_hash(arguments, ("from", "abs"))
    value = arguments.take("from")
    absolute = arguments.take_boolean("abs")
    arguments.done()
    if isinstance(value, str):
        match = _FLOAT.fullmatch(value) if len(value) <= _MAX_CHARACTERS else None
        if match is None:
            raise issues.STRING_NOT_CONVERTIBLE.error(text=value, kind="Float")
        digits = match[2]
        is_based = digits[:2] in ("0x", "0X", "0b", "0B")
        number = float(int(digits, 0)) if is_based else float(digits)
        number = -number if match[1] == "-" else number
    else:
        number = float(_as_number(value, "Float"))
    return abs(number) if absolute else number


def new_numeric(arguments: Arguments) -> Value:
    _spread_hash(arguments, ("from", "abs"))
    value = arguments.take("from")
    absolute = arguments.take_boolean("abs")
    arguments.done()
    number = _numeric_text(value) if isinstance(value, str) else _as_number(value, "Numeric")
    return abs(number) if absolute else number


def _numeric_text(text: str) -> float:
    match = _NUMERIC.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    if match is None:
        raise issues.STRING_NOT_CONVERTIBLE.error(text=text, kind="Numeric")
    digits = match[2]
    if re.fullmatch(_OCTAL, digits):
        number: float = int(digits, 8)
    elif digits[:2] in ("0x", "0X", "0b", "0B"):
        number = int(digits, 0)
    else:
        number = float(digits) if re.search(r"[.eE]", digits) else int(digits)
    return -number if match[1] == "-" else number


_TRUE: Final = ("true", "yes", "y")
_FALSE: Final = ("false", "no", "n")


def new_boolean(arguments: Arguments) -> Value:
    value = arguments.take("from")
    arguments.done()
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value != 0
    if isinstance(value, str):
        word = value.lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise issues.STRING_NOT_CONVERTIBLE.error(text=value, kind="Boolean")
    raise not_convertible(value, "Boolean")
