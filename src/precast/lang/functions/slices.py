"""slice, group_by, partition, reverse_each, step: functions that split a sequence or iterate in another order."""

from typing import Any

from precast.lang.control_flow import Break
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.functions.sequences import entries, make_iterator, sequence, unbounded
from precast.lang.issues import functions as issues
from precast.lang.values.base import Hash, Iterator, identity_of

SLICE = Function(
    "slice",
    "Cuts a sequence into arrays of a size. A block of one parameter gets each array; a block of several gets its elements, "
    "filled up with undef, or with empty arrays for a hash.",
    unknowns=Unknowns.FLOW,
)
GROUP_BY = Function(
    "group_by",
    "Returns a hash of each result of the block and the elements that gave it.",
    unknowns=Unknowns.FLOW,
)
PARTITION = Function(
    "partition",
    "Returns two arrays: the elements for which the block returns true, and the others.",
    unknowns=Unknowns.FLOW,
)
REVERSE_EACH = Function(
    "reverse_each",
    "Iterates from the last element to the first; without a block, returns an Iterator.",
    unknowns=Unknowns.FLOW,
)
STEP = Function(
    "step",
    "Iterates over every nth element from the first; without a block, returns an Iterator.",
    unknowns=Unknowns.FLOW,
)


@SLICE.dispatch("Hash hash, Integer[1] slice_size, Callable &block?", pure=False)
def _slice_hash(call: Call, value: Hash, size: int) -> Any:
    return _call_with_slices(call, value, entries(value), size, missing=())


@SLICE.dispatch("Iterable enumerable, Integer[1] slice_size, Callable &block?", pure=False)
def _slice(call: Call, value: Any, size: int) -> Any:
    return _call_with_slices(call, value, sequence(value), size)


def _call_with_slices(call: Call, value: Any, items: Any, size: int, missing: Any = None) -> Any:
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
    return _group(call, [(item, call.run_block(item)) for item in sequence(value)])


@GROUP_BY.dispatch("Array array, Callable[2, 2] &block >> Hash")
def _group_indexed(call: Call, value: Any) -> Hash:
    return _group(call, [(item, call.run_block(index, item)) for index, item in enumerate(value)])


@GROUP_BY.dispatch("Collection collection, Callable[2, 2] &block >> Hash")
def _group_entries(call: Call, value: Any) -> Hash:
    return _group(call, [(entry, call.run_block(*entry)) for entry in sequence(value)])


def _group(call: Call, results: Any) -> Hash:
    groups: dict[Any, tuple[Any, list[Any]]] = {}
    for item, result in results:
        key = call.host.concrete(result, call.span)
        groups.setdefault(identity_of(key), (key, []))[1].append(item)
    return Hash.of((key, tuple(items)) for key, items in groups.values())


@PARTITION.dispatch("Collection collection, Callable[1, 1] &block >> Tuple[Array, Array]")
def _partition_values(call: Call, value: Any) -> tuple[Any, Any]:
    return _partition(call, [(item, call.run_block(item)) for item in sequence(value)])


@PARTITION.dispatch("Array array, Callable[2, 2] &block >> Tuple[Array, Array]")
def _partition_indexed(call: Call, value: Any) -> tuple[Any, Any]:
    return _partition(call, [(item, call.run_block(index, item)) for index, item in enumerate(value)])


@PARTITION.dispatch("Collection collection, Callable[2, 2] &block >> Tuple[Array, Array]")
def _partition_entries(call: Call, value: Any) -> tuple[Any, Any]:
    return _partition(call, [(entry, call.run_block(*entry)) for entry in sequence(value)])


def _partition(call: Call, results: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    tested = [(item, call.is_truthy(result)) for item, result in results]
    return tuple(item for item, is_true in tested if is_true), tuple(item for item, is_true in tested if not is_true)


@REVERSE_EACH.dispatch("Iterable iterable")
def _reversed(value: Any) -> Iterator:
    return make_iterator(unbounded(value)[::-1], value)


@REVERSE_EACH.dispatch("Iterable iterable, Callable[1, 1] &block")
def _reverse_each(call: Call, value: Any) -> None:
    _run(call, sequence(make_iterator(unbounded(value)[::-1], value)))


@STEP.dispatch("Iterable iterable, Integer[1] step")
def _stepped(value: Any, step: int) -> Iterator:
    return make_iterator(unbounded(value)[::step], value, keeps_entries=True)


@STEP.dispatch("Iterable iterable, Integer[1] step, Callable[1, 1] &block")
def _step(call: Call, value: Any, step: int) -> None:
    _run(call, sequence(make_iterator(unbounded(value)[::step], value)))


def _run(call: Call, items: Any) -> None:
    try:
        for item in items:
            call.run_block(item)
    except Break:
        pass
