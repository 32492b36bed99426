"""Finds and calls Ruby's methods by the class of their receiver."""

from collections.abc import Callable
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.erb.rendering import Rendering, no_method
from precast.lang.ruby.erb.values import (
    Constant,
    Pattern,
    Proc,
    Range,
    RubyScope,
    RubyScopeHash,
    Symbol,
    range_items,
    to_s,
)
from precast.lang.values.core import Unknown

Method = Callable[[Rendering, Any, list[Any], Proc | None], Any]

METHODS: dict[str, dict[str, Method]] = {}
GLOBALS: dict[str, Callable[[Rendering, list[Any], Proc | None], Any]] = {}

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "Boolean"), (str, "String"), (list, "Array"), (dict, "Hash"), (int, "Integer"), (float, "Float"),
    (Symbol, "Symbol"), (Range, "Range"), (Pattern, "Regexp"), (Proc, "Proc"), (RubyScope, "Scope"), (Constant, "Class"),
    (RubyScopeHash, "Scope hash"),
)  # fmt: skip
_KIND_OF: dict[type, str] = {**dict(_KINDS), type(None): "Nil"}
_HOLDERS = (list, dict)
_ALWAYS_KNOWN = frozenset((str, int, float, bool, type(None), Symbol, Range, Pattern))
_TAKES_OPEN = frozenset(("push", "<<", "[]=", "=="))
_found: dict[tuple[str, str], Method] = {}
_PARENTS = {"Integer": "Numeric", "Float": "Numeric"}
# Of an array or hash that holds something not known yet: these do not look at it.
_BLIND = frozenset(
    (
        *(
            "each",
            "map",
            "collect",
            "each_with_index",
            "each_pair",
            "each_slice",
            "each_key",
            "each_value",
            "flat_map",
            "zip",
        ),
        *(
            "[]",
            "[]=",
            "first",
            "last",
            "dig",
            "fetch",
            "keys",
            "values",
            "to_a",
            "to_h",
            "to_hash",
            "merge",
            "reverse",
        ),
        *("empty?", "length", "size", "count", "nil?", "is_a?", "kind_of?", "instance_of?", "class", "respond_to?"),
        *("flatten", "compact", "reject", "select", "push", "<<", "+", "concat", "join", "key?", "has_key?"),
    )
)


# What changes an array or hash in its place.
_CHANGING = frozenset(
    (
        *("<<", "push", "append", "concat", "unshift", "prepend", "insert", "pop", "shift", "delete", "delete_at"),
        *("delete_if", "keep_if", "clear", "[]=", "store", "replace", "fill", "update"),
    )
)


def method(kind: str, *names: str) -> Callable[[Method], Method]:
    """Declares a method under its names."""

    def add(function: Method) -> Method:
        for name in names:
            METHODS.setdefault(kind, {})[name] = function
        return function

    return add


def function(*names: str) -> Callable[[Any], Any]:
    """Declares what can be called without a receiver."""

    def add(made: Any) -> Any:
        for name in names:
            GLOBALS[name] = made
        return made

    return add


def call_method(rendering: Rendering, receiver: Any, name: str, args: list[Any], block: Proc | None) -> Any:
    """What a method gives. Raises InputError LANG-902 if there is none of this name here."""
    if isinstance(receiver, Unknown):
        if name in ("to_s", "to_str", "dup", "freeze"):
            return receiver
        receiver = rendering.known(receiver)
    elif type(receiver) in _HOLDERS:
        if name not in _BLIND:
            receiver = rendering.known(receiver)
        if name in _CHANGING or name[-1] == "!":
            rendering.has_changed = True
    if args and name not in _TAKES_OPEN and any(type(arg) not in _ALWAYS_KNOWN for arg in args):
        args = [rendering.known(arg) for arg in args]
    kind = kind_of(receiver)
    found = _found.get((kind, name)) or _find(kind, name)
    if found is not None:
        return found(rendering, receiver, args, block)
    return _call_otherwise(rendering, receiver, kind, name, args, block)


def _find(kind: str, name: str) -> Method | None:
    """The method of a kind, of the kind above it, or of every object; kept, since templates call few of them often."""
    if kind == "Scope" and name.startswith("function_"):
        return None
    found = (
        METHODS.get(kind, {}).get(name)
        or METHODS.get(_PARENTS.get(kind, ""), {}).get(name)
        or METHODS["Object"].get(name)
    )
    if found is not None:
        _found[kind, name] = found
    return found


def _call_otherwise(
    rendering: Rendering, receiver: Any, kind: str, name: str, args: list[Any], block: Proc | None
) -> Any:
    """Functions of Puppet, methods that a range has as an array, changes of a text that no variable holds."""
    if kind == "Scope" and name.startswith("function_"):
        return rendering.function(name.removeprefix("function_"), _spread(args), block)
    if kind == "Range" and (found := METHODS["Array"].get(name)) is not None:
        return found(rendering, range_items(receiver), args, block)
    if kind == "String" and name.endswith("!"):
        # What would be assigned, or nil if nothing changes.
        changed = call_method(rendering, receiver, name[:-1], args, block)
        return None if changed == receiver else changed
    raise no_method(receiver, name)


def _spread(args: list[Any]) -> list[Any]:
    """The arguments of a function that come as one array, as they should."""
    return args[0] if args and isinstance(args[0], list) else args


def call_global(rendering: Rendering, name: str, args: list[Any], block: Proc | None) -> Any:
    """A call without a receiver. Raises InputError LANG-904 if it is none of ours."""
    if (defined := rendering.defined.get(name)) is not None:
        rendering.step()
        return defined.call(*args)
    found = GLOBALS.get(name)
    if found is None:
        raise issues.NO_NAME.error(name=name)
    return found(rendering, args, block)


def kind_of(value: Any) -> str:
    kind = _KIND_OF.get(type(value))
    return kind or next((kind for python, kind in _KINDS if isinstance(value, python)), "Object")


def text(value: Any) -> str:
    """What must be a string. Raises TypeError in Ruby's words."""
    if not isinstance(value, str):
        name = "nil" if value is None else kind_of(value)
        raise TypeError(f"no implicit conversion of {name} into String")
    return value


def shown(rendering: Rendering, value: Any) -> str:
    return str(to_s(rendering.known(value)))
