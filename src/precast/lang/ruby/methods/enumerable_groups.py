"""Further methods of Enumerable: those that group, filter by patterns, and repeat; and those of Range itself."""

from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import call_method, method
from precast.lang.ruby.methods.enumerable import enumerable
from precast.lang.ruby.methods.objects import compare, covers
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import Range, equal, is_truthy, range_items

Args = list[Any]


def _split_between(execution: Execution, this: list[Any], block: Proc | None, splits_if: bool) -> list[Any]:
    groups: list[list[Any]] = []
    for at, item in enumerate(this):
        if at and is_truthy(execution.yield_to(block, this[at - 1], item)) != splits_if:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


@enumerable("slice_when")
def _slice_when(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return _split_between(execution, this, block, True)


@enumerable("chunk_while")
def _chunk_while(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return _split_between(execution, this, block, False)


@enumerable("slice_before", "slice_after")
def _slice_before(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    raise issues.NOT_IN_SUBSET.error(construct="slice_before and slice_after")


@enumerable("chunk")
def _chunk(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    chunks: list[list[Any]] = []
    for item in this:
        key = execution.yield_to(block, item)
        if chunks and equal(chunks[-1][0], key):
            chunks[-1][1].append(item)
        else:
            chunks.append([key, [item]])
    return chunks


@enumerable("grep")
def _grep(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return _matching(execution, this, args[0], block, True)


@enumerable("grep_v")
def _grep_v(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return _matching(execution, this, args[0], block, False)


def _matching(execution: Execution, this: list[Any], pattern: Any, block: Proc | None, keeps: bool) -> list[Any]:
    return [
        item if block is None else execution.yield_to(block, item)
        for item in this
        if is_truthy(call_method(execution, pattern, "===", [item], None)) == keeps
    ]


@enumerable("take_while")
def _take_while(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    taken: list[Any] = []
    for item in this:
        if not is_truthy(execution.yield_to(block, item)):
            break
        taken.append(item)
    return taken


@enumerable("drop_while")
def _drop_while(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    for at, item in enumerate(this):
        if not is_truthy(execution.yield_to(block, item)):
            return this[at:]
    return []


@enumerable("each_entry")
def _each_entry(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    for item in this:
        execution.yield_to(block, item)
    return this


@enumerable("cycle")
def _cycle(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    is_endless = not args or args[0] is None
    items = this if is_endless else this * min(int(args[0]), 100_000 // (len(this) or 1))
    if block is None and not is_endless:
        return items
    while items:
        for item in items:
            execution.yield_to(block, item)
        if not is_endless:
            break
    return None


@enumerable("minmax_by")
def _minmax_by(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    low = call_method(execution, this, "min_by", [], block)
    return [low, call_method(execution, this, "max_by", [], block)]


@enumerable("chain")
def _chain(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [*this, *(item for arg in args for item in call_method(execution, arg, "to_a", [], None))]


@enumerable("lazy")
def _lazy(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    """Return the items: a lazy chain over a finite collection has the same results."""
    return list(this)


@enumerable("force", "eager", "each_item")
def _force(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this


@enumerable("with_object")
def _with_object(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    for item in this:
        execution.yield_to(block, item, args[0])
    return args[0]


# Range


@method("Range", "begin")
def _begin(execution: Execution, this: Range, args: Args, block: Proc | None) -> Any:
    return this.first


@method("Range", "end")
def _end(execution: Execution, this: Range, args: Args, block: Proc | None) -> Any:
    return this.last


@method("Range", "first")
def _first(execution: Execution, this: Range, args: Args, block: Proc | None) -> Any:
    return this.first if not args else range_items(_limited(this, int(args[0])))[: int(args[0])]


def _limited(this: Range, count: int) -> Range:
    if this.last is None and isinstance(this.first, int):
        return Range(this.first, this.first + count, True)
    return this


@method("Range", "last")
def _last(execution: Execution, this: Range, args: Args, block: Proc | None) -> Any:
    return this.last if not args else range_items(this)[-int(args[0]) :]


@method("Range", "exclude_end?")
def _excludes_end(execution: Execution, this: Range, args: Args, block: Proc | None) -> bool:
    return this.is_exclusive


@method("Range", "cover?", "===")
def _cover(execution: Execution, this: Range, args: Args, block: Proc | None) -> bool:
    other = args[0]
    if isinstance(other, Range):
        return covers(execution, this, other.first) and (
            covers(execution, this, other.last) or (other.is_exclusive and equal(other.last, this.last))
        )
    return covers(execution, this, other)


@method("Range", "include?", "member?")
def _include(execution: Execution, this: Range, args: Args, block: Proc | None) -> bool:
    if isinstance(this.first, str) and isinstance(this.last, str):
        return any(item == args[0] for item in range_items(this))
    return covers(execution, this, args[0])


@method("Range", "each")
def _each(execution: Execution, this: Range, args: Args, block: Proc | None) -> Any:
    if this.last is None and isinstance(this.first, int):
        number = this.first
        while True:
            execution.yield_to(block, number)
            number += 1
    if this.first is not None and not isinstance(this.first, int | str):
        return _each_by_succ(execution, this, block)
    items = range_items(this)
    if block is None:
        return items
    for item in items:
        execution.yield_to(block, item)
    return this


def _each_by_succ(execution: Execution, this: Range, block: Proc | None) -> Any:
    """Step through a range of objects by their `succ`, as of addresses."""
    item, items = this.first, []
    while (order := compare(execution, item, this.last)) < 0 or (order == 0 and not this.is_exclusive):
        execution.count_step()
        items.append(item)
        if block is not None:
            execution.yield_to(block, item)
        item = call_method(execution, item, "succ", [], None)
    return items if block is None else this


@method("Range", "sum")
def _sum(execution: Execution, this: Range, args: Args, block: Proc | None) -> Any:
    return call_method(execution, range_items(this), "sum", args, block)


@method("Range", "hash", "eql?")
def _range_equal(execution: Execution, this: Range, args: Args, block: Proc | None) -> bool:
    return bool(args) and equal(this, args[0])
