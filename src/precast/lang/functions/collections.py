"""Functions on arrays and hashes as a whole: their size, keys, values and order."""

from collections.abc import Sequence
from typing import Any

from precast.lang.functions.host import Call
from precast.lang.functions.numbers import order_from_result, sorted_by
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.functions.sequences import sequence
from precast.lang.issues import functions as issues
from precast.lang.values.base import Binary, Hash, Ordered, Sensitive, identity_of, is_number, kind_name

KEYS = Function("keys", "Returns the keys of a hash, in its order.", unknowns=Unknowns.FLOW)
VALUES = Function("values", "Returns the values of a hash, in its order.", unknowns=Unknowns.FLOW)
LENGTH = Function(
    "length",
    "Returns the number of elements, of characters in a string, or of bytes in a Binary.",
    unknowns=Unknowns.FLOW,
)
SIZE = Function("size", "Does the same as length.", unknowns=Unknowns.FLOW)
EMPTY = Function(
    "empty", "Returns whether an array, hash, string or Binary is empty; undef counts as empty.", unknowns=Unknowns.FLOW
)
FLATTEN = Function(
    "flatten", "Returns one array of all values, with the elements of inner arrays.", unknowns=Unknowns.FLOW
)
UNIQUE = Function(
    "unique",
    "Returns the elements without those that equal an earlier one, or for which the block gives the same result as for an "
    "earlier one. For a hash, returns a hash of arrays of keys and arrays of values.",
)
SORT = Function(
    "sort",
    "Returns the elements of an array or the characters of a string in order, or in the order of a block that compares two.",
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
    """Return the values, with arrays of any depth replaced by their elements."""
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
    return "".join(_distinct(call, value))


@UNIQUE.dispatch("Hash hash, Callable[Any] &block?", pure=False)
def _unique_hash(call: Call, value: Hash) -> Hash:
    groups: dict[Any, tuple[list[Any], list[Any]]] = {}
    for key, item in value.items():
        keys, items = groups.setdefault(_identity(call, item), ([], []))
        keys.append(key)
        items.append(item)
    return Hash.of((tuple(keys), _without_repeats(items)) for keys, items in groups.values())


@UNIQUE.dispatch("Array array, Callable[Any] &block?", pure=False)
@UNIQUE.dispatch("Iterable iterable, Callable[Any] &block?", pure=False)
def _unique(call: Call, value: Any) -> tuple[Any, ...]:
    return tuple(_distinct(call, sequence(value)))


def _identity(call: Call, item: Any) -> Any:
    return identity_of(item if call.block is None else call.block.call(item))


def _distinct(call: Call, items: Sequence[Any]) -> list[Any]:
    distinct: dict[Any, Any] = {}
    for item in items:
        distinct.setdefault(_identity(call, item), item)
    return list(distinct.values())


def _without_repeats(items: list[Any]) -> tuple[Any, ...]:
    return tuple({identity_of(item): item for item in reversed(items)}.values())[::-1]


@SORT.dispatch("String string_value, Callable[2, 2] &block?", pure=False)
def _sort_text(call: Call, value: str) -> str:
    return "".join(_sort_values(call, value))


@SORT.dispatch("Array array_value, Callable[2, 2] &block?", pure=False)
def _sort(call: Call, value: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_sort_values(call, value))


def _sort_values(call: Call, values: Sequence[Any]) -> list[Any]:
    if call.block is None:
        return sorted_by(values, natural_order)
    return sorted_by(values, lambda a, b: order_from_result(call.run_block(a, b)))


def natural_order(a: Any, b: Any) -> int:
    """Return Ruby's `<=>`: strings by code point, numbers by value, arrays by elements. Raises LANG-415 for different kinds."""
    if isinstance(a, str) and isinstance(b, str):
        return (a > b) - (a < b)
    if is_number(a) and is_number(b):
        return int(a > b) - int(a < b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        for x, y in zip(a, b, strict=False):
            if order := natural_order(x, y):
                return order
        return (len(a) > len(b)) - (len(a) < len(b))
    if isinstance(a, Ordered) and (own_order := a.order(b)) is not None:
        return own_order
    if identity_of(a) == identity_of(b):
        return 0
    raise issues.CANNOT_SORT.error(left=kind_name(a), right=kind_name(b))
