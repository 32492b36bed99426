"""each, map, filter, all, any, reduce, index: the functions that call a block for each element.

A block of two parameters gets key and value of a Hash, or index and value of other values; a block of one parameter gets an entry or
a value. Hash comes before Iterable and two parameters before one, as in Puppet, since a block may accept either number.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from precast.lang.control_flow import Break
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.functions.sequences import Entries, sequence
from precast.lang.values.base import Hash, Regexp, equals
from precast.lang.values.regexps import compile_regexp

Body = Callable[..., Any]

HASH_PAIR = "Hash hash, Callable[2, 2] &block"
HASH_ENTRY = "Hash hash, Callable[1, 1] &block"
INDEXED = "Iterable enumerable, Callable[2, 2] &block"
VALUES = "Iterable enumerable, Callable[1, 1] &block"


def _both(function: Function, pair: str, single: str) -> Callable[[Body], Body]:
    """Declare one body for two signatures; its last argument says whether the block takes a pair."""

    def declare(body: Body) -> Body:
        function.dispatch(pair)(lambda call, value: body(call, value, True))
        function.dispatch(single)(lambda call, value: body(call, value, False))
        return body

    return declare


def _hash_calls(call: Call, value: Hash, pairs: bool) -> Iterator[tuple[Any, Any, Any]]:
    """Yield key, value and the result of the block for each entry."""
    assert call.block is not None
    run = call.block.call
    if pairs:
        for key, item in value.items():
            yield key, item, run(key, item)
    else:
        for key, item in value.items():
            yield key, item, run((key, item))


def _indexed(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return each element with its index, or the value of each entry with its key."""
    return value.items if isinstance(value, Entries) else enumerate(sequence(value))


def _calls(call: Call, value: Any, indexed: bool) -> Iterator[tuple[Any, Any, Any]]:
    """Yield index, value and the result of the block for each element."""
    assert call.block is not None
    run = call.block.call
    if indexed:
        for index, item in _indexed(value):
            yield index, item, run(index, item)
    else:
        for index, item in enumerate(sequence(value)):
            yield index, item, run(item)


EACH = Function("each", "Calls the block once for each element and returns the collection.", unknowns=Unknowns.FLOW)
MAP = Function("map", "Returns an array of the results of the block for each element.", unknowns=Unknowns.FLOW)
FILTER = Function(
    "filter",
    "Returns the elements for which the block returns true: a hash for a hash, otherwise an array.",
    unknowns=Unknowns.FLOW,
)
ALL = Function(
    "all",
    "Returns whether the block returns true for every element; it stops at the first that fails.",
    unknowns=Unknowns.FLOW,
)
ANY = Function(
    "any", "Returns whether the block returns true for an element; it stops at the first.", unknowns=Unknowns.FLOW
)
REDUCE = Function(
    "reduce",
    "Folds the elements into one value: the block gets its previous result and the next element. It starts with the given "
    "value, or with the first element.",
    unknowns=Unknowns.FLOW,
)
INDEX = Function(
    "index",
    "Returns the index (or key) of the first element that equals a value or for which the block returns true; undef if there is "
    "none. In a string, returns the position of a substring or of a match.",
    unknowns=Unknowns.FLOW,
)


@EACH.dispatch(HASH_PAIR)
def _each_pair(call: Call, value: Hash) -> Hash:
    assert call.block is not None
    run = call.block.call
    try:
        for key, item in value.items():
            run(key, item)
    except Break:
        pass
    return value


@EACH.dispatch(HASH_ENTRY)
def _each_entry(call: Call, value: Hash) -> Hash:
    assert call.block is not None
    run = call.block.call
    try:
        for entry in value.items():
            run(entry)
    except Break:
        pass
    return value


@EACH.dispatch(INDEXED)
def _each_indexed(call: Call, value: Any) -> Any:
    assert call.block is not None
    run = call.block.call
    try:
        for index, item in _indexed(value):
            run(index, item)
    except Break:
        pass
    return value


@EACH.dispatch(VALUES)
def _each_value(call: Call, value: Any) -> Any:
    assert call.block is not None
    run = call.block.call
    try:
        for item in sequence(value):
            run(item)
    except Break:
        pass
    return value


@_both(MAP, HASH_PAIR, HASH_ENTRY)
def _map_hash(call: Call, value: Hash, pairs: bool) -> tuple[Any, ...]:
    results: list[Any] = []
    with suppress(Break):
        results.extend(result for _, _, result in _hash_calls(call, value, pairs))
    return tuple(results)


@MAP.dispatch(INDEXED)
def _map_indexed(call: Call, value: Any) -> tuple[Any, ...]:
    assert call.block is not None
    run, results = call.block.call, []
    try:
        for index, item in _indexed(value):
            results.append(run(index, item))
    except Break:
        pass
    return tuple(results)


