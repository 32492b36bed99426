"""Arrays as sets and lists: put together, taken apart, searched, cut.

Two values are the same element where Ruby's `eql?` says so: 1 and 1.0 are two. Removing one value goes by `==`, where they are one.
"""

from collections.abc import Callable, Sequence
from typing import Any

from precast.lang.functions.collections import flatten
from precast.lang.functions.modules.choices import is_yes
from precast.lang.functions.modules.declaration import declare_older, wrong
from precast.lang.functions.registry import Unknowns
from precast.lang.ruby.chars import char_set
from precast.lang.ruby.text import ruby_text
from precast.lang.ruby.values import ruby_class, ruby_equal, to_i
from precast.lang.values.core import Hash, is_number, strict
from precast.lang.values.regexps import compile_regexp

Array = tuple[Any, ...]


@declare_older(
    "concat", "Array list, Any +values", "The array with all further values behind it; arrays among these are opened.",
    unknowns=Unknowns.FLOW,
)  # fmt: skip
def _concat(first: Array, *values: Any) -> Array:
    joined = list(first)
    for value in values:
        joined += value if isinstance(value, tuple) else (value,)
    return tuple(joined)


def without(first: Sequence[Any], second: Sequence[Any]) -> Array:
    """The elements of the first that the second does not have."""
    unwanted = set(map(strict, second))
    return tuple(item for item in first if strict(item) not in unwanted)


def unique(items: Sequence[Any]) -> Array:
    return tuple({strict(item): item for item in reversed(items)}.values())[::-1]


@declare_older(
    "difference", "Array first, Array second", "The elements of the first array that the second does not have."
)
def _difference(first: Array, second: Array) -> Array:
    return without(first, second)


@declare_older("intersection", "Array first, Array second", "The elements that both arrays have, each once.")
def _intersection(first: Array, second: Array) -> Array:
    wanted = set(map(strict, second))
    return firsts(item for item in first if strict(item) in wanted)


def firsts(items: Any) -> Array:
    """The items without those that came before."""
    found: dict[Any, Any] = {}
    for item in items:
        found.setdefault(strict(item), item)
    return tuple(found.values())


@declare_older("union", "Array first, Array +more", "The elements of all arrays, each once.")
def _union(*lists: Array) -> Array:
    return firsts(item for each in lists for item in each)


@declare_older(
    "member", "Array list, Any wanted, Any *rest", "Whether an array has a value, or all values of another array."
)
def _member(items: Array, wanted: Any, *rest: Any) -> bool:
    if not isinstance(wanted, str | tuple) and not (isinstance(wanted, int) and not isinstance(wanted, bool)):
        raise wrong("member", "Item to search for must be a string, fixnum, or array")
    sought = wanted if isinstance(wanted, tuple) else (wanted,)
    if not sought:
        raise wrong("member", "You must provide item to search for within array given")
    return not without(sought, items)


def letters(name: str, spec: str) -> Callable[[str], bool]:
    """A set of characters as Ruby writes one. Raises where a range in it runs backwards."""
    try:
        return char_set(spec)
    except ValueError as error:
        raise wrong(name, str(error)) from None


@declare_older(
    "count",
    "Any collection, Any item?",
    "How often an array has a value; without one, how many of its values are neither undef nor empty.",
)
def _count(collection: Any, item: Any = None) -> int:
    if isinstance(collection, str) and isinstance(item, str):
        return sum(map(letters("count", item), collection))
    if not isinstance(collection, tuple | Hash):
        raise wrong("count", "Requires an array or a hash to work with")
    items = tuple(collection.items()) if isinstance(collection, Hash) else collection
    if item is None or item is False:
        return sum(1 for each in items if each is not None and each != "")
    return sum(1 for each in items if ruby_equal(each, item))


@declare_older(
    "delete",
    "Variant[Array, Hash, String] collection, Any item",
    "An array without a value, a hash without a key, a text without a part; an array of items takes each away.",
)
def _delete(collection: Any, item: Any) -> Any:
    for each in as_array(item):
        if isinstance(collection, Hash):
            collection = Hash.of(entry for entry in collection.items() if strict(entry[0]) != strict(each))
        elif isinstance(collection, tuple):
            collection = tuple(value for value in collection if not ruby_equal(value, each))
        elif isinstance(each, str):
            collection = collection.replace(each, "")
        else:
            raise wrong("delete", f"cannot take a value of class {ruby_class(each)} out of a String")
    return collection


