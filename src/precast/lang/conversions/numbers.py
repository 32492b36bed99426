"""Integer, Float, Numeric and Boolean from other values."""

import math
import re
from typing import Final

from precast.lang.conversions.arguments import Arguments, not_convertible
from precast.lang.issues import types as issues
from precast.lang.values.core import DEFAULT, Value
from precast.lang.values.moments import NS, Timespan, Timestamp

_DECIMAL: Final = r"\d+"
_HEX: Final = r"0[xX][0-9A-Fa-f]+"
_OCTAL: Final = r"0[0-7]+"
_BINARY: Final = r"0[bB][01]+"
_INTEGER: Final = re.compile(rf"\s*([+-]?)\s*({_DECIMAL}|{_HEX}|{_BINARY})")
_NUMERIC: Final = re.compile(
    rf"\s*([+-]?)\s*({_HEX}|{_BINARY}|{_OCTAL}|\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0|[1-9]\d*)"
)
_FLOAT: Final = re.compile(rf"\s*([+-]?)\s*({_HEX}|{_BINARY}|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)")
_MOST_CHARACTERS: Final = 1000  # Python refuses numbers of thousands of digits
_RADIXES: Final = (2, 8, 10, 16)
_PREFIXES: Final = {2: ("0b", "0B"), 8: ("0",), 16: ("0x", "0X"), 10: ()}


def _named(arguments: Arguments, names: tuple[str, ...]) -> None:
    """One Hash with `from` stands for the arguments by name."""
    arguments.spread("from", names)


def new_integer(arguments: Arguments) -> Value:
    _named(arguments, ("from", "radix", "abs"))
    value = arguments.take("from")
    radix = arguments.take("radix", DEFAULT)
    absolute = arguments.take_boolean("abs")
    arguments.done()
    base = None if radix is DEFAULT else _radix(radix)
    if isinstance(value, str):
        made = _from_digits(value, base)
    else:
        number = _as_number(value, "Integer")
        if not math.isfinite(number):
            raise issues.NOT_CONVERTIBLE.error(what=f"The value {number}", kind="Integer")
        made = int(number)
    return abs(made) if absolute else made


def _radix(value: Value) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value not in _RADIXES:
        raise issues.BAD_RADIX.error(radix=value)
    return value


def _from_digits(text: str, radix: int | None) -> int:
    found = _INTEGER.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if found is None:
        raise issues.STRING_NOT_CONVERTIBLE.error(text=text, kind="Integer")
    sign, digits = found[1], found[2]
    base = radix or (
        16 if digits[:2] in ("0x", "0X") else 2 if digits[:2] in ("0b", "0B") else 8 if _is_octal(digits) else 10
    )
    for prefix in _PREFIXES[base]:
        if digits.startswith(prefix) and len(digits) > len(prefix):
            digits = digits[len(prefix) :]
            break
    try:
        made = int(digits, base)
    except ValueError:
        raise issues.STRING_NOT_CONVERTIBLE.error(text=text, kind="Integer") from None
    return -made if sign == "-" else made


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
    _named(arguments, ("from", "abs"))
    value = arguments.take("from")
    absolute = arguments.take_boolean("abs")
    arguments.done()
    if isinstance(value, str):
        found = _FLOAT.fullmatch(value) if len(value) <= _MOST_CHARACTERS else None
        if found is None:
            raise issues.STRING_NOT_CONVERTIBLE.error(text=value, kind="Float")
        digits = found[2]
        is_based = digits[:2] in ("0x", "0X", "0b", "0B")
        made = float(int(digits, 0)) if is_based else float(digits)
        made = -made if found[1] == "-" else made
    else:
        made = float(_as_number(value, "Float"))
    return abs(made) if absolute else made


def new_numeric(arguments: Arguments) -> Value:
    _named(arguments, ("from", "abs"))
    value = arguments.take("from")
    absolute = arguments.take_boolean("abs")
    arguments.done()
    made = _numeric_text(value) if isinstance(value, str) else _as_number(value, "Numeric")
    return abs(made) if absolute else made


def _numeric_text(text: str) -> float:
    found = _NUMERIC.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if found is None:
        raise issues.STRING_NOT_CONVERTIBLE.error(text=text, kind="Numeric")
    digits = found[2]
    if re.fullmatch(_OCTAL, digits):
        made: float = int(digits, 8)
    elif digits[:2] in ("0x", "0X", "0b", "0B"):
        made = int(digits, 0)
    else:
        made = float(digits) if re.search(r"[.eE]", digits) else int(digits)
    return -made if found[1] == "-" else made


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