@MAP.dispatch(VALUES)
def _map_values(call: Call, value: Any) -> tuple[Any, ...]:
    assert call.block is not None
    run, results = call.block.call, []
    try:
        for item in sequence(value):
            results.append(run(item))  # noqa: PERF401 - the results before a break count
    except Break:
        pass
    return tuple(results)


@_both(FILTER, HASH_PAIR, HASH_ENTRY)
def _filter_hash(call: Call, value: Hash, pairs: bool) -> Hash:
    kept: list[tuple[Any, Any]] = []
    with suppress(Break):
        kept.extend((key, item) for key, item, result in _hash_calls(call, value, pairs) if call.is_truthy(result))
    return Hash.of(kept)


@FILTER.dispatch(INDEXED)
def _filter_indexed(call: Call, value: Any) -> Any:
    """Unlike the other functions, this one gives the block the index of an entry of a hash, but the result is a hash."""
    kept: list[Any] = []
    with suppress(Break):
        kept.extend(item for index, item in enumerate(sequence(value)) if call.is_truthy(call.run_block(index, item)))
    return Hash.of(kept) if isinstance(value, Entries) else tuple(kept)


@FILTER.dispatch(VALUES)
def _filter_values(call: Call, value: Any) -> tuple[Any, ...]:
    kept: list[Any] = []
    with suppress(Break):
        kept.extend(item for item in sequence(value) if call.is_truthy(call.run_block(item)))
    return tuple(kept)


@_both(ALL, HASH_PAIR, HASH_ENTRY)
def _all_hash(call: Call, value: Hash, pairs: bool) -> bool:
    return all(call.is_truthy(result) for _, _, result in _hash_calls(call, value, pairs))


@_both(ALL, INDEXED, VALUES)
def _all(call: Call, value: Any, indexed: bool) -> bool:
    return all(call.is_truthy(result) for _, _, result in _calls(call, value, indexed))


@_both(ANY, HASH_PAIR, HASH_ENTRY)
def _any_hash(call: Call, value: Hash, pairs: bool) -> bool:
    return any(call.is_truthy(result) for _, _, result in _hash_calls(call, value, pairs))


@_both(ANY, INDEXED, VALUES)
def _any(call: Call, value: Any, indexed: bool) -> bool:
    return any(call.is_truthy(result) for _, _, result in _calls(call, value, indexed))


@REDUCE.dispatch("Iterable enumerable, Callable[2, 2] &block")
def _reduce(call: Call, value: Any) -> Any:
    items = iter(sequence(value))
    return _fold(call, next(items, None), items)


@REDUCE.dispatch("Iterable enumerable, Any memo, Callable[2, 2] &block")
def _reduce_from(call: Call, value: Any, memo: Any) -> Any:
    return _fold(call, memo, iter(sequence(value)))


def _fold(call: Call, memo: Any, items: Iterator[Any]) -> Any:
    try:
        for item in items:
            memo = call.run_block(memo, item)
    except Break:
        pass
    return memo


@INDEX.dispatch(HASH_PAIR)
def _index_pair(call: Call, value: Hash) -> Any:
    return next((key for key, _, result in _hash_calls(call, value, pairs=True) if call.is_truthy(result)), None)


@INDEX.dispatch(HASH_ENTRY)
def _index_entry(call: Call, value: Hash) -> Any:
    """Unlike in the other functions, a block of one parameter gets only the value of an entry."""
    return next((key for key, item in value.items() if call.is_truthy(call.run_block(item))), None)


@_both(INDEX, INDEXED, VALUES)
def _index_block(call: Call, value: Any, indexed: bool) -> int | None:
    return next((index for index, _, result in _calls(call, value, indexed) if call.is_truthy(result)), None)


@INDEX.dispatch("String str, Variant[String, Regexp] match")
def _index_text(text: str, wanted: Any) -> int | None:
    if isinstance(wanted, Regexp):
        match = compile_regexp(wanted.pattern).search(text)
        return match.start() if match else None
    at = text.find(wanted)
    return None if at < 0 else at


@INDEX.dispatch("Iterable enumerable, Any match")
def _index_value(value: Any, wanted: Any) -> Any:
    pairs = value.items() if isinstance(value, Hash) else enumerate(sequence(value))
    return next((index for index, item in pairs if _equals_exactly(item, wanted)), None)


def _equals_exactly(item: Any, wanted: Any) -> bool:
    """Return case-sensitive equality, which only this function uses instead of the language's own."""
    if isinstance(item, str) or isinstance(wanted, str):
        return isinstance(item, str) and isinstance(wanted, str) and item == wanted
    return equals(item, wanted)
