"""Finds and calls Ruby's methods by the class of their receiver."""

import re
from collections.abc import Callable
from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution, no_method_error
from precast.lang.ruby.objects import Constant, Proc, RubyClass, RubyError, RubyObject
from precast.lang.ruby.values import (
    Instance,
    Pattern,
    Range,
    RubyScope,
    RubyScopeHash,
    RubySet,
    Symbol,
    TemplateSelf,
    range_items,
    to_s,
)
from precast.lang.values.base import Sensitive, Unknown

Method = Callable[[Execution, Any, list[Any], Proc | None], Any]

METHODS: dict[str, dict[str, Method]] = {}
GLOBALS: dict[str, Callable[[Execution, list[Any], Proc | None], Any]] = {}

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "Boolean"), (str, "String"), (list, "Array"), (dict, "Hash"), (int, "Integer"), (float, "Float"),
    (Symbol, "Symbol"), (Range, "Range"), (Pattern, "Regexp"), (Proc, "Proc"), (RubyScope, "Scope"), (Constant, "Class"),
    (RubyScopeHash, "Scope hash"), (RubySet, "Set"), (Sensitive, "Sensitive"), (RubyError, "Exception"),
    (TemplateSelf, "Template"), (re.Match, "MatchData"),
)  # fmt: skip
_KIND_OF: dict[type, str] = {**dict(_KINDS), type(None): "Nil"}
_CONTAINERS = (list, dict)
_ALWAYS_KNOWN = frozenset((str, int, float, bool, type(None), Symbol, Range, Pattern))
_TAKES_UNKNOWNS = frozenset(("push", "<<", "[]=", "=="))
_method_cache: dict[tuple[str, str], Method] = {}
_PARENTS = {
    "Integer": "Numeric",
    "Float": "Numeric",
    "Type class": "Class of code",
    "Parameter class": "Class of code",
}
# Kinds whose objects may have methods of the code, which come before the built-in ones.
_WITH_OWN_METHODS = frozenset((
    "Object", "Class of code", "Exception", "Type class", "Parameter class", "Type object", "Attribute object",
))  # fmt: skip
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


def of_class(constants: str, *names: str) -> Callable[[Method], Method]:
    """Declare a method of built-in classes or modules themselves, such as `File.basename`."""

    def add(function: Method) -> Method:
        for constant in constants.split():
            for name in names:
                METHODS.setdefault(f"{constant}.", {})[name] = function
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
    if not execution.is_concrete:
        receiver, args = _with_known(execution, receiver, name, args)
    kind = _KIND_OF.get(type(receiver)) or kind_of(receiver)
    implementation = _method_cache.get((kind, name))
    if implementation is not None:
        return implementation(execution, receiver, args, block)
    if isinstance(receiver, RubyObject | RubyClass):
        found = receiver.find_own(name) if isinstance(receiver, RubyClass) else _user_method(receiver, name)
        if found is not None:
            return found.call(execution, receiver, args, block)
    elif kind == "Class" and name in (own := execution.class_methods.get(receiver.name, {})):
        return own[name](execution, receiver, args, block)
    implementation = find_method(kind, receiver, name)
    if implementation is not None:
        return implementation(execution, receiver, args, block)
    return _call_special(execution, receiver, kind, name, args, block)


def _with_known(execution: Execution, receiver: Any, name: str, args: list[Any]) -> tuple[Any, list[Any]]:
    """Return the receiver and the arguments, with the unknown values made concrete that the method inspects."""
    if isinstance(receiver, Unknown):
        if name in ("to_s", "to_str", "dup", "freeze"):
            return receiver, args
        receiver = execution.resolve(receiver)
    elif type(receiver) in _CONTAINERS:
        if name not in _KEEPS_UNKNOWNS:
            receiver = execution.resolve(receiver)
        if name in _MUTATING or name[-1] == "!":
            execution.has_mutated = True
    if args and name not in _TAKES_UNKNOWNS and any(type(arg) not in _ALWAYS_KNOWN for arg in args):
        args = [execution.resolve(arg) for arg in args]
    return receiver, args


def _user_method(receiver: RubyObject, name: str) -> Any:
    return receiver.kind.find(name) if isinstance(receiver.kind, RubyClass) else None


