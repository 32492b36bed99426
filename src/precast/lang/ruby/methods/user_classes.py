"""Methods of classes and modules that the code defines, of their objects, of exceptions and of Struct."""

from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.errors import descends, of_exception
from precast.lang.ruby.evaluation.methods import BuiltMethod
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import METHODS, call_method, kind_of, method, of_class, plain_text
from precast.lang.ruby.objects import Constant, Proc, RubyClass, RubyError, RubyObject
from precast.lang.ruby.values import Symbol, equal, inspect

Args = list[Any]


@method("Class of code", "new")
def _new(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> Any:
    root = this.root()
    is_error = root is not None and descends(root, Constant("Exception"))
    if (
        root is not None
        and not is_error
        and root.name not in ("Object", "BasicObject", "Comparable")
        and not root.name.startswith("Puppet::Functions")
    ):
        raise issues.NOT_IN_SUBSET.error(construct=f"a class that descends from {root.name}")
    made = RubyError(this, args[0] if args else None) if is_error else RubyObject(this)
    initialize = this.find("initialize")
    if initialize is not None:
        initialize.call(execution, made, args, block)
    elif this.members:
        _fill_struct(made, this, args)
    elif args and not is_error:
        raise ValueError(f"wrong number of arguments (given {len(args)}, expected 0)")
    return made


def _fill_struct(made: RubyObject, kind: RubyClass, args: Args) -> None:
    if len(args) > len(kind.members):
        raise ValueError("struct size differs")
    by_key = kind.members_by_key and len(args) == 1 and isinstance(args[0], dict)
    for at, name in enumerate(kind.members):
        made.ivars[name] = args[0].get(Symbol(name)) if by_key else args[at] if at < len(args) else None


@method("Class of code", "name", "to_s", "inspect")
def _name(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> str:
    return this.name


@method("Class of code", "===")
def _has_instance(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> bool:
    return isinstance(args[0], RubyObject) and descends(args[0].kind, this)


@method("Class of code", "<=", "<")
def _is_below(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> bool | None:
    return True if descends(this, args[0]) else None


@method("Class of code", "ancestors")
def _ancestors(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> list[Any]:
    return list(this.ancestors())


@method("Class of code", "superclass")
def _superclass(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> Any:
    return this.parent or Constant("Object")


@method("Class of code", "include", "prepend")
def _include(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> RubyClass:
    for mixin in args:
        if isinstance(mixin, RubyClass):
            this.mixins.append(mixin)
    return this


@method("Class of code", "extend")
def _extend(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> RubyClass:
    this.extensions += [each for each in args if isinstance(each, RubyClass)]
    return this


@method("Class of code", "attr_reader", "attr_accessor", "attr_writer", "attr")
def _attributes(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> list[Any]:
    for arg in args:
        _declare_attribute(this, plain_text(execution, arg))
    return args


def _declare_attribute(this: RubyClass, name: str) -> None:
    table = this.own_methods if this.is_singleton_open else this.methods
    table[name] = BuiltMethod(name, lambda execution, owner, args, block: owner.ivars.get(name))  # type: ignore[assignment]
    table[f"{name}="] = BuiltMethod(
        f"{name}=", lambda execution, owner, args, block: _set_attribute(owner, name, args[0])
    )  # type: ignore[assignment]


def _set_attribute(owner: RubyObject, name: str, value: Any) -> Any:
    owner.ivars[name] = value
    return value


@method(
    "Class of code",
    "private",
    "public",
    "protected",
    "private_constant",
    "private_class_method",
    "module_function",
    "public_class_method",
)
def _visibility(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> Any:
    """Note methods of a module that become its own; visibility itself changes no result."""
    if this.is_module:
        names = [plain_text(execution, name) for arg in args for name in (arg if isinstance(arg, list) else [arg])]
        if not args and not names:
            this.extensions.append(this)
        this.own_methods.update({name: this.methods[name] for name in names if name in this.methods})
    return args[0] if args else None


@method("Class of code", "alias_method")
def _alias(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> Any:
    new, old = (plain_text(execution, arg) for arg in args)
    found = this.find(old)
    if found is None:
        raise issues.NO_METHOD.error(name=old, receiver=this.name, subject="value")
    this.methods[new] = found
    return args[0]


@method("Class of code", "define_method", "define_singleton_method")
def _define_method(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> Any:
    name = plain_text(execution, args[0])
    body = block if block is not None else args[1]
    assert body.call_as is not None
    run = body.call_as

    def call(execution: Execution, owner: Any, given: Args, passed: Proc | None) -> Any:
        return run(owner, None, tuple(given), passed)

    this.methods[name] = BuiltMethod(name, call, body.arity)  # type: ignore[assignment]
    return args[0]


@method("Class of code", "instance_methods", "public_instance_methods")
def _instance_methods(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> list[Any]:
    return [Symbol(name) for name in this.methods]


@method("Class of code", "method_defined?", "instance_method", "public_method_defined?")
def _is_method_defined(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> bool:
    return this.find(plain_text(execution, args[0])) is not None


@method("Class of code", "class_eval", "module_eval", "instance_eval", "class_exec")
def _class_eval(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> Any:
    if block is None or block.call_as is None:
        raise issues.NOT_IN_SUBSET.error(construct="class_eval of a text")
    return block.call_as(this, this, (this,))


@method("Class of code", "const_get")
def _const_get(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> Any:
    name = plain_text(execution, args[0])
    try:
        return this.constant(name)
    except KeyError:
        raise issues.NOT_IN_SUBSET.error(construct=f"the constant {this.name}::{name}") from None


@method("Class of code", "const_set")
def _const_set(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> Any:
    this.constants[plain_text(execution, args[0])] = args[1]
    return args[1]


@method("Class of code", "const_defined?")
def _const_defined(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> bool:
    return plain_text(execution, args[0]) in this.constants


@method("Class of code", "constants")
def _constants(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> list[Any]:
    return [Symbol(name) for name in this.constants]


@of_class("Class Module", "new")
def _new_class(execution: Execution, this: Constant, args: Args, block: Proc | None) -> RubyClass:
    made = RubyClass("", args[0] if args else None, this.name == "Module")
    if block is not None and block.call_as is not None:
        block.call_as(made, made, (made,))
    return made


# Struct


@of_class("Struct", "new")
def _new_struct(execution: Execution, this: Constant, args: Args, block: Proc | None) -> RubyClass:
    made = RubyClass("")
    if args and isinstance(args[-1], dict):
        made.members_by_key = args.pop().get(Symbol("keyword_init")) is True
    made.members = tuple(plain_text(execution, arg) for arg in args)
    for name in made.members:
        _declare_attribute(made, name)
    if block is not None and block.call_as is not None:
        block.call_as(made, made, (made,))
    return made


@method("Class of code", "members")
def _class_members(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> list[Any]:
    return [Symbol(name) for name in this.members]


@method("Struct", "to_a", "values", "deconstruct")
def _struct_values(execution: Execution, this: RubyObject, args: Args, block: Proc | None) -> list[Any]:
    return [this.ivars.get(name) for name in _members(this)]


@method("Struct", "to_h")
def _struct_hash(execution: Execution, this: RubyObject, args: Args, block: Proc | None) -> dict[Any, Any]:
    return {Symbol(name): this.ivars.get(name) for name in _members(this)}


@method("Struct", "members")
def _struct_members(execution: Execution, this: RubyObject, args: Args, block: Proc | None) -> list[Any]:
    return [Symbol(name) for name in _members(this)]


@method("Struct", "[]")
def _struct_get(execution: Execution, this: RubyObject, args: Args, block: Proc | None) -> Any:
    key = args[0]
    return this.ivars.get(_members(this)[key] if isinstance(key, int) else plain_text(execution, key))


@method("Struct", "[]=")
def _struct_set(execution: Execution, this: RubyObject, args: Args, block: Proc | None) -> Any:
    key = args[0]
    this.ivars[_members(this)[key] if isinstance(key, int) else plain_text(execution, key)] = args[1]
    return args[1]


@method("Struct", "each")
def _struct_each(execution: Execution, this: RubyObject, args: Args, block: Proc | None) -> Any:
    for value in _struct_values(execution, this, [], None):
        execution.yield_to(block, value)
    return this


@method("Struct", "==", "eql?")
def _struct_equal(execution: Execution, this: RubyObject, args: Args, block: Proc | None) -> bool:
    other = args[0]
    return (
        isinstance(other, RubyObject)
        and other.kind is this.kind
        and equal(_struct_values(execution, this, [], None), _struct_values(execution, other, [], None))
    )


@method("Struct", "to_s", "inspect")
def _struct_inspect(execution: Execution, this: RubyObject, args: Args, block: Proc | None) -> str:
    return (
        f"#<struct {this.kind.name} "
        + ", ".join(f"{name}={inspect(this.ivars.get(name))}" for name in _members(this))
        + ">"
    )


def _members(this: RubyObject) -> tuple[str, ...]:
    assert isinstance(this.kind, RubyClass)
    return this.kind.members


# Exceptions


@method("Exception", "message", "to_s", "full_message", "detailed_message")
def _message(execution: Execution, this: RubyError, args: Args, block: Proc | None) -> Any:
    return execution.text(this.message)


@method("Exception", "inspect")
def _error_inspect(execution: Execution, this: RubyError, args: Args, block: Proc | None) -> str:
    return f"#<{this.kind.name}: {execution.text(this.message)}>"


@method("Exception", "backtrace", "backtrace_locations")
def _backtrace(execution: Execution, this: RubyError, args: Args, block: Proc | None) -> list[Any]:
    return []


@method("Exception", "set_backtrace")
def _set_backtrace(execution: Execution, this: RubyError, args: Args, block: Proc | None) -> Any:
    return args[0]


@method("Exception", "cause")
def _cause(execution: Execution, this: RubyError, args: Args, block: Proc | None) -> None:
    return None


@method("Exception", "class")
def _error_class(execution: Execution, this: RubyError, args: Args, block: Proc | None) -> Any:
    return this.kind


@method("Exception", "exception")
def _same_error(execution: Execution, this: RubyError, args: Args, block: Proc | None) -> RubyError:
    if not args:
        return this
    made = RubyError(this.kind, args[0])
    made.ivars.update(this.ivars)
    return made


@method("Exception", "initialize")
def _initialize_error(execution: Execution, this: RubyError, args: Args, block: Proc | None) -> None:
    """Set the message, as `super` in an exception's own `initialize` does."""
    if args:
        this.message = args[0]


@method("Exception", "is_a?", "kind_of?", "instance_of?")
def _is_error(execution: Execution, this: RubyError, args: Args, block: Proc | None) -> bool:
    return isinstance(args[0], Constant | RubyClass) and (
        descends(this.kind, args[0]) or args[0].name in ("Object", "BasicObject", "Kernel")
    )


@method("Exception", "raise")
def _raise_self(execution: Execution, this: RubyError, args: Args, block: Proc | None) -> Any:
    raise of_exception(this)


# Objects of classes of the code


@method("Object", "instance_variable_get")
def _ivar_get(execution: Execution, this: Any, args: Args, block: Proc | None) -> Any:
    return this.ivars.get(plain_text(execution, args[0]).removeprefix("@"))


@method("Object", "instance_variable_set")
def _ivar_set(execution: Execution, this: Any, args: Args, block: Proc | None) -> Any:
    this.ivars[plain_text(execution, args[0]).removeprefix("@")] = args[1]
    return args[1]


@method("Object", "instance_variable_defined?")
def _ivar_defined(execution: Execution, this: Any, args: Args, block: Proc | None) -> bool:
    return plain_text(execution, args[0]).removeprefix("@") in this.ivars


@method("Object", "instance_variables")
def _ivar_names(execution: Execution, this: Any, args: Args, block: Proc | None) -> list[Any]:
    return [Symbol(f"@{name}") for name in getattr(this, "ivars", {})]


@method("Object", "instance_eval", "instance_exec")
def _instance_eval(execution: Execution, this: Any, args: Args, block: Proc | None) -> Any:
    if block is None or block.call_as is None:
        raise issues.NOT_IN_SUBSET.error(construct="instance_eval of a text")
    return block.call_as(this, None, tuple(args) or (this,))


@method("Object", "method")
def _method_object(execution: Execution, this: Any, args: Args, block: Proc | None) -> Proc:
    name = plain_text(execution, args[0])
    if (defined := execution.methods.get(name)) is not None:
        return Proc(defined.arity, lambda *given: defined.call(execution, this, given, None), is_lambda=True)
    return Proc(-1, lambda *given: call_method(execution, this, name, list(given), None), is_lambda=True)


@method("Object", "methods", "public_methods")
def _methods(execution: Execution, this: Any, args: Args, block: Proc | None) -> list[Any]:
    names = [*METHODS.get(kind_of(this), {}), *METHODS["Object"]]
    return [Symbol(name) for name in names]


@method("Object", "extend")
def _extend_object(execution: Execution, this: Any, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="extend of a single object")
