"""Functions on numbers: bounds, bases, sizes with units, ranges, and elements by their indices."""

import re
from typing import Any, Final

from precast.lang.functions.collections import flatten
from precast.lang.functions.modules.declaration import argument_error, declare_legacy
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import to_f, to_i
from precast.lang.ruby.stdlib.successors import upto
from precast.lang.values.base import Hash, is_number

_DIGITS: Final = re.compile(r"^\d+$", re.MULTILINE | re.ASCII)
_MAX_LENGTH: Final = 1_000_000


@declare_legacy(
    "clamp", "Any +values", "Returns the middle one of three numbers: the value, or the bound that it exceeds."
)
def _clamp(*values: Any) -> int:
    given = flatten(*values)
    if len(given) != 3:
        raise argument_error("clamp", "Wrong number of arguments, need three to clamp")
    for value in given:
        if isinstance(value, Hash | bool) or (isinstance(value, str) and not _DIGITS.search(value)):
            raise argument_error("clamp", f"Required explicit numeric ({ruby_text(value)})")
    return sorted(map(_whole, given))[1]


def _whole(value: Any) -> int:
    return int(value) if is_number(value) else to_i(ruby_text(value))


_BASE_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


@declare_legacy("convert_base", "Any number, Any base", "Writes an integer in another base, from 2 to 36.")
def _convert_base(number: Any, base: Any) -> str:
    for value in (number, base):
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if not is_integer and not (isinstance(value, str) and _DIGITS.search(value)):
            raise argument_error("convert_base", "expects integers, or texts with an integer in base 10")
    whole, radix = _whole(number), _whole(base)
    if not 2 <= radix <= 36:
        raise argument_error("convert_base", "base must be at least 2 and must not be greater than 36")
    digits, rest = "", abs(whole)
    while rest:
        rest, digit = divmod(rest, radix)
        digits = _BASE_DIGITS[digit] + digits
    return f"{'-' if whole < 0 else ''}{digits or '0'}"


_SIZE: Final = re.compile(r"([0-9.e+-]*)\s*([^bB]?)", re.DOTALL)
UNITS: Final = {"": 0, "k": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}


@declare_legacy(
    "to_bytes", "Any size", "Converts a text such as 4 kB or 1.5 GB to a number of bytes; a number stays as it is."
)
def _to_bytes(size: Any) -> Any:
    if is_number(size):
        return size
    match = _SIZE.search(size) if isinstance(size, str) else None
    if match is None or match[2] not in UNITS:
        raise argument_error("to_bytes", f"Unknown prefix in {ruby_text(size)}")
    return int(to_f(match[1]) * (1 << UNITS[match[2]]))


_RANGE: Final = re.compile(r"^(\w+)(\.\.\.?|-)(\w+)$", re.MULTILINE)


@declare_legacy(
    "range",
    "Any first, Any last?, Any step?, Any *rest",
    "Returns the numbers or texts from a first to a last one: range(1, 9, 2), range('a', 'c') or range('web01..web09').",
)
def _range(first: Any, last: Any = None, step: Any = None, *rest: Any) -> tuple[Any, ...]:
    is_exclusive = False
    if last is None:
        match = _RANGE.search(first) if isinstance(first, str) else None
        if match is None:
            raise argument_error("range", f"Unable to compute range from the value: {ruby_text(first)}")
        first, sign, last = match.groups()
        is_exclusive = sign == "..."
    stride = 1 if step is None else abs(_whole(step))
    if stride == 0:
        raise argument_error("range", "3rd arg (step size) must be a non zero integer (e.g. 1 or -1)")
    if _DIGITS.search(ruby_text(first)):
        numbers = range(_whole(first), _whole(last) + (not is_exclusive), stride)
        return tuple(numbers[:_MAX_LENGTH])
    texts = upto(ruby_text(first), ruby_text(last), _MAX_LENGTH * stride)
    if is_exclusive and texts and texts[-1] == ruby_text(last):
        texts.pop()
    return tuple(texts[::stride])


_INDICES: Final = re.compile(r"(\d+)(\.\.\.?|-)(\d+)", re.ASCII)


@declare_legacy(
    "values_at",
    "Array list, Any indices, Any *rest",
    "Returns the elements of an array at indices, or at ranges such as '0-2', '0..2' and '0...2', without undef.",
)
def _values_at(items: tuple[Any, ...], indices: Any, *rest: Any) -> tuple[Any, ...]:
    positions = [at for index in flatten(indices) for at in _positions(ruby_text(index), len(items))]
    if not flatten(indices):
        raise argument_error("values_at", "You must provide at least one positive index to collect")
    return tuple(items[at] for at in positions if items[at] is not None)


def _positions(text: str, count: int) -> range:
    match = _INDICES.fullmatch(text)
    if match is None and not (text.isascii() and text.isdigit()):
        raise argument_error("values_at", f"Unknown format of given index: {text}")
    first, last = (to_i(match[1]), to_i(match[3])) if match else (to_i(text), to_i(text))
    if first > last:
        raise argument_error("values_at", "Stop index in given indices range is smaller than the start index")
    if last > count - 1:
        raise argument_error("values_at", "Given index exceeds array size")
    return range(first, last + (match is None or match[2] != "..."))
