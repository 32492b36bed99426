"""Methods of Enumerable: arrays have them over their items, and hashes over their pairs."""

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, Method, call_method
from precast.lang.ruby.methods.objects import compare, sort_key
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import Symbol, equal, hash_key, is_truthy, plain_key

Args = list[Any]


def enumerable(*names: str) -> Callable[[Method], Method]:
    """Declare a method of arrays, which hashes also have over their pairs."""

    def add(implementation: Method) -> Method:
        for name in names:
            METHODS.setdefault("Array", {})[name] = implementation
            METHODS.setdefault("Hash", {})[name] = lambda execution, this, args, block: implementation(
                execution, pairs(this), args, block
            )
        return implementation

    return add


def pairs(this: dict[Any, Any]) -> list[Any]:
    return [[plain_key(key), value] for key, value in this.items()]


def contains(execution: Execution, items: list[Any], value: Any) -> bool:
    return any(equal(execution.resolve(item), value) for item in items)


def item_test(execution: Execution, block: Proc | None, args: Args) -> Callable[[Any], bool]:
    """Return the test of `any?` and the like: by a pattern, by a block, or by truth."""
    if args:
        pattern = args[0]
        return lambda item: is_truthy(call_method(execution, pattern, "===", [item], None))
    if block is None:
        return is_truthy
    return lambda item: is_truthy(execution.yield_to(block, item))


@enumerable("map", "collect")
def _map(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return list(this) if block is None else [execution.yield_to(block, item) for item in this]


@enumerable("flat_map", "collect_concat")
def _flat_map(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    items: list[Any] = []
    for item in this:
        value = execution.yield_to(block, item)
        items += value if isinstance(value, list) else [value]
    return items


@enumerable("each_with_index")
def _each_with_index(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if block is None:
        return [[item, at] for at, item in enumerate(this)]
    for at, item in enumerate(this):
        execution.yield_to(block, item, at)
    return this


@enumerable("each_index")
def _each_index(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if block is None:
        return list(range(len(this)))
    for at in range(len(this)):
        execution.yield_to(block, at)
    return this


@enumerable("each_with_object")
def _each_with_object(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    for item in this:
        execution.yield_to(block, item, args[0])
    return args[0]


@enumerable("each_slice")
def _each_slice(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    size = int(args[0])
    slices = [this[at : at + size] for at in range(0, len(this), size)]
    if block is None:
        return slices
    for items in slices:
        execution.yield_to(block, items)
    return None


@enumerable("partition")
def _partition(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    sides: tuple[list[Any], list[Any]] = ([], [])
    for item in this:
        sides[not is_truthy(execution.yield_to(block, item))].append(item)
    return list(sides)


@enumerable("find", "detect")
def _find(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return next((item for item in this if is_truthy(execution.yield_to(block, item))), None)


@enumerable("any?")
def _any(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> bool:
    return any(map(item_test(execution, block, args), this))


@enumerable("all?")
def _all(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> bool:
    return all(map(item_test(execution, block, args), this))


@enumerable("none?")
def _none(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> bool:
    return not any(map(item_test(execution, block, args), this))


@enumerable("one?")
def _one(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> bool:
    return sum(map(item_test(execution, block, args), this)) == 1


@enumerable("count")
def _count(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> int:
    return len(this) if block is None and not args else sum(map(item_test(execution, block, args), this))


@enumerable("inject", "reduce")
def _reduce(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    items = list(this)
    name = args.pop().name if args and isinstance(args[-1], Symbol) else ""
    value = args[0] if args else items.pop(0) if items else None
    for item in items:
        value = call_method(execution, value, name, [item], None) if name else execution.yield_to(block, value, item)
    return value


@enumerable("sum")
def _sum(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    value = args[0] if args else 0
    for item in this:
        value = call_method(execution, value, "+", [item if block is None else execution.yield_to(block, item)], None)
    return value


@enumerable("sort")
def _sort(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if block is None:
        return sorted(this, key=sort_key(execution))
    return sorted(this, key=cmp_to_key(lambda left, right: int(execution.yield_to(block, left, right))))


@enumerable("sort_by")
def _sort_by(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    key = sort_key(execution)
    return sorted(this, key=lambda item: key(execution.yield_to(block, item)))


def _extreme(execution: Execution, this: list[Any], block: Proc | None, sign: int) -> Any:
    best: Any = None
    for at, item in enumerate(this):
        value = item if block is None else execution.yield_to(block, item)
        if at == 0 or sign * compare(execution, value, best[0]) > 0:
            best = (value, item)
    return None if best is None else best[1]


@enumerable("max", "max_by")
def _max(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return _extreme(execution, this, block, 1)


@enumerable("min", "min_by")
def _min(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return _extreme(execution, this, block, -1)


@enumerable("minmax")
def _minmax(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [_extreme(execution, this, block, -1), _extreme(execution, this, block, 1)]


@enumerable("each_cons")
def _each_cons(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    size = int(args[0])
    groups = [this[at : at + size] for at in range(len(this) - size + 1)]
    if block is None:
        return groups
    for group in groups:
        execution.yield_to(block, group)
    return this


@enumerable("tally")
def _tally(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    for item in this:
        counts[hash_key(item)] = counts.get(hash_key(item), 0) + 1
    return counts


@enumerable("filter_map")
def _filter_map(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [value for item in this if is_truthy(value := execution.yield_to(block, item))]


@enumerable("group_by")
def _group_by(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> dict[Any, Any]:
    groups: dict[Any, Any] = {}
    for item in this:
        groups.setdefault(hash_key(execution.yield_to(block, item)), []).append(item)
    return groups


@enumerable("zip")
def _zip(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [[item, *(array[at] if at < len(array) else None for array in args)] for at, item in enumerate(this)]


@enumerable("to_a", "entries")
def _to_a(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this


@enumerable("first")
def _first(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this[: int(args[0])] if args else this[0] if this else None


@enumerable("take")
def _take(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this[: int(args[0])]


@enumerable("drop")
def _drop(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this[int(args[0]) :]


@enumerable("include?", "member?")
def _include(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> bool:
    return contains(execution, this, args[0])


@enumerable("reverse_each")
def _reverse_each(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    for item in reversed(this):
        execution.yield_to(block, item)
    return this


@enumerable("uniq")
def _uniq(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return unique(execution, this, block)


def unique(execution: Execution, this: list[Any], block: Proc | None) -> list[Any]:
    """Return the items without those that equal an earlier one."""
    kept: dict[Any, Any] = {}
    for item in this:
        value = item if block is None else execution.yield_to(block, item)
        kept.setdefault(_identity(execution.resolve(value)), item)
    return list(kept.values())


def _identity(value: Any) -> Any:
    """Return what two values share for which `eql?` is true."""
    key = hash_key(value)
    try:
        hash(key)
    except TypeError:
        return id(value)
    return key
