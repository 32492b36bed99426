"""slice, group_by, partition, reverse_each, step: sequences cut up or run through in another order."""

from typing import Any

from precast.lang.control import Break
from precast.lang.functions import issues
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.functions.sequences import entries, lazy, sequence, unbounded
from precast.lang.values.core import Hash, Iterator, strict

SLICE = Function(
    "slice",
    "Cuts a sequence into arrays of a size. A block of one parameter gets each array, one of more gets its elements, filled up "
    "with undef, or with empty arrays for a hash.",
    unknowns=Unknowns.FLOW,
)
GROUP_BY = Function(
    "group_by", "Gives a hash of what the block says to the elements for which it says so.", unknowns=Unknowns.FLOW
)
PARTITION = Function(
    "partition", "Gives two arrays: the elements for which the block says true, and the others.", unknowns=Unknowns.FLOW
)
REVERSE_EACH = Function(
    "reverse_each",
    "Iterates from the last element to the first; without a block, gives an Iterator.",
    unknowns=Unknowns.FLOW,
)
STEP = Function(
    "step",
    "Iterates over every nth element, from the first; without a block, gives an Iterator.",
    unknowns=Unknowns.FLOW,
)


@SLICE.dispatch("Hash hash, Integer[1] slice_size, Callable &block?", pure=False)
def _slice_hash(call: Call, value: Hash, size: int) -> Any:
    return _sliced(call, value, entries(value), size, missing=())


@SLICE.dispatch("Iterable enumerable, Integer[1] slice_size, Callable &block?", pure=False)
def _slice(call: Call, value: Any, size: int) -> Any:
    return _sliced(call, value, sequence(value), size)


def _sliced(call: Call, value: Any, items: Any, size: int, missing: Any = None) -> Any:
    parts = [tuple(items[start : start + size]) for start in range(0, len(items), size)]
    block = call.block
    if block is None:
        return tuple(parts)
    if block.max_args == 0:
        raise issues.BLOCK_WITHOUT_PARAMETERS.error()
    spread = block.max_args != 1
    try:
        for part in parts:
            if spread:
                block.call(*part, *(missing,) * (size - len(part)))
            else:
                block.call(part)
    except Break:
        pass
    return value


@GROUP_BY.dispatch("Collection collection, Callable[1, 1] &block >> Hash")
def _group_values(call: Call, value: Any) -> Hash:
    return _grouped(call, [(item, call.run_block(item)) for item in sequence(value)])


@GROUP_BY.dispatch("Array array, Callable[2, 2] &block >> Hash")
def _group_indexed(call: Call, value: Any) -> Hash:
    return _grouped(call, [(item, call.run_block(index, item)) for index, item in enumerate(value)])


@GROUP_BY.dispatch("Collection collection, Callable[2, 2] &block >> Hash")
def _group_entries(call: Call, value: Any) -> Hash:
    return _grouped(call, [(entry, call.run_block(*entry)) for entry in sequence(value)])


def _grouped(call: Call, said: Any) -> Hash:
    groups: dict[Any, tuple[Any, list[Any]]] = {}
    for item, answer in said:
        key = call.host.concrete(answer, call.span)
        groups.setdefault(strict(key), (key, []))[1].append(item)
    return Hash.of((key, tuple(items)) for key, items in groups.values())


@PARTITION.dispatch("Collection collection, Callable[1, 1] &block >> Tuple[Array, Array]")
def _partition_values(call: Call, value: Any) -> tuple[Any, Any]:
    return _parted(call, [(item, call.run_block(item)) for item in sequence(value)])


@PARTITION.dispatch("Array array, Callable[2, 2] &block >> Tuple[Array, Array]")
def _partition_indexed(call: Call, value: Any) -> tuple[Any, Any]:
    return _parted(call, [(item, call.run_block(index, item)) for index, item in enumerate(value)])


@PARTITION.dispatch("Collection collection, Callable[2, 2] &block >> Tuple[Array, Array]")
def _partition_entries(call: Call, value: Any) -> tuple[Any, Any]:
    return _parted(call, [(entry, call.run_block(*entry)) for entry in sequence(value)])


def _parted(call: Call, said: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    judged = [(item, call.says_yes(answer)) for item, answer in said]
    return tuple(item for item, yes in judged if yes), tuple(item for item, yes in judged if not yes)


@REVERSE_EACH.dispatch("Iterable iterable")
def _reversed(value: Any) -> Iterator:
    return lazy(unbounded(value)[::-1], value)


@REVERSE_EACH.dispatch("Iterable iterable, Callable[1, 1] &block")
def _reverse_each(call: Call, value: Any) -> None:
    _run(call, sequence(lazy(unbounded(value)[::-1], value)))


@STEP.dispatch("Iterable iterable, Integer[1] step")
def _stepped(value: Any, step: int) -> Iterator:
    return lazy(unbounded(value)[::step], value, keeps_entries=True)


@STEP.dispatch("Iterable iterable, Integer[1] step, Callable[1, 1] &block")
def _step(call: Call, value: Any, step: int) -> None:
    _run(call, sequence(lazy(unbounded(value)[::step], value)))


def _run(call: Call, items: Any) -> None:
    try:
        for item in items:
            call.run_block(item)
    except Break:
        pass