def as_array(value: Any) -> Array:
    """Ruby's Array(): arrays as they are, hashes as pairs, undef as nothing, all else alone."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, Hash):
        return tuple(value.items())
    return () if value is None else (value,)


@declare_older("delete_at", "Array list, Any index, Any *rest", "The array without the element at an index.")
def _delete_at(items: Array, index: Any, *rest: Any) -> Array:
    if isinstance(index, str) and not (index.isascii() and index.isdigit()):
        raise wrong("delete_at", "You must provide non-negative numeric index")
    if not is_number(index) and not isinstance(index, str):
        raise wrong("delete_at", "You must provide non-negative numeric index")
    at = to_i(index) if isinstance(index, str) else int(index)
    if at > len(items) - 1:
        raise wrong("delete_at", "Given index exceeds size of array given")
    at += len(items) if at < 0 else 0
    return tuple(item for place, item in enumerate(items) if place != at)


def _matcher(name: str, pattern: Any) -> Callable[[Any], bool]:
    if not isinstance(pattern, str):
        raise wrong(name, f"Requires a pattern as text, got {ruby_class(pattern)}")
    compiled = compile_regexp(pattern)
    return lambda item: isinstance(item, str) and compiled.search(item) is not None


@declare_older(
    "delete_regex",
    "Variant[Array, Hash] collection, Any patterns",
    "An array or hash without the elements or keys in which one of the patterns matches as a whole word.",
)
def _delete_regex(collection: Any, patterns: Any) -> Any:
    for each in as_array(patterns):
        matches = _matcher("delete_regex", rf"\b{ruby_text(each)}\b")
        if isinstance(collection, Hash):
            collection = Hash.of(entry for entry in collection.items() if not matches(entry[0]))
        else:
            collection = tuple(item for item in collection if not matches(item))
    return collection


@declare_older("grep", "Any list, Any pattern", "The texts of an array in which a pattern matches.")
def _grep(items: Any, pattern: Any) -> Array:
    matches = _matcher("grep", pattern)
    if not isinstance(items, tuple | Hash):
        raise wrong("grep", f"Requires an array to work with, got {ruby_class(items)}")
    return tuple(filter(matches, items.items() if isinstance(items, Hash) else items))


@declare_older("reject", "Any list, Any pattern", "The elements of an array in which a pattern does not match.")
def _reject(items: Any, pattern: Any) -> Any:
    matches = _matcher("reject", pattern)
    if isinstance(items, Hash):
        return Hash.of(entry for entry in items.items() if not matches(entry[0]))
    if not isinstance(items, tuple):
        raise wrong("reject", f"Requires an array to work with, got {ruby_class(items)}")
    return tuple(item for item in items if not matches(item))


@declare_older("reverse", "Variant[Array, String] value, Any *rest", "An array or text from its end to its start.")
def _reverse(value: Any, *rest: Any) -> Any:
    return value[::-1]


def _affixed(name: str, value: Any, extra: Any, joined: Callable[[str, str], str]) -> Any:
    if not isinstance(extra, str) and extra is not False:
        raise wrong(name, f"expected second argument to be a String, got {ruby_class(extra)}")
    text = extra or ""
    if isinstance(value, Hash):
        return Hash.of((joined(ruby_text(key), text), item) for key, item in value.items())
    return tuple(joined(ruby_text(item), text) for item in value)


@declare_older(
    "prefix",
    "Variant[Array, Hash] values, Any prefix?, Any *rest",
    "The texts of an array, or the keys of a hash, with a text before each.",
)
def _prefix(values: Any, extra: Any = "", *rest: Any) -> Any:
    return _affixed("prefix", values, extra, lambda text, added: added + text)


@declare_older(
    "suffix",
    "Variant[Array, Hash] values, Any suffix?, Any *rest",
    "The texts of an array, or the keys of a hash, with a text behind each.",
)
def _suffix(values: Any, extra: Any = "", *rest: Any) -> Any:
    return _affixed("suffix", values, extra, lambda text, added: text + added)


@declare_older(
    "zip",
    "Array first, Array second, Any is_flat?, Any *rest",
    "Pairs of the elements of two arrays; as one flat array if the third argument says so.",
)
def _zip(first: Array, second: Array, is_flat: Any = False, *rest: Any) -> Array:
    pairs = tuple((item, second[at] if at < len(second) else None) for at, item in enumerate(first))
    return flatten(*pairs) if is_flat is not False and is_flat is not None and is_yes("zip", is_flat) else pairs
