"""Methods of Array. Those of Enumerable stand with it."""

import itertools
from typing import Any

from precast.lang.ruby.erb.rendering import Rendering
from precast.lang.ruby.erb.values import Proc, Range, equal, hash_key, is_true, text_of, to_s
from precast.lang.ruby.methods.calls import METHODS, call_method, method, shown
from precast.lang.ruby.methods.enumerable import contains, test_of, unique
from precast.lang.ruby.methods.texts import span_of

Args = list[Any]


@method("Array", "each")
def _each(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if block is not None:
        for item in list(this):
            rendering.yield_to(block, item)
    return this


@method("Array", "with_index")
def _with_index(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    start = int(args[0]) if args else 0
    return [rendering.yield_to(block, item, at) for at, item in enumerate(this, start)]


@method("Array", "select", "filter", "find_all", "keep_if")
def _select(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [item for item in this if is_true(rendering.yield_to(block, item))]


@method("Array", "reject", "delete_if")
def _reject(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [item for item in this if not is_true(rendering.yield_to(block, item))]


@method("Array", "index", "find_index")
def _index_of(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> int | None:
    if args:
        return next((at for at, item in enumerate(this) if equal(item, args[0])), None)
    is_it = test_of(rendering, block, args)
    return next((at for at, item in enumerate(this) if is_it(item)), None)


@method("Array", "step", "%")
def _step(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    """Of a range, which comes here as its items."""
    return _each(rendering, this[:: int(args[0])], [], block)


@method("Array", "combination")
def _combination(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    found = [list(one) for one in itertools.islice(itertools.combinations(this, int(args[0])), 100_000)]
    return _each(rendering, found, [], block)


@method("Array", "to_h")
def _to_h(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> dict[Any, Any]:
    items = this if block is None else [rendering.yield_to(block, item) for item in this]
    return {hash_key(key): value for key, value in items}


@method("Array", "last")
def _last(rendering: Rendering, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this[max(0, len(this) - int(args[0])) :] if args else this[-1] if this else None


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
