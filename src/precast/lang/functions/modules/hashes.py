"""Functions on hashes: merging, conversion from arrays, deletion of values, joining to texts."""

from collections.abc import Iterator
from typing import Any

from precast.lang.functions.collections import flatten
from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import ModuleFunction, argument_error, declare_legacy
from precast.lang.functions.registry import Unknowns
from precast.lang.functions.sequences import sequence
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import ruby_class, ruby_equal
from precast.lang.values.base import Hash

MERGE = ModuleFunction(
    "merge",
    "Merges hashes, where later ones win; or merges the results of a block for the hash so far and each element.",
    unknowns=Unknowns.FLOW,
)


@MERGE.dispatch("Variant[Hash[Scalar, Any], Undef, String[0, 0]] *hashes >> Hash[Scalar, Any]")
def _merge(*hashes: Any) -> Hash:
    merged = Hash()
    for value in hashes:
        if isinstance(value, Hash):
            merged = merged.merged(value)
    return merged


@MERGE.dispatch("Iterable *values, Callable[3, 3] &block >> Hash", pure=False)
def _merge_with_keys(call: Call, values: Any = ()) -> Hash:
    entries = values.items() if isinstance(values, Hash) else enumerate(sequence(values))
    return _merge_results(call, ((key, item) for key, item in entries))


@MERGE.dispatch("Iterable *values, Callable[2, 2] &block >> Hash", pure=False)
def _merge_each(call: Call, values: Any = ()) -> Hash:
    return _merge_results(call, ((item,) for item in sequence(values)))


def _merge_results(call: Call, arguments: Iterator[tuple[Any, ...]]) -> Hash:
    merged = Hash()
    for block_arguments in arguments:
        result = call.run_block(merged, *block_arguments)
        if isinstance(result, Hash):
            merged = merged.merged(result)
    return merged


@declare_legacy(
    "deep_merge",
    "Any first, Any +more",
    "Merges hashes, where later ones win, and also the hashes inside of them.",
    unknowns=Unknowns.FLOW,
)
def _deep_merge(*hashes: Any) -> Hash:
    merged = Hash()
    for value in hashes:
        if value == "":
            continue
        if not isinstance(value, Hash):
            raise argument_error(
                "deep_merge", f"unexpected argument type {ruby_class(value)}, only expects hash arguments"
            )
        merged = _merge_deeply(merged, value)
    return merged


def _merge_deeply(below: Hash, above: Hash) -> Hash:
    entries = []
    for key, item in above.items():
        under = below.lookup(key)
        entries.append(
            (key, _merge_deeply(under, item) if isinstance(under, Hash) and isinstance(item, Hash) else item)
        )
    return below.merged(Hash.of(entries))


@declare_legacy("has_key", "Hash hash, Any key", "Returns whether a hash has a key.", unknowns=Unknowns.FLOW)
def _has_key(value: Hash, key: Any) -> bool:
    return value.has(key)


@declare_legacy(
    "hash", "Array list, Any *rest", "Converts an array of keys and values in turn, or of pairs, to a hash."
)
def _hash(items: tuple[Any, ...], *rest: Any) -> Hash:
    flat = flatten(items)
    if len(flat) == 1 and isinstance(flat[0], Hash):
        return flat[0]
    if len(flat) % 2:
        raise argument_error("hash", "Unable to compute hash from array given")
    return Hash.of(zip(flat[::2], flat[1::2], strict=True))


@declare_legacy(
    "delete_undef_values",
    "Variant[Array, Hash] values, Any *rest",
    "Removes undef values from an array or hash.",
    unknowns=Unknowns.FLOW,
)
def _delete_undef_values(values: Any, *rest: Any) -> Any:
    if isinstance(values, Hash):
        return Hash.of(entry for entry in values.items() if entry[1] is not None)
    return tuple(item for item in values if item is not None)


@declare_legacy("delete_values", "Hash hash, Any value", "Removes the entries with a value from a hash.")
def _delete_values(values: Hash, removed: Any) -> Hash:
    return Hash.of(entry for entry in values.items() if not ruby_equal(removed, entry[1]))


@declare_legacy(
    "join_keys_to_values",
    "Hash hash, String separator",
    "Returns a text for each entry of a hash, with key and value joined; if the value is an array, a text for each element.",
)
def _join_keys_to_values(values: Hash, separator: str) -> tuple[str, ...]:
    return tuple(_join_entries(values, separator))


def _join_entries(values: Hash, separator: str) -> Iterator[str]:
    for key, item in values.items():
        if isinstance(item, tuple):
            yield from (f"{ruby_text(key)}{separator}{ruby_text(element)}" for element in item)
        elif ruby_text(item) == "undef":
            yield ruby_text(key)
        else:
            yield f"{ruby_text(key)}{separator}{ruby_text(item)}"
