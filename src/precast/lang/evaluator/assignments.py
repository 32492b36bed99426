"""`$x = …`, and `[$a, $b] = …` from an array, a hash or the variables of a class."""

from typing import Any

from precast.base.errors import PrecastError
from precast.lang import datatypes
from precast.lang.evaluator.translation import Code, Translator, place, translates
from precast.lang.issues import compiler as issues
from precast.lang.scope import MISSING, Scope
from precast.lang.syntax import ast
from precast.lang.values.base import Hash, literal

# Variables that every scope has from the start.
_BUILT_IN = frozenset(("trusted", "facts", "server_facts"))


@translates(ast.Assignment)
def translate_assignment(to: Translator, node: ast.Assignment) -> Code:
    if node.op != "=":
        to.fail(issues.NO_SUCH_ASSIGNMENT, node, operator=node.op)
    value = to.code(node.value)
    source, span = to.source, node.span
    target = node.target
    if isinstance(target, ast.Variable):
        name = _assignable(to, target)

        def code(scope: Scope) -> Any:
            given = value(scope)
            try:
                assign(scope, name, given)
            except PrecastError as error:
                raise place(error, source, span) from None
            return given

        return code

    names = _names(to, target)

    def destructure(scope: Scope) -> Any:
        given = scope.compilation.concrete_top(value(scope))
        try:
            return _assign_all(scope, names, given)
        except PrecastError as error:
            raise place(error, source, span) from None

    return destructure


def _assignable(to: Translator, target: ast.Variable) -> str:
    if target.name.isdigit():
        to.fail(issues.NUMERIC_ASSIGNMENT, target, name=target.name)
    if "::" in target.name:
        to.fail(issues.CROSS_SCOPE_ASSIGNMENT, target, name=target.name)
    return target.name


Names = str | tuple[Any, ...]


def _names(to: Translator, target: ast.Node) -> Names:
    if isinstance(target, ast.Variable):
        return _assignable(to, target)
    if isinstance(target, ast.LiteralList):
        return tuple(_names(to, element) for element in target.elements)
    to.fail(issues.NOT_ASSIGNABLE, target)
    return None


def assign(scope: Scope, name: str, value: Any) -> None:
    """Set a variable for the first and only time. Raises if it is already set or is reserved."""
    variables = scope.variables
    if name in variables:
        issue = issues.REASSIGNED_BUILT_IN if name in ("name", "title") else issues.REASSIGNED
        raise issue.error(name=name)
    if name in _BUILT_IN:
        raise issues.RESERVED_VARIABLE.error(name=name)
    if scope.parent is None and scope.compilation.is_fact_name(name):
        raise issues.REASSIGNED.error(name=name)
    variables[name] = value


def _assign_all(scope: Scope, names: Names, value: Any) -> Any:
    if isinstance(names, str):
        assign(scope, names, value)
        return value
    if isinstance(value, Hash):
        return tuple(_assign_all(scope, name, _entry(value, name)) for name in names)
    if isinstance(value, datatypes.ClassType):
        return tuple(_assign_all(scope, name, _class_variable(scope, value, name)) for name in names)
    given = value if isinstance(value, tuple) else (value,)
    if len(given) != len(names):
        raise issues.UNEQUAL_ASSIGNMENT.error(expected=len(names), actual=len(given))
    return tuple(_assign_all(scope, name, item) for name, item in zip(names, given, strict=True))


def _entry(value: Hash, name: Names) -> Any:
    if value.has(name):
        return value.lookup(name)
    raise issues.NO_ENTRY_TO_ASSIGN.error(name=name if isinstance(name, str) else literal(name))


def _class_variable(scope: Scope, reference: datatypes.ClassType, name: Names) -> Any:
    class_name = reference.class_name or ""
    frame = scope.compilation.frames.get(class_name.lower())
    if frame is None:
        raise issues.UNKNOWN_RESOURCE.error(reference=f"Class[{class_name}]")
    value = frame.scope.variables.get(name, MISSING) if isinstance(name, str) else MISSING
    if value is MISSING:
        raise issues.NO_VARIABLE_TO_ASSIGN.error(name=f"{class_name.lower()}::{name}")
    return value
