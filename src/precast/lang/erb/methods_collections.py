"""Methods of Array; those of Enumerable take any collection as one."""

import itertools
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from precast.lang.erb.calls import METHODS, Method, call_method, method, shown
from precast.lang.erb.methods_general import compare, sort_key
from precast.lang.erb.methods_texts import span_of
from precast.lang.erb.rendering import Rendering
from precast.lang.erb.values import Proc, Range, Symbol, equal, hash_key, is_true, plain_key, text_of, to_s

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


@method("Array", "each")
def _each(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if block is not None:
        for item in list(this):
            rendering.yield_to(block, item)
    return this


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


@enumerable("each_with_index", "each_index")
def _each_with_index(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if block is None:
        return [[item, at] for at, item in enumerate(this)]
    for at, item in enumerate(this):
        rendering.yield_to(block, item, at)
    return this


@method("Array", "with_index")
def _with_index(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    start = int(args[0]) if args else 0
    return [rendering.yield_to(block, item, at) for at, item in enumerate(this, start)]


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


@method("Array", "select", "filter", "find_all", "keep_if")
def _select(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [item for item in this if is_true(rendering.yield_to(block, item))]


@method("Array", "reject", "delete_if")
def _reject(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [item for item in this if not is_true(rendering.yield_to(block, item))]


@enumerable("partition")
def _partition(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    sides: tuple[list[Any], list[Any]] = ([], [])
    for item in this:
        sides[not is_true(rendering.yield_to(block, item))].append(item)
    return list(sides)


@enumerable("find", "detect")
def _find(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return next((item for item in this if is_true(rendering.yield_to(block, item))), None)


@method("Array", "index", "find_index")
def _index_of(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> int | None:
    if args:
        return next((at for at, item in enumerate(this) if equal(item, args[0])), None)
    is_it = test_of(rendering, block, args)
    return next((at for at, item in enumerate(this) if is_it(item)), None)


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


@method("Array", "step", "%")
def _step(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    """Of a range, which comes here as its items."""
    return _each(rendering, this[:: int(args[0])], [], block)


@method("Array", "combination")
def _combination(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    found = [list(one) for one in itertools.islice(itertools.combinations(this, int(args[0])), 100_000)]
    return _each(rendering, found, [], block)


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


@method("Array", "to_h")
def _to_h(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> dict[Any, Any]:
    items = this if block is None else [rendering.yield_to(block, item) for item in this]
    return {hash_key(key): value for key, value in items}


@enumerable("first")
def _first(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this[: int(args[0])] if args else this[0] if this else None


@method("Array", "last")
def _last(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this[max(0, len(this) - int(args[0])) :] if args else this[-1] if this else None


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


@method("Array", "length", "size")
def _length(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> int:
    return len(this)


@method("Array", "empty?")
def _empty(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> bool:
    return not this


@method("Array", "[]", "slice", "at")
def _at(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    first = args[0]
    if isinstance(first, Range):
        start, stop = span_of(first, len(this))
        return this[start:stop] if 0 <= start <= len(this) else None
    if isinstance(first, bool) or not isinstance(first, int | float):
        raise TypeError("no implicit conversion into Integer")
    start = int(first) + (len(this) if first < 0 else 0)
    if len(args) > 1:
        return this[start : start + int(args[1])] if 0 <= start <= len(this) else None
    return this[start] if 0 <= start < len(this) else None


@method("Array", "dig")
def _dig(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    value = _at(rendering, this, args[:1], None)
    return value if len(args) == 1 or value is None else call_method(rendering, value, "dig", args[1:], None)


@method("Array", "fetch")
def _fetch(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    at = int(args[0])
    if -len(this) <= at < len(this):
        return this[at]
    if block is not None:
        return rendering.yield_to(block, args[0])
    if len(args) > 1:
        return args[1]
    raise IndexError(f"index {at} outside of array bounds")


@method("Array", "values_at")
def _values_at(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [_at(rendering, this, [arg], None) for arg in args]


@method("Array", "[]=")
def _put(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    at = int(args[0]) + (len(this) if args[0] < 0 else 0)
    if at > len(this) + 100_000:
        raise IndexError(f"index {at} too big")
    this.extend([None] * (at + 1 - len(this)))
    this[at] = args[1]
    return args[1]


@method("Array", "<<", "push", "append")
def _push(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    this.extend(args)
    return this


@method("Array", "unshift", "prepend")
def _unshift(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    this[:0] = args
    return this


@method("Array", "insert")
def _insert(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    this[int(args[0]) : int(args[0])] = args[1:]
    return this


@method("Array", "pop")
def _pop(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this.pop() if this else None


@method("Array", "shift")
def _shift(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this.pop(0) if this else None


@method("Array", "concat")
def _concat(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    for arg in args:
        this.extend(arg)
    return this


@method("Array", "delete")
def _delete(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    found = [item for item in this if equal(item, args[0])]
    this[:] = [item for item in this if not equal(item, args[0])]
    return found[-1] if found else None


@method("Array", "delete_at")
def _delete_at(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this.pop(int(args[0])) if -len(this) <= int(args[0]) < len(this) else None


@method("Array", "clear")
def _clear(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    this.clear()
    return this


@method("Array", "+")
def _add(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if not isinstance(args[0], list):
        raise TypeError("no implicit conversion into Array")
    return this + args[0]


@method("Array", "-", "difference")
def _subtract(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [item for item in this if not contains(rendering, args[0], item)]


@method("Array", "&", "intersection")
def _intersect(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return unique(rendering, [item for item in this if contains(rendering, args[0], item)], None)


@method("Array", "|", "union")
def _union(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return unique(rendering, [*this, *args[0]], None)


@method("Array", "*")
def _times(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return _join(rendering, this, args, None) if isinstance(args[0], str) else this * min(int(args[0]), 100_000)


@method("Array", "join")
def _join(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    separator = shown(rendering, args[0]) if args else ""
    pieces: list[Any] = []
    for at, item in enumerate(this):
        if at:
            pieces.append(separator)
        pieces.append(_join(rendering, item, args, None) if isinstance(item, list) else to_s(item))
    return text_of(pieces)


@method("Array", "flatten")
def _flatten(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    depth = int(args[0]) if args else -1
    found: list[Any] = []
    for item in this:
        if isinstance(item, list) and depth != 0:
            found += _flatten(rendering, item, [depth - 1], None)
        else:
            found.append(item)
    return found


@method("Array", "compact")
def _compact(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [item for item in this if item is not None]


@method("Array", "reverse")
def _reverse(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this[::-1]


@method("Array", "transpose")
def _transpose(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [list(column) for column in zip(*this, strict=True)]


@method("Array", "rotate")
def _rotate(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    by = (int(args[0]) if args else 1) % (len(this) or 1)
    return this[by:] + this[:by]


@method("Array", "to_ary")
def _to_ary(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this


def _declare_changing() -> None:
    """`sort!` and its kin change the array itself."""
    for name in (
        "sort",
        "uniq",
        "map",
        "collect",
        "select",
        "filter",
        "reject",
        "flatten",
        "compact",
        "reverse",
        "sort_by",
        "rotate",
    ):
        made = METHODS["Array"][name]

        def change(
            rendering: Rendering, this: list[Any], args: Args, block: Proc | None, made: Any = made
        ) -> list[Any]:
            this[:] = made(rendering, this, args, block)
            return this

        METHODS["Array"][f"{name}!"] = change
    METHODS["Array"]["delete_if"] = METHODS["Array"]["reject!"]


_declare_changing()
