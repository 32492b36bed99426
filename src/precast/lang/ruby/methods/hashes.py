"""Methods of Hash. Those that it has from Enumerable are declared in `enumerable`."""

from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, call_method, method
from precast.lang.ruby.methods.enumerable import contains, pairs
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import equal, hash_key, inspect, is_truthy, plain_key

Args = list[Any]
_Hash = dict[Any, Any]


@method("Hash", "each", "each_pair")
def _each(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    if block is None:
        return pairs(this)
    for pair in pairs(this):
        execution.yield_to(block, pair)
    return this


@method("Hash", "each_key")
def _each_key(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    for key in list(this):
        execution.yield_to(block, plain_key(key))
    return this


@method("Hash", "each_value")
def _each_value(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    for value in list(this.values()):
        execution.yield_to(block, value)
    return this


def _filter(execution: Execution, this: _Hash, block: Proc | None, keeps: bool) -> _Hash:
    """Return the entries for which the truth of the block's result is `keeps`."""
    return {
        key: value
        for key, value in this.items()
        if is_truthy(execution.yield_to(block, plain_key(key), value)) == keeps
    }


@method("Hash", "select", "filter", "find_all", "keep_if")
def _select(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return _filter(execution, this, block, True)


@method("Hash", "reject")
def _reject(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return _filter(execution, this, block, False)


@method("Hash", "delete_if", "reject!")
def _delete_if(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    kept = _filter(execution, this, block, False)
    this.clear()
    this.update(kept)
    return this


@method("Hash", "[]")
def _get(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    key = hash_key(args[0])
    return this[key] if key in this else _get_missing(execution, this, args[0])


@method("Hash", "[]=", "store")
def _put(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    this[hash_key(args[0])] = args[1]
    return args[1]


@method("Hash", "fetch")
def _fetch(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    key = hash_key(args[0])
    if key in this:
        return this[key]
    if block is not None:
        return execution.yield_to(block, args[0])
    if len(args) > 1:
        return args[1]
    raise KeyError(f"key not found: {inspect(args[0])}")


@method("Hash", "dig")
def _dig(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    value = this.get(hash_key(args[0]))
    return value if len(args) == 1 or value is None else call_method(execution, value, "dig", args[1:], None)


@method("Hash", "key?", "has_key?", "include?", "member?")
def _has_key(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> bool:
    return hash_key(args[0]) in this


@method("Hash", "value?", "has_value?")
def _has_value(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> bool:
    return contains(execution, list(this.values()), args[0])


@method("Hash", "key")
def _key_of(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    return next((plain_key(key) for key, value in this.items() if equal(value, args[0])), None)


@method("Hash", "keys")
def _keys(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> list[Any]:
    return [plain_key(key) for key in this]


@method("Hash", "values")
def _values(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> list[Any]:
    return list(this.values())


@method("Hash", "values_at")
def _values_at(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> list[Any]:
    return [this.get(hash_key(arg)) for arg in args]


@method("Hash", "length", "size")
def _length(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> int:
    return len(this)


@method("Hash", "empty?")
def _empty(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> bool:
    return not this


@method("Hash", "delete")
def _delete(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    return this.pop(hash_key(args[0]), None)


@method("Hash", "merge")
def _merge(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    merged = dict(this)
    for other in args:
        for key, value in other.items():
            is_conflict = block is not None and key in merged
            merged[key] = execution.yield_to(block, plain_key(key), merged[key], value) if is_conflict else value
    return merged


@method("Hash", "update", "merge!")
def _update(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    merged = _merge(execution, this, args, block)
    this.clear()
    this.update(merged)
    return this


@method("Hash", "to_h", "to_hash")
def _to_h(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    if block is None:
        return this
    entries = [execution.yield_to(block, plain_key(key), value) for key, value in this.items()]
    return {hash_key(key): value for key, value in entries}


@method("Hash", "invert")
def _invert(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return {hash_key(value): plain_key(key) for key, value in this.items()}


@method("Hash", "compact")
def _compact(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return {key: value for key, value in this.items() if value is not None}


@method("Hash", "transform_values")
def _transform_values(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return {key: execution.yield_to(block, value) for key, value in this.items()}


@method("Hash", "transform_keys")
def _transform_keys(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return {hash_key(execution.yield_to(block, plain_key(key))): value for key, value in this.items()}


@method("Hash", "slice")
def _slice(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    keys = [hash_key(arg) for arg in args]
    return {key: this[key] for key in keys if key in this}


@method("Hash", "except")
def _except(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    excluded = [hash_key(arg) for arg in args]
    return {key: value for key, value in this.items() if key not in excluded}


@method("Hash", "clear")
def _clear(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    this.clear()
    return this


@method("Hash", "any?")
def _any(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> bool:
    if block is None:
        return bool(this)
    return any(is_truthy(execution.yield_to(block, plain_key(key), value)) for key, value in this.items())


assert "map" in METHODS["Hash"], "`enumerable` is loaded first, so that the methods of this file replace its own"


def _get_missing(execution: Execution, this: _Hash, key: Any) -> Any:
    """Return the default of a hash for a missing key."""
    if not isinstance(this, DefaultHash):
        return None
    return this.value if this.block is None else execution.yield_to(this.block, this, key)


class DefaultHash(dict[Any, Any]):
    """A hash with a default for missing keys: a value, or a block that makes one."""

    def __init__(self, value: Any, block: Proc | None) -> None:
        super().__init__()
        self.value = value
        self.block = block


@method("Hash", "default=")
def _set_default(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="a default that is set later")


@method("Hash", "default")
def _default(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    return this.value if isinstance(this, DefaultHash) else None


@method("Hash", "fetch_values")
def _fetch_values(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> list[Any]:
    return [call_method(execution, this, "fetch", [arg], block) for arg in args]


@method("Hash", "shift")
def _shift(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    if not this:
        return None
    key = next(iter(this))
    return [plain_key(key), this.pop(key)]


@method("Hash", "replace")
def _replace(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    given = dict(args[0])
    this.clear()
    this.update(given)
    return this


@method("Hash", "flatten")
def _flatten(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> list[Any]:
    items = [item for pair in pairs(this) for item in pair]
    return items if not args or args[0] == 1 else call_method(execution, items, "flatten", [int(args[0]) - 1], None)


@method("Hash", "find_index")
def _find_index(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    return call_method(execution, pairs(this), "index", args, block)


@method("Hash", "assoc")
def _assoc(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    key = hash_key(args[0])
    return [args[0], this[key]] if key in this else None


@method("Hash", "to_proc")
def _to_proc(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Proc:
    return Proc(1, lambda key: this.get(hash_key(key)))


@method("Hash", "to_set")
def _to_set(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> Any:
    return call_method(execution, pairs(this), "to_set", [], None)


@method("Hash", "<=")
def _is_subset(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> bool:
    return all(key in args[0] and equal(value, args[0][key]) for key, value in this.items())


@method("Hash", ">=")
def _is_superset(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> bool:
    return bool(_is_subset(execution, args[0], [this], None))


@method("Hash", "rehash", "compare_by_identity")
def _itself(execution: Execution, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return this


def _declare_changing() -> None:
    """Declare `select!` and the like, which change the hash in place; some return nil if nothing changes."""
    for name in ("select", "filter", "compact", "transform_values", "transform_keys", "slice", "except"):
        method_ = METHODS["Hash"][name]

        def change(
            execution: Execution, this: _Hash, args: Args, block: Proc | None, method_: Any = method_, name: str = name
        ) -> Any:
            now = method_(execution, this, args, block)
            is_same = len(now) == len(this)
            this.clear()
            this.update(now)
            return None if is_same and name in ("select", "filter", "compact") else this

        METHODS["Hash"][f"{name}!"] = change
    METHODS["Hash"]["keep_if"] = lambda execution, this, args, block: (
        METHODS["Hash"]["select!"](execution, this, args, block) or this
    )


_declare_changing()
