"""Methods of Array. Those that it has from Enumerable are declared in `enumerable`."""

import itertools
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, call_method, implicit_name, method, plain_text
from precast.lang.ruby.methods.enumerable import contains, item_test, unique
from precast.lang.ruby.methods.strings import slice_bounds
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import MAX_ITEMS, Range, equal, hash_key, is_truthy, join_pieces, to_s

Args = list[Any]
# Methods that also exist with `!`.
_MUTATING_FORMS = (
    "sort", "uniq", "map", "collect", "select", "filter", "reject", "flatten", "compact", "reverse", "sort_by", "rotate",
)  # fmt: skip


@method("Array", "each")
def _each(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if block is not None:
        for item in list(this):
            execution.yield_to(block, item)
    return this


@method("Array", "with_index")
def _with_index(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    start = int(args[0]) if args else 0
    if block is None:
        return [[item, at] for at, item in enumerate(this, start)]
    return [execution.yield_to(block, item, at) for at, item in enumerate(this, start)]


@method("Array", "select", "filter", "find_all", "keep_if")
def _select(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [item for item in this if is_truthy(execution.yield_to(block, item))]


@method("Array", "reject", "delete_if")
def _reject(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [item for item in this if not is_truthy(execution.yield_to(block, item))]


@method("Array", "index", "find_index")
def _index_of(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> int | None:
    if args:
        return next((at for at, item in enumerate(this) if equal(item, args[0])), None)
    test = item_test(execution, block, args)
    return next((at for at, item in enumerate(this) if test(item)), None)


@method("Array", "step", "%")
def _step(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    """Step through a range, which arrives here as its items."""
    stepped = this[:: int(args[0])]
    return stepped if block is None else _each(execution, stepped, [], block)


@method("Array", "combination")
def _combination(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    combinations = [list(items) for items in itertools.islice(itertools.combinations(this, int(args[0])), 100_000)]
    return combinations if block is None else _each(execution, combinations, [], block)


@method("Array", "to_h")
def _to_h(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> dict[Any, Any]:
    items = this if block is None else [execution.yield_to(block, item) for item in this]
    return {hash_key(key): value for key, value in items}


@method("Array", "last")
def _last(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this[max(0, len(this) - int(args[0])) :] if args else this[-1] if this else None


@method("Array", "length", "size")
def _length(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> int:
    return len(this)


@method("Array", "empty?")
def _empty(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> bool:
    return not this


@method("Array", "[]", "slice", "at")
def _at(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    first = args[0]
    if isinstance(first, Range):
        start, stop = slice_bounds(first, len(this))
        return this[start:stop] if 0 <= start <= len(this) else None
    if isinstance(first, bool) or not isinstance(first, int | float):
        raise TypeError("no implicit conversion into Integer")
    start = int(first) + (len(this) if first < 0 else 0)
    if len(args) > 1:
        return this[start : start + int(args[1])] if 0 <= start <= len(this) else None
    return this[start] if 0 <= start < len(this) else None


@method("Array", "dig")
def _dig(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    value = _at(execution, this, args[:1], None)
    return value if len(args) == 1 or value is None else call_method(execution, value, "dig", args[1:], None)


@method("Array", "fetch")
def _fetch(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    at = int(args[0])
    if -len(this) <= at < len(this):
        return this[at]
    if block is not None:
        return execution.yield_to(block, args[0])
    if len(args) > 1:
        return args[1]
    raise IndexError(f"index {at} outside of array bounds")


@method("Array", "values_at")
def _values_at(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [_at(execution, this, [arg], None) for arg in args]


@method("Array", "[]=")
def _put(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    at = int(args[0]) + (len(this) if args[0] < 0 else 0)
    if at > len(this) + 100_000:
        raise IndexError(f"index {at} too big")
    this.extend([None] * (at + 1 - len(this)))
    this[at] = args[1]
    return args[1]


@method("Array", "<<", "push", "append")
def _push(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    this.extend(args)
    return this


@method("Array", "unshift", "prepend")
def _unshift(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    this[:0] = args
    return this


@method("Array", "insert")
def _insert(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    this[int(args[0]) : int(args[0])] = args[1:]
    return this


@method("Array", "pop")
def _pop(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this.pop() if this else None


@method("Array", "shift")
def _shift(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this.pop(0) if this else None


@method("Array", "concat")
def _concat(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    for arg in args:
        if len(this) + len(arg) > MAX_ITEMS:
            raise issues.TOO_LARGE.error(limit=MAX_ITEMS)
        this.extend(list(arg))
    return this


@method("Array", "delete")
def _delete(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    deleted = [item for item in this if equal(item, args[0])]
    this[:] = [item for item in this if not equal(item, args[0])]
    return deleted[-1] if deleted else None


@method("Array", "delete_at")
def _delete_at(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return this.pop(int(args[0])) if -len(this) <= int(args[0]) < len(this) else None


@method("Array", "clear")
def _clear(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    this.clear()
    return this


@method("Array", "+")
def _add(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    if not isinstance(args[0], list):
        raise TypeError(f"no implicit conversion of {implicit_name(args[0])} into Array")
    if len(this) + len(args[0]) > MAX_ITEMS:
        raise issues.TOO_LARGE.error(limit=MAX_ITEMS)
    return this + args[0]


@method("Array", "-", "difference")
def _subtract(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [item for item in this if not contains(execution, args[0], item)]


@method("Array", "&", "intersection")
def _intersect(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return unique(execution, [item for item in this if contains(execution, args[0], item)], None)


@method("Array", "|", "union")
def _union(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return unique(execution, [*this, *args[0]], None)


@method("Array", "*")
def _times(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    return _join(execution, this, args, None) if isinstance(args[0], str) else this * min(int(args[0]), 100_000)


@method("Array", "join")
def _join(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> Any:
    separator = plain_text(execution, args[0]) if args else ""
    pieces: list[Any] = []
    for at, item in enumerate(this):
        if at:
            pieces.append(separator)
        pieces.append(_join(execution, item, args, None) if isinstance(item, list) else to_s(item))
    return join_pieces(pieces)


@method("Array", "flatten")
def _flatten(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    depth = int(args[0]) if args else -1
    items: list[Any] = []
    for item in this:
        if isinstance(item, list) and depth != 0:
            items += _flatten(execution, item, [depth - 1], None)
        else:
            items.append(item)
    return items


@method("Array", "compact")
def _compact(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [item for item in this if item is not None]


@method("Array", "reverse")
def _reverse(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this[::-1]


@method("Array", "transpose")
def _transpose(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return [list(column) for column in zip(*this, strict=True)]


@method("Array", "rotate")
def _rotate(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    by = (int(args[0]) if args else 1) % (len(this) or 1)
    return this[by:] + this[:by]


@method("Array", "to_ary")
def _to_ary(execution: Execution, this: list[Any], args: Args, block: Proc | None) -> list[Any]:
    return this


def _declare_mutating() -> None:
    """Declare `sort!` and the like, which change the array in place."""
    for name in _MUTATING_FORMS:
        method_ = METHODS["Array"][name]

        def change(
            execution: Execution, this: list[Any], args: Args, block: Proc | None, method_: Any = method_
        ) -> list[Any]:
            this[:] = method_(execution, this, args, block)
            return this

        METHODS["Array"][f"{name}!"] = change
    METHODS["Array"]["delete_if"] = METHODS["Array"]["reject!"]


_declare_mutating()
