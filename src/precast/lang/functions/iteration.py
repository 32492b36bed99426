"""each, map, filter, all, any, reduce, index: the functions that call a block per element.

A block of two parameters gets key and value of a Hash, index and value of anything else; a block of one gets an entry or a
value. Hash comes before Iterable and two parameters before one, as in Puppet, since a block may take either number.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from precast.lang.control import Break
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.functions.sequences import Entries, sequence
from precast.lang.values.core import Hash, Regexp, equals
from precast.lang.values.regexps import compile_regexp

Body = Callable[..., Any]

HASH_PAIR = "Hash hash, Callable[2, 2] &block"
HASH_ENTRY = "Hash hash, Callable[1, 1] &block"
INDEXED = "Iterable enumerable, Callable[2, 2] &block"
VALUES = "Iterable enumerable, Callable[1, 1] &block"


def _both(function: Function, pair: str, single: str) -> Callable[[Body], Body]:
    """Declares one body for a pair signature and a single one: it learns which by its second argument."""

    def declare(body: Body) -> Body:
        function.dispatch(pair)(lambda call, value: body(call, value, True))
        function.dispatch(single)(lambda call, value: body(call, value, False))
        return body

    return declare


def _hash_calls(call: Call, value: Hash, pairs: bool) -> Iterator[tuple[Any, Any, Any]]:
    """Key, value and what the block says, per entry."""
    assert call.block is not None
    run = call.block.call
    if pairs:
        for key, item in value.items():
            yield key, item, run(key, item)
    else:
        for key, item in value.items():
            yield key, item, run((key, item))


def _placed(value: Any) -> Iterable[tuple[Any, Any]]:
    """Each element with its index, or an entry's value with its key."""
    return value.items if isinstance(value, Entries) else enumerate(sequence(value))


def _calls(call: Call, value: Any, indexed: bool) -> Iterator[tuple[Any, Any, Any]]:
    """Index, value and what the block says, per element."""
    assert call.block is not None
    run = call.block.call
    if indexed:
        for place, item in _placed(value):
            yield place, item, run(place, item)
    else:
        for index, item in enumerate(sequence(value)):
            yield index, item, run(item)


EACH = Function(
    "each", "Calls the block once for each element and gives back what was iterated.", unknowns=Unknowns.FLOW
)
MAP = Function("map", "Gives an array of what the block says for each element.", unknowns=Unknowns.FLOW)
FILTER = Function(
    "filter",
    "Gives the elements for which the block says true: a hash for a hash, else an array.",
    unknowns=Unknowns.FLOW,
)
ALL = Function(
    "all", "Whether the block says true for every element; it stops at the first that fails.", unknowns=Unknowns.FLOW
)
ANY = Function("any", "Whether the block says true for some element; it stops at the first.", unknowns=Unknowns.FLOW)
REDUCE = Function(
    "reduce",
    "Folds the elements into one value: the block gets what it said last, and the next element. It starts with the given "
    "value, or with the first element.",
    unknowns=Unknowns.FLOW,
)
INDEX = Function(
    "index",
    "The index (or key) of the first element that is equal to a value or for which the block says true; undef if there is none. In a "
    "string, the place of a substring or of a match.",
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
        for place, item in _placed(value):
            run(place, item)
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
    said: list[Any] = []
    with suppress(Break):
        said.extend(answer for _, _, answer in _hash_calls(call, value, pairs))
    return tuple(said)


@MAP.dispatch(INDEXED)
def _map_indexed(call: Call, value: Any) -> tuple[Any, ...]:
    assert call.block is not None
    run, said = call.block.call, []
    try:
        for place, item in _placed(value):
            said.append(run(place, item))
    except Break:
        pass
    return tuple(said)


@MAP.dispatch(VALUES)
def _map_values(call: Call, value: Any) -> tuple[Any, ...]:
    assert call.block is not None
    run, said = call.block.call, []
    try:
        for item in sequence(value):
            said.append(run(item))  # noqa: PERF401 - what was said before a break counts
    except Break:
        pass
    return tuple(said)


@_both(FILTER, HASH_PAIR, HASH_ENTRY)
def _filter_hash(call: Call, value: Hash, pairs: bool) -> Hash:
    kept: list[tuple[Any, Any]] = []
    with suppress(Break):
        kept.extend((key, item) for key, item, said in _hash_calls(call, value, pairs) if call.says_yes(said))
    return Hash.of(kept)


@FILTER.dispatch(INDEXED)
def _filter_indexed(call: Call, value: Any) -> Any:
    """Entries of a hash are no exception here: the block gets their index, but what is kept is a hash."""
    kept: list[Any] = []
    with suppress(Break):
        kept.extend(item for index, item in enumerate(sequence(value)) if call.says_yes(call.run_block(index, item)))
    return Hash.of(kept) if isinstance(value, Entries) else tuple(kept)


@FILTER.dispatch(VALUES)
def _filter_values(call: Call, value: Any) -> tuple[Any, ...]:
    kept: list[Any] = []
    with suppress(Break):
        kept.extend(item for item in sequence(value) if call.says_yes(call.run_block(item)))
    return tuple(kept)


@_both(ALL, HASH_PAIR, HASH_ENTRY)
def _all_hash(call: Call, value: Hash, pairs: bool) -> bool:
    return all(call.says_yes(said) for _, _, said in _hash_calls(call, value, pairs))


@_both(ALL, INDEXED, VALUES)
def _all(call: Call, value: Any, indexed: bool) -> bool:
    return all(call.says_yes(said) for _, _, said in _calls(call, value, indexed))


@_both(ANY, HASH_PAIR, HASH_ENTRY)
def _any_hash(call: Call, value: Hash, pairs: bool) -> bool:
    return any(call.says_yes(said) for _, _, said in _hash_calls(call, value, pairs))


@_both(ANY, INDEXED, VALUES)
def _any(call: Call, value: Any, indexed: bool) -> bool:
    return any(call.says_yes(said) for _, _, said in _calls(call, value, indexed))


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
    return next((key for key, _, said in _hash_calls(call, value, pairs=True) if call.says_yes(said)), None)


@INDEX.dispatch(HASH_ENTRY)
def _index_entry(call: Call, value: Hash) -> Any:
    """Here, unlike elsewhere, a block of one parameter gets the value alone."""
    return next((key for key, item in value.items() if call.says_yes(call.run_block(item))), None)


@_both(INDEX, INDEXED, VALUES)
def _index_block(call: Call, value: Any, indexed: bool) -> int | None:
    return next((index for index, _, said in _calls(call, value, indexed) if call.says_yes(said)), None)


@INDEX.dispatch("String str, Variant[String, Regexp] match")
def _index_text(text: str, wanted: Any) -> int | None:
    if isinstance(wanted, Regexp):
        found = compile_regexp(wanted.pattern).search(text)
        return found.start() if found else None
    at = text.find(wanted)
    return None if at < 0 else at


@INDEX.dispatch("Iterable enumerable, Any match")
def _index_value(value: Any, wanted: Any) -> Any:
    pairs = value.items() if isinstance(value, Hash) else enumerate(sequence(value))
    return next((place for place, item in pairs if _same(item, wanted)), None)


def _same(item: Any, wanted: Any) -> bool:
    """Equality with regard to case: this function alone does not use the language's own."""
    if isinstance(item, str) or isinstance(wanted, str):
        return isinstance(item, str) and isinstance(wanted, str) and item == wanted
    return equals(item, wanted)
