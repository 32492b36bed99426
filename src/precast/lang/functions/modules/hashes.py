"""Hashes: merged, made of arrays, cleaned of values, written as texts."""

from collections.abc import Iterator
from typing import Any

from precast.lang.functions.collections import flatten
from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import ModuleFunction, declare_older, wrong
from precast.lang.functions.registry import Unknowns
from precast.lang.functions.sequences import sequence
from precast.lang.ruby.text import ruby_text
from precast.lang.ruby.values import ruby_class, ruby_equal
from precast.lang.values.core import Hash

MERGE = ModuleFunction(
    "merge",
    "One hash of several, later ones over earlier ones; or of what a block makes of the hash so far and each element.",
    unknowns=Unknowns.FLOW,
)


@MERGE.dispatch("Variant[Hash[Scalar, Any], Undef, String[0, 0]] *hashes >> Hash[Scalar, Any]")
def _merge(*hashes: Any) -> Hash:
    merged = Hash()
    for each in hashes:
        if isinstance(each, Hash):
            merged = merged.merged(each)
    return merged


@MERGE.dispatch("Iterable *values, Callable[3, 3] &block >> Hash", pure=False)
def _merge_with_keys(call: Call, values: Any = ()) -> Hash:
    entries = values.items() if isinstance(values, Hash) else enumerate(sequence(values))
    return _merged(call, ((key, item) for key, item in entries))


@MERGE.dispatch("Iterable *values, Callable[2, 2] &block >> Hash", pure=False)
def _merge_each(call: Call, values: Any = ()) -> Hash:
    return _merged(call, ((item,) for item in sequence(values)))


def _merged(call: Call, arguments: Iterator[tuple[Any, ...]]) -> Hash:
    merged = Hash()
    for each in arguments:
        made = call.run_block(merged, *each)
        if isinstance(made, Hash):
            merged = merged.merged(made)
    return merged


@declare_older(
    "deep_merge",
    "Any first, Any +more",
    "One hash of several, later ones over earlier ones, hashes inside merged too.",
    unknowns=Unknowns.FLOW,
)
def _deep_merge(*hashes: Any) -> Hash:
    merged = Hash()
    for each in hashes:
        if each == "":
            continue
        if not isinstance(each, Hash):
            raise wrong("deep_merge", f"unexpected argument type {ruby_class(each)}, only expects hash arguments")
        merged = _deeply(merged, each)
    return merged


def _deeply(below: Hash, above: Hash) -> Hash:
    entries = []
    for key, item in above.items():
        under = below.lookup(key)
        entries.append((key, _deeply(under, item) if isinstance(under, Hash) and isinstance(item, Hash) else item))
    return below.merged(Hash.of(entries))


@declare_older("has_key", "Hash hash, Any key", "Whether a hash has a key.", unknowns=Unknowns.FLOW)
def _has_key(value: Hash, key: Any) -> bool:
    return value.has(key)


@declare_older("hash", "Array list, Any *rest", "A hash of an array of keys and values in turn, or of pairs.")
def _hash(items: tuple[Any, ...], *rest: Any) -> Hash:
    flat = flatten(items)
    if len(flat) == 1 and isinstance(flat[0], Hash):
        return flat[0]
    if len(flat) % 2:
        raise wrong("hash", "Unable to compute hash from array given")
    return Hash.of(zip(flat[::2], flat[1::2], strict=True))


@declare_older(
    "delete_undef_values",
    "Variant[Array, Hash] values, Any *rest",
    "An array or hash without what is undef.",
    unknowns=Unknowns.FLOW,
)
def _delete_undef_values(values: Any, *rest: Any) -> Any:
    if isinstance(values, Hash):
        return Hash.of(entry for entry in values.items() if entry[1] is not None)
    return tuple(item for item in values if item is not None)


@declare_older("delete_values", "Hash hash, Any value", "A hash without the entries that have a value.")
def _delete_values(values: Hash, unwanted: Any) -> Hash:
    return Hash.of(entry for entry in values.items() if not ruby_equal(unwanted, entry[1]))


@declare_older(
    "join_keys_to_values",
    "Hash hash, String separator",
    "A text per entry of a hash, key and value joined; one for each element where the value is an array.",
)
def _join_keys_to_values(values: Hash, separator: str) -> tuple[str, ...]:
    return tuple(_joined(values, separator))


def _joined(values: Hash, separator: str) -> Iterator[str]:
    for key, item in values.items():
        if isinstance(item, tuple):
            yield from (f"{ruby_text(key)}{separator}{ruby_text(each)}" for each in item)
        elif ruby_text(item) == "undef":
            yield ruby_text(key)
        else:
            yield f"{ruby_text(key)}{separator}{ruby_text(item)}"
