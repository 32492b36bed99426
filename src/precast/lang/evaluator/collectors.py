"""Translates collectors and their queries: `File <| tag == web |> { … }`."""

from collections.abc import Callable
from typing import Any

from precast.base.errors import PrecastError
from precast.lang import datatypes
from precast.lang.compiler.collecting.collectors import Collector
from precast.lang.compiler.collecting.queries import Both, Either, Everything, ParameterComparison
from precast.lang.evaluator.declarations import attributes, unique
from precast.lang.evaluator.translation import Code, Translator, place, translates, unwrap
from precast.lang.issues import compiler as issues
from precast.lang.scope import Scope
from precast.lang.syntax import ast


@translates(ast.Collector)
def translate_collector(to: Translator, node: ast.Collector) -> Code:
    reference = to.code(node.type_expr)
    query = _query(to, node.query) if node.query is not None else (lambda scope: Everything())
    operations = attributes(to, node.operations)
    exported = node.form == "exported"
    source, span = to.source, node.span

    def code(scope: Scope) -> Any:
        compilation = scope.compilation
        if exported:
            compilation.complain_without_exports(issues.COLLECT_IGNORED, source, span)
        try:
            type_ref = reference(scope)
        except PrecastError as error:
            raise place(error, source, span) from None
        if isinstance(type_ref, datatypes.ClassType):
            to.fail(issues.CLASSES_NOT_COLLECTED, node)
        if not isinstance(type_ref, datatypes.ResourceType) or type_ref.type_name is None or type_ref.title is not None:
            to.fail(issues.NO_RESOURCE_TYPE, node.type_expr, got=datatypes.infer(type_ref).generalized())
        new_collector = Collector(
            type_ref.type_name.lower(), query(scope), exported, unique(to, node, operations(scope)), scope, source, span
        )
        compilation.catalog.add_collector(new_collector)
        return new_collector

    return code


def _query(to: Translator, node: ast.Node) -> Callable[[Scope], Any]:
    """Code that makes a collector's query; the right-hand sides are evaluated at the collector's place."""
    node = unwrap(node)
    if isinstance(node, ast.And | ast.Or):
        left, right = _query(to, node.left), _query(to, node.right)
        combine = Both if isinstance(node, ast.And) else Either
        return lambda scope: combine(left(scope), right(scope))
    if isinstance(node, ast.Comparison) and node.op in ("==", "!="):
        return _comparison(to, node)
    to.fail(issues.NO_QUERY, node)
    return None


_QUERY_OPERANDS = (
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


def _comparison(to: Translator, node: ast.Comparison) -> Callable[[Scope], Any]:
    """`name == value` of a query. As in Puppet, operands of other kinds are refused when the collector is evaluated."""
    refused = next((side for side in (node.left, node.right) if not isinstance(unwrap(side), _QUERY_OPERANDS)), None)
    names, values, must_equal = to.code(node.left), to.code(node.right), node.op == "=="

    def code(scope: Scope) -> Any:
        if refused is not None:
            to.fail(issues.QUERY_OPERAND, refused)
        name = scope.compilation.concrete(names(scope))
        if not isinstance(name, str):
            to.fail(issues.QUERY_OPERAND, node.left)
        return ParameterComparison(scope.compilation, name, scope.compilation.concrete(values(scope)), must_equal)

    return code
