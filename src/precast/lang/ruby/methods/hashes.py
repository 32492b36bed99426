"""Methods of Hash. Those that it has from Enumerable are declared in `enumerable`."""

from typing import Any

from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, call_method, method
from precast.lang.ruby.methods.enumerable import contains, pairs
from precast.lang.ruby.values import Proc, equal, hash_key, inspect, is_truthy, plain_key

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
    return this.get(hash_key(args[0]))


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
