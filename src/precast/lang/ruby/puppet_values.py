"""Ruby's operations on Puppet values: equality, and numbers from strings. Functions that modules write in Ruby depend on these.

Ruby's `==` is case-sensitive for strings, unlike Puppet's, and 1 equals 1.0. `to_i` and `to_f` read the number at the beginning of a
string; `Integer()` and `Float()` need the whole string to be a number.
"""

import math
import re
from typing import Any, Final

from precast.lang.ruby.stdlib.digits import integer
from precast.lang.values.base import Hash, is_number

_LEADING_INTEGER: Final = re.compile(r"\s*([+-]?\d+(?:_\d+)*)")
_LEADING_FLOAT: Final = re.compile(r"\s*([+-]?\d+(?:_\d+)*(?:\.\d+(?:_\d+)*)?(?:[eE][+-]?\d+(?:_\d+)*)?)")
_INTEGER: Final = re.compile(
    r"\s*([+-]?)(?:0[xX]([0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)|0[bB]([01]+(?:_[01]+)*)|0[dD](\d+(?:_\d+)*)"
    r"|0[oO]?_?([0-7]+(?:_[0-7]+)*)|([1-9]\d*(?:_\d+)*|0))\s*"
)
_BASES: Final = (16, 2, 10, 8, 10)
_FLOAT: Final = re.compile(r"\s*([+-]?\d+(?:_\d+)*(?:\.\d+(?:_\d+)*)?(?:[eE][+-]?\d+(?:_\d+)*)?)\s*")
_HEX_FLOAT: Final = re.compile(r"\s*([+-]?0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]+)?(?:[pP][+-]?\d+)?)\s*")


def ruby_equal(a: Any, b: Any) -> bool:
    """Return Ruby's `a == b`."""
    if is_number(a) and is_number(b):
        return bool(a == b)
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(ruby_equal, a, b))
    if isinstance(a, Hash) and isinstance(b, Hash):
        return len(a) == len(b) and all(b.has(key) and ruby_equal(item, b.lookup(key)) for key, item in a.items())
    return bool(a == b)


def to_i(text: str) -> int:
    """Return Ruby's String#to_i: the integer at the beginning of the string, or 0."""
    match = _LEADING_INTEGER.match(text)
    return integer(match[1].replace("_", "")) if match else 0


def to_f(text: str) -> float:
    """Return Ruby's String#to_f: the number at the beginning of the string, or 0.0."""
    match = _LEADING_FLOAT.match(text)
    return float(match[1].replace("_", "")) if match else 0.0


def strict_integer(value: Any) -> int | None:
    """Return Ruby's Integer(value), None where that would raise."""
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _INTEGER.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    digits, base = next((text, base) for text, base in zip(match.groups()[1:], _BASES, strict=True) if text)
    number = integer(digits.replace("_", ""), base)
    return -number if match[1] == "-" else number


def strict_float(value: Any) -> float | None:
    """Return Ruby's Float(value), None where that would raise."""
    if is_number(value):
        return float(value)
    if not isinstance(value, str):
        return None
    if match := _FLOAT.fullmatch(value):
        return float(match[1].replace("_", ""))
    match = _HEX_FLOAT.fullmatch(value)
    return float.fromhex(match[1]) if match else None


def ruby_class(value: Any) -> str:
    """Return the name of the class that a value has in Ruby, for messages."""
    if isinstance(value, bool):
        return "TrueClass" if value else "FalseClass"
    if value is None:
        return "NilClass"
    for kind, name in ((str, "String"), (int, "Integer"), (float, "Float"), (tuple, "Array"), (Hash, "Hash")):
        if isinstance(value, kind):
            return name
    return type(value).__name__
