"""Finds and calls Ruby's methods by the class of their receiver."""

from collections.abc import Callable
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution, no_method_error
from precast.lang.ruby.values import Constant, Pattern, Proc, Range, RubyScope, RubyScopeHash, Symbol, range_items, to_s
from precast.lang.values.base import Unknown

Method = Callable[[Execution, Any, list[Any], Proc | None], Any]

METHODS: dict[str, dict[str, Method]] = {}
GLOBALS: dict[str, Callable[[Execution, list[Any], Proc | None], Any]] = {}

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "Boolean"), (str, "String"), (list, "Array"), (dict, "Hash"), (int, "Integer"), (float, "Float"),
    (Symbol, "Symbol"), (Range, "Range"), (Pattern, "Regexp"), (Proc, "Proc"), (RubyScope, "Scope"), (Constant, "Class"),
    (RubyScopeHash, "Scope hash"),
)  # fmt: skip
_KIND_OF: dict[type, str] = {**dict(_KINDS), type(None): "Nil"}
_CONTAINERS = (list, dict)
_ALWAYS_KNOWN = frozenset((str, int, float, bool, type(None), Symbol, Range, Pattern))
_TAKES_UNKNOWNS = frozenset(("push", "<<", "[]=", "=="))
_method_cache: dict[tuple[str, str], Method] = {}
_PARENTS = {"Integer": "Numeric", "Float": "Numeric"}
# Methods of arrays and hashes that do not inspect the items, so that an unknown item may stay unknown.
_KEEPS_UNKNOWNS = frozenset((
    "each", "map", "collect", "each_with_index", "each_pair", "each_slice", "each_key", "each_value", "flat_map",
    "zip", "[]", "[]=", "first", "last", "dig", "fetch", "keys", "values", "to_a", "to_h", "to_hash", "merge",
    "reverse", "empty?", "length", "size", "count", "nil?", "is_a?", "kind_of?", "instance_of?", "class",
    "respond_to?", "flatten", "compact", "reject", "select", "push", "<<", "+", "concat", "join", "key?", "has_key?",
))  # fmt: skip


# Methods that change an array or hash in place.
_MUTATING = frozenset((
    "<<", "push", "append", "concat", "unshift", "prepend", "insert", "pop", "shift", "delete", "delete_at",
    "delete_if", "keep_if", "clear", "[]=", "store", "replace", "fill", "update",
))  # fmt: skip


def method(kind: str, *names: str) -> Callable[[Method], Method]:
    """Declare a method of a kind of receivers under all its names."""

    def add(function: Method) -> Method:
        for name in names:
            METHODS.setdefault(kind, {})[name] = function
        return function

    return add


def kernel_function(*names: str) -> Callable[[Any], Any]:
    """Declare a function that is called without a receiver."""

    def add(function: Any) -> Any:
        for name in names:
            GLOBALS[name] = function
        return function

    return add


def call_method(execution: Execution, receiver: Any, name: str, args: list[Any], block: Proc | None) -> Any:
    """Call a method. Raises InputError LANG-902 if the receiver has no method of this name."""
    if isinstance(receiver, Unknown):
        if name in ("to_s", "to_str", "dup", "freeze"):
            return receiver
        receiver = execution.resolve(receiver)
    elif type(receiver) in _CONTAINERS:
        if name not in _KEEPS_UNKNOWNS:
            receiver = execution.resolve(receiver)
        if name in _MUTATING or name[-1] == "!":
            execution.has_mutated = True
    if args and name not in _TAKES_UNKNOWNS and any(type(arg) not in _ALWAYS_KNOWN for arg in args):
        args = [execution.resolve(arg) for arg in args]
    kind = kind_of(receiver)
    implementation = _method_cache.get((kind, name)) or _find(kind, name)
    if implementation is not None:
        return implementation(execution, receiver, args, block)
    return _call_special(execution, receiver, kind, name, args, block)


def _find(kind: str, name: str) -> Method | None:
    """Return the method of a kind, of its parent or of every object. The result is cached, since templates call few methods often."""
    if kind == "Scope" and name.startswith("function_"):
        return None
    implementation = (
        METHODS.get(kind, {}).get(name)
        or METHODS.get(_PARENTS.get(kind, ""), {}).get(name)
        or METHODS["Object"].get(name)
    )
    if implementation is not None:
        _method_cache[kind, name] = implementation
    return implementation


def _call_special(
    execution: Execution, receiver: Any, kind: str, name: str, args: list[Any], block: Proc | None
) -> Any:
    """Call a function of Puppet, a method of Array on a range, or a method with `!` on a string that no variable holds."""
    if kind == "Scope" and name.startswith("function_"):
        return execution.call_function(name.removeprefix("function_"), _spread(args), block)
    if kind == "Range" and (array_method := METHODS["Array"].get(name)) is not None:
        return array_method(execution, range_items(receiver), args, block)
    if kind == "String" and name.endswith("!"):
        # The changed string, or nil if nothing changes.
        changed = call_method(execution, receiver, name[:-1], args, block)
        return None if changed == receiver else changed
    raise no_method_error(receiver, name)


def _spread(args: list[Any]) -> list[Any]:
    """Return the arguments of a `function_name` call, which takes them as one array."""
    return args[0] if args and isinstance(args[0], list) else args


def call_global(execution: Execution, name: str, args: list[Any], block: Proc | None) -> Any:
    """Call a function without a receiver. Raises InputError LANG-904 if neither the code nor Ruby defines it."""
    if (defined := execution.methods.get(name)) is not None:
        execution.count_step()
        return defined.call(*args)
    function = GLOBALS.get(name)
    if function is None:
        raise issues.NO_NAME.error(name=name)
    return function(execution, args, block)


def kind_of(value: Any) -> str:
    kind = _KIND_OF.get(type(value))
    return kind or next((kind for python, kind in _KINDS if isinstance(value, python)), "Object")


def to_str(value: Any) -> str:
    """Return a value that must be a string. Raises TypeError in Ruby's words."""
    if not isinstance(value, str):
        name = "nil" if value is None else kind_of(value)
        raise TypeError(f"no implicit conversion of {name} into String")
    return value


def plain_text(execution: Execution, value: Any) -> str:
    """Return Ruby's `to_s` of a value, with unknowns made concrete."""
    return str(to_s(execution.resolve(value)))
