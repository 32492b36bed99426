"""Methods of Hash. What Enumerable gives stands with arrays."""

from typing import Any

from precast.lang.ruby.erb.rendering import Rendering
from precast.lang.ruby.erb.values import Proc, equal, hash_key, inspect, is_true, plain_key
from precast.lang.ruby.methods.calls import METHODS, call_method, method
from precast.lang.ruby.methods.enumerable import contains, pairs

Args = list[Any]
_Hash = dict[Any, Any]


@method("Hash", "each", "each_pair")
def _each(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> Any:
    if block is None:
        return pairs(this)
    for pair in pairs(this):
        rendering.yield_to(block, pair)
    return this


@method("Hash", "each_key")
def _each_key(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    for key in list(this):
        rendering.yield_to(block, plain_key(key))
    return this


@method("Hash", "each_value")
def _each_value(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    for value in list(this.values()):
        rendering.yield_to(block, value)
    return this


def _chosen(rendering: Rendering, this: _Hash, block: Proc | None, wanted: bool) -> _Hash:
    return {
        key: value for key, value in this.items() if is_true(rendering.yield_to(block, plain_key(key), value)) == wanted
    }


@method("Hash", "select", "filter", "find_all", "keep_if")
def _select(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return _chosen(rendering, this, block, True)


@method("Hash", "reject")
def _reject(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return _chosen(rendering, this, block, False)


@method("Hash", "delete_if", "reject!")
def _delete_if(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    kept = _chosen(rendering, this, block, False)
    this.clear()
    this.update(kept)
    return this


@method("Hash", "[]")
def _get(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> Any:
    return this.get(hash_key(args[0]))


@method("Hash", "[]=", "store")
def _put(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> Any:
    this[hash_key(args[0])] = args[1]
    return args[1]


@method("Hash", "fetch")
def _fetch(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> Any:
    key = hash_key(args[0])
    if key in this:
        return this[key]
    if block is not None:
        return rendering.yield_to(block, args[0])
    if len(args) > 1:
        return args[1]
    raise KeyError(f"key not found: {inspect(args[0])}")


@method("Hash", "dig")
def _dig(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> Any:
    value = this.get(hash_key(args[0]))
    return value if len(args) == 1 or value is None else call_method(rendering, value, "dig", args[1:], None)


@method("Hash", "key?", "has_key?", "include?", "member?")
def _has_key(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> bool:
    return hash_key(args[0]) in this


@method("Hash", "value?", "has_value?")
def _has_value(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> bool:
    return contains(rendering, list(this.values()), args[0])


@method("Hash", "key")
def _key_of(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> Any:
    return next((plain_key(key) for key, value in this.items() if equal(value, args[0])), None)


@method("Hash", "keys")
def _keys(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> list[Any]:
    return [plain_key(key) for key in this]


@method("Hash", "values")
def _values(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> list[Any]:
    return list(this.values())


@method("Hash", "values_at")
def _values_at(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> list[Any]:
    return [this.get(hash_key(arg)) for arg in args]


@method("Hash", "length", "size")
def _length(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> int:
    return len(this)


@method("Hash", "empty?")
def _empty(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> bool:
    return not this


@method("Hash", "delete")
def _delete(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> Any:
    return this.pop(hash_key(args[0]), None)


@method("Hash", "merge")
def _merge(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    found = dict(this)
    for other in args:
        for key, value in other.items():
            is_both = block is not None and key in found
            found[key] = rendering.yield_to(block, plain_key(key), found[key], value) if is_both else value
    return found


@method("Hash", "update", "merge!")
def _update(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    merged = _merge(rendering, this, args, block)
    this.clear()
    this.update(merged)
    return this


@method("Hash", "to_h", "to_hash")
def _to_h(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    if block is None:
        return this
    found = [rendering.yield_to(block, plain_key(key), value) for key, value in this.items()]
    return {hash_key(key): value for key, value in found}


@method("Hash", "invert")
def _invert(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return {hash_key(value): plain_key(key) for key, value in this.items()}


@method("Hash", "compact")
def _compact(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return {key: value for key, value in this.items() if value is not None}


@method("Hash", "transform_values")
def _transform_values(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return {key: rendering.yield_to(block, value) for key, value in this.items()}


@method("Hash", "transform_keys")
def _transform_keys(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    return {hash_key(rendering.yield_to(block, plain_key(key))): value for key, value in this.items()}


@method("Hash", "slice")
def _slice(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    wanted = [hash_key(arg) for arg in args]
    return {key: this[key] for key in wanted if key in this}


@method("Hash", "except")
def _except(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    left_out = [hash_key(arg) for arg in args]
    return {key: value for key, value in this.items() if key not in left_out}


@method("Hash", "clear")
def _clear(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> _Hash:
    this.clear()
    return this


@method("Hash", "any?")
def _any(rendering: Rendering, this: _Hash, args: Args, block: Proc | None) -> bool:
    if block is None:
        return bool(this)
    return any(is_true(rendering.yield_to(block, plain_key(key), value)) for key, value in this.items())


assert "map" in METHODS["Hash"], "what Enumerable gives is declared with arrays"
