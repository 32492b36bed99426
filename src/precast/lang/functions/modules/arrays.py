"""Functions on arrays as sets and lists: concatenation, difference, search, deletion.

Two values are the same element if Ruby's `eql?` holds: 1 and 1.0 differ. Deletion of a value uses `==`, by which they are equal.
"""

from collections.abc import Callable, Sequence
from typing import Any

from precast.lang.functions.collections import flatten
from precast.lang.functions.modules.conversions import parse_boolean
from precast.lang.functions.modules.declaration import argument_error, declare_legacy
from precast.lang.functions.registry import Unknowns
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import ruby_class, ruby_equal, to_i
from precast.lang.ruby.stdlib.character_sets import char_set
from precast.lang.values.base import Hash, identity_of, is_number
from precast.lang.values.regexps import compile_regexp

Array = tuple[Any, ...]


@declare_legacy(
    "concat", "Array list, Any +values", "Appends values to an array; the elements of arrays among them are appended one by one.",
    unknowns=Unknowns.FLOW,
)  # fmt: skip
def _concat(first: Array, *values: Any) -> Array:
    joined = list(first)
    for value in values:
        joined += value if isinstance(value, tuple) else (value,)
    return tuple(joined)


def without(first: Sequence[Any], second: Sequence[Any]) -> Array:
    """Return the elements of the first sequence that the second does not have."""
    excluded = set(map(identity_of, second))
    return tuple(item for item in first if identity_of(item) not in excluded)


@declare_legacy(
    "difference", "Array first, Array second", "Returns the elements of the first array that the second does not have."
)
def _difference(first: Array, second: Array) -> Array:
    return without(first, second)


@declare_legacy("intersection", "Array first, Array second", "Returns the distinct elements that both arrays have.")
def _intersection(first: Array, second: Array) -> Array:
    common = set(map(identity_of, second))
    return distinct(item for item in first if identity_of(item) in common)


def distinct(items: Any) -> Array:
    """Return the items without those that equal an earlier one."""
    first: dict[Any, Any] = {}
    for item in items:
        first.setdefault(identity_of(item), item)
    return tuple(first.values())


@declare_legacy("union", "Array first, Array +more", "Returns the distinct elements of all arrays.")
def _union(*lists: Array) -> Array:
    return distinct(item for items in lists for item in items)


@declare_legacy(
    "member",
    "Array list, Any wanted, Any *rest",
    "Returns whether an array has a value, or all values of another array.",
)
def _member(items: Array, wanted: Any, *rest: Any) -> bool:
    if not isinstance(wanted, str | tuple) and not (isinstance(wanted, int) and not isinstance(wanted, bool)):
        raise argument_error("member", "Item to search for must be a string, fixnum, or array")
    sought = wanted if isinstance(wanted, tuple) else (wanted,)
    if not sought:
        raise argument_error("member", "You must provide item to search for within array given")
    return not without(sought, items)


def parse_characters(name: str, spec: str) -> Callable[[str], bool]:
    """Return the test for a character set in Ruby's notation. Raises LANG-470 for a range whose end comes before its start."""
    try:
        return char_set(spec)
    except ValueError as error:
        raise argument_error(name, str(error)) from None


@declare_legacy(
    "count",
    "Any collection, Any item?",
    "Counts how often an array has a value; without a value, counts the elements that are neither undef nor empty.",
)
def _count(collection: Any, item: Any = None) -> int:
    if isinstance(collection, str) and isinstance(item, str):
        return sum(map(parse_characters("count", item), collection))
    if not isinstance(collection, tuple | Hash):
        raise argument_error("count", "Requires an array or a hash to work with")
    items = tuple(collection.items()) if isinstance(collection, Hash) else collection
    if item is None or item is False:
        return sum(1 for element in items if element is not None and element != "")
    return sum(1 for element in items if ruby_equal(element, item))


@declare_legacy(
    "delete",
    "Variant[Array, Hash, String] collection, Any item",
    "Removes a value from an array, a key from a hash or a part from a text; an array of items removes each of them.",
)
def _delete(collection: Any, item: Any) -> Any:
    for removed in as_array(item):
        if isinstance(collection, Hash):
            collection = Hash.of(entry for entry in collection.items() if identity_of(entry[0]) != identity_of(removed))
        elif isinstance(collection, tuple):
            collection = tuple(value for value in collection if not ruby_equal(value, removed))
        elif isinstance(removed, str):
            collection = collection.replace(removed, "")
        else:
            raise argument_error("delete", f"cannot remove a value of class {ruby_class(removed)} from a String")
    return collection


