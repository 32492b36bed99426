"""Collectors with their queries, and arrows between resources."""

from collections.abc import Callable
from typing import Any

from precast.base.errors import PrecastError
from precast.lang import datatypes
from precast.lang.compiler.collectors import Collector, collect_all, compare_parameter, query_all, query_any
from precast.lang.compiler.relations import Passage
from precast.lang.compiler.resources import flatten
from precast.lang.evaluator.arithmetic import a
from precast.lang.evaluator.declarations import attributes, unique
from precast.lang.evaluator.translation import Code, Translator, place, translates, unwrap
from precast.lang.issues import compiler as issues
from precast.lang.scope import Scope
from precast.lang.syntax import ast


@translates(ast.Collector)
def collector(to: Translator, node: ast.Collector) -> Code:
    reference = to.code(node.type_expr)
    query = _query(to, node.query) if node.query is not None else (lambda scope: collect_all)
    operations = attributes(to, node.operations)
    exported = node.form == "exported"
    source, span = to.source, node.span

    def code(scope: Scope) -> Any:
        run = scope.run
        if exported:
            run.at(source, span).complain(issues.COLLECT_IGNORED, always_warn=True)
        try:
            found = reference(scope)
        except PrecastError as error:
            raise place(error, source, span) from None
        if isinstance(found, datatypes.ClassType):
            to.fail(issues.CLASSES_NOT_COLLECTED, node)
        if not isinstance(found, datatypes.ResourceType) or found.type_name is None or found.title is not None:
            to.fail(issues.NO_RESOURCE_TYPE, node.type_expr, got=datatypes.infer(found).generalized())
        made = Collector(
            found.type_name.lower(), query(scope), exported, unique(to, node, operations(scope)), scope, source, span
        )
        run.catalog.add_collector(made)
        return made

    return code


def _query(to: Translator, node: ast.Node) -> Callable[[Scope], Any]:
    """Code that makes the query of a collector: what the right sides are is evaluated where the collector stands."""
    node = unwrap(node)
    if isinstance(node, ast.And | ast.Or):
        left, right = _query(to, node.left), _query(to, node.right)
        both = query_all if isinstance(node, ast.And) else query_any
        return lambda scope: both(left(scope), right(scope))
    if isinstance(node, ast.Comparison) and node.op in ("==", "!="):
        return _compared(to, node)
    to.fail(issues.NO_QUERY, node)
    return None


_QUERIED = (
    ast.QualifiedName
    | ast.LiteralString
    | ast.ConcatenatedString
    | ast.LiteralInteger
    | ast.LiteralFloat
    | ast.LiteralBoolean
    | ast.LiteralUndef
    | ast.Variable
    | ast.Access
)


def _compared(to: Translator, node: ast.Comparison) -> Callable[[Scope], Any]:
    """`name == value` of a query. Other operands than Puppet takes are refused when the collector is met, as there."""
    refused = next((side for side in (node.left, node.right) if not isinstance(unwrap(side), _QUERIED)), None)
    names, values, wanted = to.code(node.left), to.code(node.right), node.op == "=="

    def code(scope: Scope) -> Any:
        if refused is not None:
            to.fail(issues.QUERY_OPERAND, refused)
        name = scope.run.concrete(names(scope))
        if not isinstance(name, str):
            to.fail(issues.QUERY_OPERAND, node.left)
        return compare_parameter(scope.run, name, scope.run.concrete(values(scope)), wanted)

    return code


@translates(ast.Relationship)
def relationship(to: Translator, node: ast.Relationship) -> Code:
    left, right = to.code(node.left), to.code(node.right)
    source, span = to.source, node.span
    kind = "notify" if "~" in node.op else "before"
    backwards = node.op.startswith("<")

    def code(scope: Scope) -> Any:
        one, other = left(scope), right(scope)
        try:
            first, second = _operands(scope, one), _operands(scope, other)
        except PrecastError as error:
            raise place(error, source, span) from None
        if backwards:
            first, second = second, first
        scope.run.catalog.relate(first, second, kind, source, span)
        return _passed_on(second, first) if backwards else _passed_on(first, second)

    return code


def _passed_on(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """The value of an arrow: its right side; where that is or collects nothing, the left, so that a chain has no gap."""
    if not right:
        return left
    if len(right) == 1 and isinstance(right[0], Collector):
        return (Passage(right[0], left),)
    return right


def _operands(scope: Scope, value: Any) -> tuple[Any, ...]:
    """The references and collectors that an arrow's side stands for."""
    operands: list[Any] = []
    for each in flatten(value):
        if isinstance(each, str):
            each = scope.run.catalog.reference_of(each)
        is_reference = (isinstance(each, datatypes.ResourceType) and each.title is not None) or (
            isinstance(each, datatypes.ClassType) and each.class_name is not None
        )
        if not is_reference and not isinstance(each, Collector | Passage):
            raise issues.NO_RELATION.error(got=_shown_operand(each))
        operands.append(each)
    return tuple(operands)


def _shown_operand(value: Any) -> str:
    return f"a {value}" if isinstance(value, datatypes.Type) else a(value)
