"""Functions on arrays and hashes as a whole: their size, keys, values, order, and the way to a value inside."""

from collections.abc import Sequence
from typing import Any

from precast.lang.functions import issues
from precast.lang.functions.host import Call
from precast.lang.functions.numbers import order_said, sorted_by
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.functions.sequences import sequence
from precast.lang.values.core import Binary, Hash, Ordered, Sensitive, is_number, kind_name, strict

KEYS = Function("keys", "The keys of a hash, in its order.", unknowns=Unknowns.FLOW)
VALUES = Function("values", "The values of a hash, in its order.", unknowns=Unknowns.FLOW)
LENGTH = Function(
    "length", "The number of elements, of characters in a string, of bytes in a Binary.", unknowns=Unknowns.FLOW
)
SIZE = Function("size", "The same as length.", unknowns=Unknowns.FLOW)
EMPTY = Function(
    "empty", "Whether an array, hash, string or Binary has nothing in it; undef has nothing.", unknowns=Unknowns.FLOW
)
FLATTEN = Function("flatten", "One array of all values, with arrays inside taken apart.", unknowns=Unknowns.FLOW)
UNIQUE = Function(
    "unique",
    "The elements without those that came before, or for which the block said what it had said before. A hash gives a hash of "
    "arrays of keys to arrays of values.",
)
SORT = Function(
    "sort", "The elements of an array or the characters of a string in order, or in that of a block that compares two."
)


@KEYS.dispatch("Hash hsh")
def _keys(value: Hash) -> tuple[Any, ...]:
    return tuple(value)


@VALUES.dispatch("Hash hsh")
def _values(value: Hash) -> tuple[Any, ...]:
    return tuple(value.values())


@LENGTH.dispatch("Collection arg")
@LENGTH.dispatch("String arg")
@LENGTH.dispatch("Binary arg")
@SIZE.dispatch("Variant[Collection, String, Binary] arg")
def _length(value: Any) -> int:
    return len(value.data if isinstance(value, Binary) else value)


@EMPTY.dispatch("Collection coll")
@EMPTY.dispatch("String str")
@EMPTY.dispatch("Binary bin")
def _empty(value: Any) -> bool:
    return _length(value) == 0


@EMPTY.dispatch("Sensitive[String] str")
def _empty_sensitive(value: Sensitive) -> bool:
    return len(value.unwrap()) == 0


@EMPTY.dispatch("Numeric num", pure=False)
def _empty_number(call: Call, value: float) -> bool:
    call.host.warn_once("empty-number", "Calling function empty() with Numeric value is deprecated.")
    return False


@EMPTY.dispatch("Undef x")
def _empty_undef(value: None) -> bool:
    return True


@FLATTEN.dispatch("Any *args")
def flatten(*values: Any) -> tuple[Any, ...]:
    """Values with arrays taken apart, at any depth."""
    flat: list[Any] = []
    _flatten_into(flat, values)
    return tuple(flat)


def _flatten_into(flat: list[Any], values: Sequence[Any]) -> None:
    for value in values:
        if isinstance(value, tuple):
            _flatten_into(flat, value)
        else:
            flat.append(value)


@UNIQUE.dispatch("String string, Callable[String] &block?", pure=False)
def _unique_text(call: Call, value: str) -> str:
    return "".join(_firsts(call, value))


@UNIQUE.dispatch("Hash hash, Callable[Any] &block?", pure=False)
def _unique_hash(call: Call, value: Hash) -> Hash:
    groups: dict[Any, tuple[list[Any], list[Any]]] = {}
    for key, item in value.items():
        keys, items = groups.setdefault(_mark(call, item), ([], []))
        keys.append(key)
        items.append(item)
    return Hash.of((tuple(keys), _without_repeats(items)) for keys, items in groups.values())


@UNIQUE.dispatch("Array array, Callable[Any] &block?", pure=False)
@UNIQUE.dispatch("Iterable iterable, Callable[Any] &block?", pure=False)
def _unique(call: Call, value: Any) -> tuple[Any, ...]:
    return tuple(_firsts(call, sequence(value)))


def _mark(call: Call, item: Any) -> Any:
    return strict(item if call.block is None else call.block.call(item))


def _firsts(call: Call, items: Sequence[Any]) -> list[Any]:
    found: dict[Any, Any] = {}
    for item in items:
        found.setdefault(_mark(call, item), item)
    return list(found.values())


def _without_repeats(items: list[Any]) -> tuple[Any, ...]:
    return tuple({strict(item): item for item in reversed(items)}.values())[::-1]


@SORT.dispatch("String string_value, Callable[2, 2] &block?", pure=False)
def _sort_text(call: Call, value: str) -> str:
    return "".join(_sorted(call, value))


@SORT.dispatch("Array array_value, Callable[2, 2] &block?", pure=False)
def _sort(call: Call, value: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_sorted(call, value))


def _sorted(call: Call, values: Sequence[Any]) -> list[Any]:
    if call.block is None:
        return sorted_by(values, natural_order)
    return sorted_by(values, lambda a, b: order_said(call.run_block(a, b)))


def natural_order(a: Any, b: Any) -> int:
    """Ruby's <=>: strings by code point, numbers by value, arrays element by element; nothing across kinds."""
    if isinstance(a, str) and isinstance(b, str):
        return (a > b) - (a < b)
    if is_number(a) and is_number(b):
        return int(a > b) - int(a < b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        for x, y in zip(a, b, strict=False):
            if order := natural_order(x, y):
                return order
        return (len(a) > len(b)) - (len(a) < len(b))
    if isinstance(a, Ordered) and (found := a.order(b)) is not None:
        return found
    if strict(a) == strict(b):
        return 0
    raise issues.CANNOT_SORT.error(left=kind_name(a), right=kind_name(b))