def as_array(value: Any) -> Array:
    """Return Ruby's Array(value): arrays as they are, hashes as pairs, undef as an empty array, other values as one element."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, Hash):
        return tuple(value.items())
    return () if value is None else (value,)


@declare_legacy("delete_at", "Array list, Any index, Any *rest", "Returns an array without the element at an index.")
def _delete_at(items: Array, index: Any, *rest: Any) -> Array:
    if isinstance(index, str) and not (index.isascii() and index.isdigit()):
        raise argument_error("delete_at", "You must provide non-negative numeric index")
    if not is_number(index) and not isinstance(index, str):
        raise argument_error("delete_at", "You must provide non-negative numeric index")
    at = to_i(index) if isinstance(index, str) else int(index)
    if at > len(items) - 1:
        raise argument_error("delete_at", "Given index exceeds size of array given")
    at += len(items) if at < 0 else 0
    return tuple(item for index_, item in enumerate(items) if index_ != at)


def _matcher(name: str, pattern: Any) -> Callable[[Any], bool]:
    if not isinstance(pattern, str):
        raise argument_error(name, f"Requires a pattern as text, got {ruby_class(pattern)}")
    compiled = compile_regexp(pattern)
    return lambda item: isinstance(item, str) and compiled.search(item) is not None


@declare_legacy(
    "delete_regex",
    "Variant[Array, Hash] collection, Any patterns",
    "Removes the elements of an array or the keys of a hash in which one of the patterns matches as a whole word.",
)
def _delete_regex(collection: Any, patterns: Any) -> Any:
    for pattern in as_array(patterns):
        matches = _matcher("delete_regex", rf"\b{ruby_text(pattern)}\b")
        if isinstance(collection, Hash):
            collection = Hash.of(entry for entry in collection.items() if not matches(entry[0]))
        else:
            collection = tuple(item for item in collection if not matches(item))
    return collection


@declare_legacy("grep", "Any list, Any pattern", "Returns the texts of an array in which a pattern matches.")
def _grep(items: Any, pattern: Any) -> Array:
    matches = _matcher("grep", pattern)
    if not isinstance(items, tuple | Hash):
        raise argument_error("grep", f"Requires an array to work with, got {ruby_class(items)}")
    return tuple(filter(matches, items.items() if isinstance(items, Hash) else items))


@declare_legacy(
    "reject", "Any list, Any pattern", "Returns the elements of an array in which a pattern does not match."
)
def _reject(items: Any, pattern: Any) -> Any:
    matches = _matcher("reject", pattern)
    if isinstance(items, Hash):
        return Hash.of(entry for entry in items.items() if not matches(entry[0]))
    if not isinstance(items, tuple):
        raise argument_error("reject", f"Requires an array to work with, got {ruby_class(items)}")
    return tuple(item for item in items if not matches(item))


@declare_legacy("reverse", "Variant[Array, String] value, Any *rest", "Reverses an array or text.")
def _reverse(value: Any, *rest: Any) -> Any:
    return value[::-1]


def _add_affix(name: str, value: Any, extra: Any, joined: Callable[[str, str], str]) -> Any:
    if not isinstance(extra, str) and extra is not False:
        raise argument_error(name, f"expected second argument to be a String, got {ruby_class(extra)}")
    text = extra or ""
    if isinstance(value, Hash):
        return Hash.of((joined(ruby_text(key), text), item) for key, item in value.items())
    return tuple(joined(ruby_text(item), text) for item in value)


@declare_legacy(
    "prefix",
    "Variant[Array, Hash] values, Any prefix?, Any *rest",
    "Adds a text before each text of an array or each key of a hash.",
)
def _prefix(values: Any, extra: Any = "", *rest: Any) -> Any:
    return _add_affix("prefix", values, extra, lambda text, added: added + text)


@declare_legacy(
    "suffix",
    "Variant[Array, Hash] values, Any suffix?, Any *rest",
    "Adds a text after each text of an array or each key of a hash.",
)
def _suffix(values: Any, extra: Any = "", *rest: Any) -> Any:
    return _add_affix("suffix", values, extra, lambda text, added: text + added)


@declare_legacy(
    "zip",
    "Array first, Array second, Any is_flat?, Any *rest",
    "Returns pairs of the elements of two arrays; one flat array if the third argument is true.",
)
def _zip(first: Array, second: Array, is_flat: Any = False, *rest: Any) -> Array:
    pairs = tuple((item, second[at] if at < len(second) else None) for at, item in enumerate(first))
    return flatten(*pairs) if is_flat is not False and is_flat is not None and parse_boolean("zip", is_flat) else pairs
