"""Methods of Enumerable: arrays have them, and hashes over their pairs."""

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from precast.lang.ruby.erb.rendering import Rendering
from precast.lang.ruby.erb.values import Proc, Symbol, equal, hash_key, is_true, plain_key
from precast.lang.ruby.methods.calls import METHODS, Method, call_method
from precast.lang.ruby.methods.general import compare, sort_key

Args = list[Any]


def enumerable(*names: str) -> Callable[[Method], Method]:
    """Declares a method of Array that hashes have too, over their pairs."""

    def add(made: Method) -> Method:
        for name in names:
            METHODS.setdefault("Array", {})[name] = made
            METHODS.setdefault("Hash", {})[name] = lambda rendering, this, args, block: made(
                rendering, pairs(this), args, block
            )
        return made

    return add


def pairs(this: dict[Any, Any]) -> list[Any]:
    return [[plain_key(key), value] for key, value in this.items()]


def contains(rendering: Rendering, items: list[Any], value: Any) -> bool:
    return any(equal(rendering.known(item), value) for item in items)


def test_of(rendering: Rendering, block: Proc | None, args: Args) -> Callable[[Any], bool]:
    """What a block, a value or nothing at all asks of an item."""
    if args:
        wanted = args[0]
        return lambda item: is_true(call_method(rendering, wanted, "===", [item], None))
    if block is None:
        return is_true
    return lambda item: is_true(rendering.yield_to(block, item))


@enumerable("map", "collect")
def _map(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return list(this) if block is None else [rendering.yield_to(block, item) for item in this]


@enumerable("flat_map", "collect_concat")
def _flat_map(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    found: list[Any] = []
    for item in this:
        value = rendering.yield_to(block, item)
        found += value if isinstance(value, list) else [value]
    return found


@enumerable("each_with_index")
def _each_with_index(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if block is None:
        return [[item, at] for at, item in enumerate(this)]
    for at, item in enumerate(this):
        rendering.yield_to(block, item, at)
    return this


@enumerable("each_index")
def _each_index(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if block is None:
        return list(range(len(this)))
    for at in range(len(this)):
        rendering.yield_to(block, at)
    return this


@enumerable("each_with_object")
def _each_with_object(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    for item in this:
        rendering.yield_to(block, item, args[0])
    return args[0]


@enumerable("each_slice")
def _each_slice(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    size = int(args[0])
    slices = [this[at : at + size] for at in range(0, len(this), size)]
    if block is None:
        return slices
    for one in slices:
        rendering.yield_to(block, one)
    return None


@enumerable("partition")
def _partition(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    sides: tuple[list[Any], list[Any]] = ([], [])
    for item in this:
        sides[not is_true(rendering.yield_to(block, item))].append(item)
    return list(sides)


@enumerable("find", "detect")
def _find(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return next((item for item in this if is_true(rendering.yield_to(block, item))), None)


@enumerable("any?")
def _any(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> bool:
    return any(map(test_of(rendering, block, args), this))


@enumerable("all?")
def _all(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> bool:
    return all(map(test_of(rendering, block, args), this))


@enumerable("none?")
def _none(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> bool:
    return not any(map(test_of(rendering, block, args), this))


@enumerable("one?")
def _one(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> bool:
    return sum(map(test_of(rendering, block, args), this)) == 1


@enumerable("count")
def _count(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> int:
    return len(this) if block is None and not args else sum(map(test_of(rendering, block, args), this))


@enumerable("inject", "reduce")
def _reduce(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    items = list(this)
    name = args.pop().name if args and isinstance(args[-1], Symbol) else ""
    value = args[0] if args else items.pop(0) if items else None
    for item in items:
        value = call_method(rendering, value, name, [item], None) if name else rendering.yield_to(block, value, item)
    return value


@enumerable("sum")
def _sum(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    value = args[0] if args else 0
    for item in this:
        value = call_method(rendering, value, "+", [item if block is None else rendering.yield_to(block, item)], None)
    return value


@enumerable("sort")
def _sort(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if block is None:
        return sorted(this, key=sort_key(rendering))
    return sorted(this, key=cmp_to_key(lambda left, right: int(rendering.yield_to(block, left, right))))


@enumerable("sort_by")
def _sort_by(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    key = sort_key(rendering)
    return sorted(this, key=lambda item: key(rendering.yield_to(block, item)))


def _extreme(rendering: Rendering, this: list[Any], block: Proc | None, sign: int) -> Any:
    best: Any = None
    for at, item in enumerate(this):
        value = item if block is None else rendering.yield_to(block, item)
        if at == 0 or sign * compare(rendering, value, best[0]) > 0:
            best = (value, item)
    return None if best is None else best[1]


@enumerable("max", "max_by")
def _max(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return _extreme(rendering, this, block, 1)


@enumerable("min", "min_by")
def _min(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return _extreme(rendering, this, block, -1)


@enumerable("minmax")
def _minmax(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [_extreme(rendering, this, block, -1), _extreme(rendering, this, block, 1)]


@enumerable("each_cons")
def _each_cons(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    size = int(args[0])
    groups = [this[at : at + size] for at in range(len(this) - size + 1)]
    if block is None:
        return groups
    for group in groups:
        rendering.yield_to(block, group)
    return this


@enumerable("tally")
def _tally(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for item in this:
        found[hash_key(item)] = found.get(hash_key(item), 0) + 1
    return found


@enumerable("filter_map")
def _filter_map(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [value for item in this if is_true(value := rendering.yield_to(block, item))]


@enumerable("group_by")
def _group_by(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for item in this:
        found.setdefault(hash_key(rendering.yield_to(block, item)), []).append(item)
    return found


@enumerable("zip")
def _zip(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [[item, *(other[at] if at < len(other) else None for other in args)] for at, item in enumerate(this)]


@enumerable("to_a", "entries")
def _to_a(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this


@enumerable("first")
def _first(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this[: int(args[0])] if args else this[0] if this else None


@enumerable("take")
def _take(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this[: int(args[0])]


@enumerable("drop")
def _drop(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this[int(args[0]) :]


@enumerable("include?", "member?")
def _include(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> bool:
    return contains(rendering, this, args[0])


@enumerable("reverse_each")
def _reverse_each(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    for item in reversed(this):
        rendering.yield_to(block, item)
    return this


@enumerable("uniq")
def _uniq(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return unique(rendering, this, block)


def unique(rendering: Rendering, this: list[Any], block: Proc | None) -> list[Any]:
    """Each once, the first of those that are alike."""
    seen: list[Any] = []
    found: list[Any] = []
    for item in this:
        value = item if block is None else rendering.yield_to(block, item)
        if not contains(rendering, seen, value):
            seen.append(value)
            found.append(item)
    return found