def find_method(kind: str, receiver: Any, name: str) -> Method | None:
    """Return the method of a kind, of its parent or of every object. Those of a kind are cached, since code calls few methods often."""
    if kind == "Scope" and name.startswith("function_"):
        return None
    if isinstance(receiver, Constant):
        return (
            METHODS.get(f"{receiver.name}.", {}).get(name) or METHODS["Class"].get(name) or METHODS["Object"].get(name)
        )
    implementation = (
        METHODS.get(kind, {}).get(name)
        or METHODS.get(_PARENTS.get(kind, ""), {}).get(name)
        or METHODS["Object"].get(name)
    )
    if implementation is not None and kind not in _WITH_OWN_METHODS:
        _method_cache[kind, name] = implementation
    return implementation


def _call_special(
    execution: Execution, receiver: Any, kind: str, name: str, args: list[Any], block: Proc | None
) -> Any:
    """Call a function of Puppet, a method of Array on a range, or a method with `!` on a string that no variable holds."""
    if kind == "Scope" and name.startswith("function_"):
        with execution.inside(receiver.scope):
            return execution.call_function(name.removeprefix("function_"), spread(args), block, is_legacy=True)
    if kind in ("Range", "Set") and (array_method := METHODS["Array"].get(name)) is not None:
        return array_method(execution, range_items(receiver) if kind == "Range" else receiver.items(), args, block)
    if kind == "String" and name.endswith("!") and name != "!":
        # The changed string, or nil if nothing changes.
        changed = call_method(execution, receiver, name[:-1], args, block)
        return None if changed == receiver else changed
    if isinstance(receiver, RubyObject) and (missing := _user_method(receiver, "method_missing")) is not None:
        return missing.call(execution, receiver, [Symbol(name), *args], block)
    if isinstance(receiver, Constant):
        raise issues.NOT_IN_SUBSET.error(construct=f"{receiver.name}.{name}")
    raise no_method_error(receiver, name)


def spread(args: list[Any]) -> list[Any]:
    """Return the arguments of a `function_name` call, which takes them as one array."""
    return args[0] if args and isinstance(args[0], list) else args


def call_on_self(frame: Any, name: str, args: list[Any], block: Proc | None) -> Any:
    """Call without a receiver: a method of self, one that the code defines, or a function of Ruby. Raises InputError LANG-904."""
    execution, this = frame.execution, frame.this
    if isinstance(this, RubyObject | RubyClass):
        found = this.find_own(name) if isinstance(this, RubyClass) else _user_method(this, name)
        if found is not None:
            return found.call(execution, this, args, block)
    if (defined := execution.methods.get(name)) is not None:
        return defined.call(execution, this, args, block)
    if name == "block_given?":
        return frame.home.block is not None
    kind = kind_of(this)
    own = METHODS.get(f"{this.name}." if isinstance(this, Constant) else kind, {}).get(name)
    if own is None and kind in _PARENTS:
        own = METHODS.get(_PARENTS[kind], {}).get(name)
    if own is not None:
        if not execution.is_concrete:
            this, args = _with_known(execution, this, name, args)
        return own(execution, this, args, block)
    if name in _OF_FRAME:
        return _OF_FRAME[name](frame, args, block)
    function = execution.functions.get(name) or GLOBALS.get(name)
    return function(execution, args, block) if function is not None else _call_unknown(frame, kind, name, args, block)


def _call_unknown(frame: Any, kind: str, name: str, args: list[Any], block: Proc | None) -> Any:
    """Call what neither self nor Ruby's own functions define: a function of Puppet, `method_missing`, a method of every object."""
    execution, this = frame.execution, frame.this
    if kind == "Scope" and name.startswith("function_"):
        return execution.call_function(name.removeprefix("function_"), spread(args), block, is_legacy=True)
    if name in execution.locals:
        return execution.locals[name]
    if isinstance(this, RubyObject) and (missing := _user_method(this, "method_missing")) is not None:
        return missing.call(execution, this, [Symbol(name), *args], block)
    general = METHODS["Object"].get(name)
    if this is None or general is None or isinstance(this, TemplateSelf):
        raise issues.NO_NAME.error(name=name)
    return general(execution, this, args, block)


