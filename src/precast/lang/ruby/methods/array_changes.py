"""Further methods of Array: combinations, searches in pairs, and changes of a part."""

import itertools
from collections.abc import Iterable
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import call_method, method
from precast.lang.ruby.methods.strings import slice_bounds
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import Range, equal, is_truthy

Args = list[Any]
_MAX_ITEMS = 100_000


def _each_of(execution: Execution, found: Iterable[Any], block: Proc | None) -> list[Any]:
    items = [list(items) for items in itertools.islice(found, _MAX_ITEMS + 1)]
    if len(items) > _MAX_ITEMS:
        raise issues.TOO_LARGE.error(limit=_MAX_ITEMS)
    for item in items if block is not None else ():
        execution.yield_to(block, item)
    return items


@method("Array", "product")
def _product(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return _each_of(execution, itertools.product(this, *args), block)


@method("Array", "permutation")
def _permutation(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return _each_of(execution, itertools.permutations(this, int(args[0]) if args else None), block)


@method("Array", "repeated_combination")
def _repeated(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return _each_of(execution, itertools.combinations_with_replacement(this, int(args[0])), block)


@method("Array", "assoc")
def _assoc(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return next((item for item in this if isinstance(item, list) and item and equal(item[0], args[0])), None)


@method("Array", "rassoc")
def _rassoc(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return next((item for item in this if isinstance(item, list) and len(item) > 1 and equal(item[1], args[0])), None)


@method("Array", "rindex")
def _rindex(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> int | None:
    for at in range(len(this) - 1, -1, -1):
        if equal(this[at], args[0]) if args else is_truthy(execution.yield_to(block, this[at])):
            return at
    return None


@method("Array", "bsearch")
def _bsearch(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return next((item for item in this if execution.yield_to(block, item) in (True, 0)), None)


@method("Array", "fill")
def _fill(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    for at in range(len(this)):
        this[at] = args[0] if block is None else execution.yield_to(block, at)
    return this


@method("Array", "replace")
def _replace(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    this[:] = args[0]
    return this


@method("Array", "slice!")
def _slice(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    taken = call_method(execution, this, "[]", args, None)
    if taken is None:
        return None
    if isinstance(args[0], Range):
        start, stop = slice_bounds(args[0], len(this))
        del this[start:stop]
    else:
        start = int(args[0]) + (len(this) if args[0] < 0 else 0)
        del this[start : start + (int(args[1]) if len(args) > 1 else 1)]
    return taken


@method("Array", "intersect?")
def _intersects(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> bool:
    return any(equal(item, other) for item in this for other in args[0])


@method("Array", "deconstruct")
def _itself(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this


@method("Array", "shuffle", "sample", "shuffle!")
def _random(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="a random order")


@method("Array", "<=>")
def _order(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    if not isinstance(args[0], list):
        return None
    for left, right in zip(this, args[0], strict=False):
        order = call_method(execution, left, "<=>", [right], None)
        if order != 0:
            return order
    return (len(this) > len(args[0])) - (len(this) < len(args[0]))
