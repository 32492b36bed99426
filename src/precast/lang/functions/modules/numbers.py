"""Numbers: within bounds, in other bases, of sizes with units; ranges and elements by their indices."""

import re
from typing import Any, Final

from precast.lang.functions.collections import flatten
from precast.lang.functions.modules.declaration import declare_older, wrong
from precast.lang.ruby.successors import upto
from precast.lang.ruby.text import ruby_text
from precast.lang.ruby.values import to_f, to_i
from precast.lang.values.core import Hash, is_number

_DIGITS: Final = re.compile(r"^\d+$", re.MULTILINE | re.ASCII)
_LONGEST: Final = 1_000_000


@declare_older("clamp", "Any +values", "The middle one of three numbers: the value, or the bound that it passes.")
def _clamp(*values: Any) -> int:
    given = flatten(*values)
    if len(given) != 3:
        raise wrong("clamp", "Wrong number of arguments, need three to clamp")
    for value in given:
        if isinstance(value, Hash | bool) or (isinstance(value, str) and not _DIGITS.search(value)):
            raise wrong("clamp", f"Required explicit numeric ({ruby_text(value)})")
    return sorted(map(_whole, given))[1]


def _whole(value: Any) -> int:
    return int(value) if is_number(value) else to_i(ruby_text(value))


_IN_BASE: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


@declare_older("convert_base", "Any number, Any base", "An integer written in another base, from 2 to 36.")
def _convert_base(number: Any, base: Any) -> str:
    for value in (number, base):
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if not is_integer and not (isinstance(value, str) and _DIGITS.search(value)):
            raise wrong("convert_base", "takes integers, or texts that write one in base 10")
    whole, radix = _whole(number), _whole(base)
    if not 2 <= radix <= 36:
        raise wrong("convert_base", "base must be at least 2 and must not be greater than 36")
    digits, rest = "", abs(whole)
    while rest:
        rest, digit = divmod(rest, radix)
        digits = _IN_BASE[digit] + digits
    return f"{'-' if whole < 0 else ''}{digits or '0'}"


_SIZE: Final = re.compile(r"([0-9.e+-]*)\s*([^bB]?)", re.DOTALL)
UNITS: Final = {"": 0, "k": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}


@declare_older("to_bytes", "Any size", "A number of bytes from a text as 4 kB or 1.5 GB; a number stays as it is.")
def _to_bytes(size: Any) -> Any:
    if is_number(size):
        return size
    found = _SIZE.search(size) if isinstance(size, str) else None
    if found is None or found[2] not in UNITS:
        raise wrong("to_bytes", f"Unknown prefix in {ruby_text(size)}")
    return int(to_f(found[1]) * (1 << UNITS[found[2]]))


_RANGE: Final = re.compile(r"^(\w+)(\.\.\.?|-)(\w+)$", re.MULTILINE)


@declare_older(
    "range",
    "Any first, Any last?, Any step?, Any *rest",
    "Numbers or texts from a first to a last one, as range(1, 9, 2), range('a', 'c') or range('web01..web09').",
)
def _range(first: Any, last: Any = None, step: Any = None, *rest: Any) -> tuple[Any, ...]:
    is_open = False
    if last is None:
        found = _RANGE.search(first) if isinstance(first, str) else None
        if found is None:
            raise wrong("range", f"Unable to compute range from the value: {ruby_text(first)}")
        first, sign, last = found.groups()
        is_open = sign == "..."
    stride = 1 if step is None else abs(_whole(step))
    if stride == 0:
        raise wrong("range", "3rd arg (step size) must be a non zero integer (e.g. 1 or -1)")
    if _DIGITS.search(ruby_text(first)):
        numbers = range(_whole(first), _whole(last) + (not is_open), stride)
        return tuple(numbers[:_LONGEST])
    texts = upto(ruby_text(first), ruby_text(last), _LONGEST * stride)
    if is_open and texts and texts[-1] == ruby_text(last):
        texts.pop()
    return tuple(texts[::stride])


_INDICES: Final = re.compile(r"(\d+)(\.\.\.?|-)(\d+)", re.ASCII)


@declare_older(
    "values_at",
    "Array list, Any indices, Any *rest",
    "The elements of an array at indices, or ranges of them as '0-2', '0..2' and '0...2'; undef is left out.",
)
def _values_at(items: tuple[Any, ...], indices: Any, *rest: Any) -> tuple[Any, ...]:
    wanted = [at for each in flatten(indices) for at in _places(ruby_text(each), len(items))]
    if not flatten(indices):
        raise wrong("values_at", "You must provide at least one positive index to collect")
    return tuple(items[at] for at in wanted if items[at] is not None)


def _places(text: str, count: int) -> range:
    found = _INDICES.fullmatch(text)
    if found is None and not (text.isascii() and text.isdigit()):
        raise wrong("values_at", f"Unknown format of given index: {text}")
    first, last = (to_i(found[1]), to_i(found[3])) if found else (to_i(text), to_i(text))
    if first > last:
        raise wrong("values_at", "Stop index in given indices range is smaller than the start index")
    if last > count - 1:
        raise wrong("values_at", "Given index exceeds array size")
    return range(first, last + (found is None or found[2] != "..."))