# Functions without a receiver that need the frame of the call.
_OF_FRAME: dict[str, Callable[[Any, list[Any], Proc | None], Any]] = {
    "__method__": lambda frame, args, block: None if frame.home.method is None else Symbol(frame.home.method.name),
    "binding": lambda frame, args, block: _refuse("binding"),
    "proc": lambda frame, args, block: block if block is not None else _refuse("proc without a block"),
    "lambda": lambda frame, args, block: block if block is not None else _refuse("lambda without a block"),
    "self": lambda frame, args, block: frame.this,
}


def _refuse(construct: str) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct=construct)


def call_super(execution: Execution, this: Any, caller: Any, args: list[Any], block: Proc | None) -> Any:
    """Call the method that a method of the code replaces: of a mixin, of a parent class, or a built-in one."""
    if isinstance(this, RubyObject) and isinstance(this.kind, RubyClass):
        owners = list(this.kind.ancestors())
        if caller.owner in owners:
            for owner in owners[owners.index(caller.owner) + 1 :]:
                if caller.name in owner.methods:
                    return owner.methods[caller.name].call(execution, this, args, block)
    kind = kind_of(this)
    own = METHODS.get(kind, {}).get(caller.name) or METHODS["Object"].get(caller.name)
    if own is not None:
        return own(execution, this, args, block)
    if caller.name in ("initialize", "inherited", "included", "method_added"):
        return None
    raise no_method_error(this, caller.name)


def to_proc(execution: Execution, value: Any) -> Proc | None:
    """Return what `&value` passes as a block."""
    if value is None or isinstance(value, Proc):
        return value
    if isinstance(value, Symbol):
        name = value.name
        return Proc(-2, lambda item, *more: call_method(execution, item, name, list(more), None))
    converted = call_method(execution, value, "to_proc", [], None)
    assert converted is None or isinstance(converted, Proc)
    return converted


def responds_to(execution: Execution, this: Any, name: str) -> bool:
    """Return whether an object has a method."""
    if isinstance(this, RubyObject) and _user_method(this, name) is not None:
        return True
    if isinstance(this, RubyClass) and this.find_own(name) is not None:
        return True
    if name in execution.methods and isinstance(this, TemplateSelf | type(None)):
        return True
    kind = kind_of(this)
    return find_method(kind, this, name) is not None or (
        kind in ("Range", "Set") and name in METHODS["Array"] and name not in ("to_str", "to_ary", "push", "<<", "+")
    )


def kind_of(value: Any) -> str:
    if isinstance(value, RubyClass):
        return value.kind_name or _kind_of_class(value)
    if isinstance(value, Instance):
        return value.kind_name
    if isinstance(value, RubyObject) and not isinstance(value, RubyError) and isinstance(value.kind, RubyClass):
        if value.kind_name:
            return value.kind_name
        return "Struct" if value.kind.members else _kind_of_root(value.kind)
    kind = _KIND_OF.get(type(value))
    return kind or next((kind for python, kind in _KINDS if isinstance(value, python)), "Object")


def _kind_of_class(value: RubyClass) -> str:
    root = value.root()
    is_attribute = root is not None and root.name.startswith(("Puppet::Parameter", "Puppet::Property"))
    return "Parameter class" if is_attribute else "Class of code"


def _kind_of_root(kind: RubyClass) -> str:
    root = kind.root()
    return "Function" if root is not None and root.name.startswith("Puppet::Functions") else "Object"


def text_of(execution: Execution, value: Any) -> Any:
    """Return Ruby's `to_s` of a value."""
    if isinstance(value, RubyObject) or (isinstance(value, Instance) and "to_s" in METHODS.get(value.kind_name, {})):
        return call_method(execution, value, "to_s", [], None)
    return to_s(value)


def to_str(value: Any) -> str:
    """Return a value that must be a string. Raises TypeError in Ruby's words."""
    if not isinstance(value, str):
        raise TypeError(f"no implicit conversion of {implicit_name(value)} into String")
    return value


def implicit_name(value: Any) -> str:
    """Return the name of a value's class as messages about implicit conversions have it."""
    if value is None or value is True or value is False:
        return {None: "nil", True: "true", False: "false"}[value]
    return kind_of(value)


def plain_text(execution: Execution, value: Any) -> str:
    """Return Ruby's `to_s` of a value, with unknowns made concrete."""
    return str(execution.text(execution.resolve(value)))
