"""Methods of `scope`, and the global functions that read variables of the manifest."""

from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import kernel_function, method, plain_text
from precast.lang.ruby.methods.enumerable import pairs
from precast.lang.ruby.objects import Proc
from precast.lang.ruby.values import SCOPE, RubyScope, RubyScopeHash, Symbol

Args = list[Any]


@method("Scope", "[]", "lookupvar", "get_local_variable")
def _look_up(execution: Execution, this: RubyScope, args: Args, block: Proc | None) -> Any:
    with execution.inside(this.scope):
        return execution.look_up(args[0])


@method("Scope", "exist?", "include?", "bound?")
def _exists(execution: Execution, this: RubyScope, args: Args, block: Proc | None) -> bool:
    scope = execution.scope if this.scope is None else this.scope
    return execution.host.has_variable(scope, plain_text(execution, args[0]).removeprefix("::"))


@method("Scope", "call_function")
def _call_function(execution: Execution, this: RubyScope, args: Args, block: Proc | None) -> Any:
    given = args[1] if len(args) > 1 else []
    # Ruby's `*args` makes pairs of a hash.
    spread = pairs(given) if isinstance(given, dict) else given if isinstance(given, list) else [given]
    with execution.inside(this.scope):
        return execution.call_function(plain_text(execution, args[0]), spread, block)


@method("Scope", "setvar")
def _set(execution: Execution, this: RubyScope, args: Args, block: Proc | None) -> Any:
    variables, name = execution.host.template_variables(execution.scope), plain_text(execution, args[0])
    if name in variables or execution.host.has_variable(execution.scope, name):
        raise issues.BAD_CALL.error(name="setvar", reason=f"Cannot reassign variable '${name}'")
    variables[name] = args[1]
    return args[1]


@method("Scope", "to_hash")
def _to_hash(execution: Execution, this: RubyScope, args: Args, block: Proc | None) -> RubyScopeHash:
    return RubyScopeHash()


@method("Scope hash", "[]", "fetch", "dig")
def _item(execution: Execution, this: RubyScopeHash, args: Args, block: Proc | None) -> Any:
    value = execution.look_up(plain_text(execution, args[0]))
    return args[1] if value is None and len(args) > 1 else value


@method("Scope hash", "has_key?", "key?", "include?", "member?")
def _has_item(execution: Execution, this: RubyScopeHash, args: Args, block: Proc | None) -> bool:
    """Return whether the scope has a variable; one that is undef counts as missing."""
    return execution.look_up(plain_text(execution, args[0])) is not None


@method("Scope hash", "each", "keys", "values", "map", "select", "reject", "to_a", "sort", "to_yaml", "to_json", "size")
def _refuse_whole(execution: Execution, this: RubyScopeHash, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="all of scope.to_hash, which would read every variable")


@method("Scope", "compiler", "catalog", "resource", "known_resource_types", "lookup_qualified_variable")
def _refuse_internals(execution: Execution, this: RubyScope, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="the internals of the compiler")


@kernel_function("has_variable?")
def _has_variable(execution: Execution, args: Args, block: Proc | None) -> bool:
    """Return whether a variable is set to a value; one that is undef counts as missing."""
    name = plain_text(execution, args[0])
    return execution.host.has_variable(execution.scope, name) and execution.look_up(name) is not None


@kernel_function("scope")
def _scope(execution: Execution, args: Args, block: Proc | None) -> RubyScope:
    return SCOPE


@kernel_function("instance_variables")
def _instance_variables(execution: Execution, args: Args, block: Proc | None) -> list[Symbol]:
    own = [name for name in execution.ivars if execution.ivars[name] is not None]
    return [Symbol(f"@{name}") for name in dict.fromkeys([*execution.host.variable_names(execution.scope), *own])]


@kernel_function("instance_variable_get")
def _instance_variable_get(execution: Execution, args: Args, block: Proc | None) -> Any:
    return execution.read_ivar(plain_text(execution, args[0]).removeprefix("@"))


@kernel_function("instance_variable_defined?")
def _instance_variable_defined(execution: Execution, args: Args, block: Proc | None) -> bool:
    return execution.read_ivar(plain_text(execution, args[0]).removeprefix("@")) is not None


@kernel_function("lookupvar")
def _lookupvar(execution: Execution, args: Args, block: Proc | None) -> Any:
    return execution.look_up(args[0])
