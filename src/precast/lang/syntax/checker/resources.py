"""Resources, their defaults and overrides, collectors and their queries."""

from typing import cast

from precast.lang.issues import checks as issues
from precast.lang.syntax import ast
from precast.lang.syntax.checker.core import CHECKS, Checker
from precast.lang.syntax.checker.labels import a_label

_MARKS = {"virtual": "@", "exported": "@@"}


def _check_resource(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Resource, node)
    head = node.type_name
    if node.form != "regular" and isinstance(head, ast.QualifiedName) and head.value == "class":
        c.report(issues.NOT_VIRTUALIZABLE, node, what="Classes", mark=_MARKS[node.form])
    c.visit(head)
    for body in node.bodies:
        c.visit(body.title)
        _check_operations(c, body.operations, "a Resource Instance Definition")
        for second_splat in [operation for operation in body.operations if isinstance(operation, ast.AttributesOp)][1:]:
            c.report(issues.UNFOLDED_TWICE, second_splat)


def _check_defaults(c: Checker, node: ast.Node) -> None:
    node = cast(ast.ResourceDefaults, node)
    if node.form != "regular":
        c.report(issues.NOT_VIRTUALIZABLE, node, what="Resource Defaults", mark=_MARKS[node.form])
    _check_operations(c, node.operations, a_label(node))


def _check_override(c: Checker, node: ast.Node) -> None:
    node = cast(ast.ResourceOverride, node)
    if node.form != "regular":
        c.report(issues.NOT_VIRTUALIZABLE, node, what="Resource Overrides", mark=_MARKS[node.form])
    c.visit(node.resources)
    _check_operations(c, node.operations, None)


def _check_operations(c: Checker, operations: tuple[ast.Operation, ...], owner: str | None) -> None:
    """Check attributes; `owner` names the construct if `+>` is invalid in it."""
    for operation in operations:
        if owner is not None and isinstance(operation, ast.AttributeOp) and operation.op == "+>":
            c.report(issues.ILLEGAL_APPEND, operation, name=operation.name, what=owner)
        c.check_value(operation.value)


def _check_collector(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Collector, node)
    if not isinstance(node.type_expr, ast.QualifiedReference):
        c.report(
            issues.ILLEGAL_EXPRESSION,
            node.type_expr,
            what=a_label(node.type_expr, "A"),
            role="type name",
            owner=a_label(node),
            advice="begin a collector with the capitalised name of the type: File <| … |>",
        )
    if node.query is not None:
        _check_query(c, node.query)
    _check_operations(c, node.operations, None)


def _check_query(c: Checker, node: ast.Node) -> None:
    if isinstance(node, ast.And | ast.Or):
        _check_query(c, node.left)
        _check_query(c, node.right)
    elif isinstance(node, ast.Parenthesized):
        _check_query(c, node.expression)
    elif isinstance(node, ast.Comparison) and node.op in ("==", "!="):
        c.check_value(node.left)
        c.check_value(node.right)
    elif isinstance(
        node,
        ast.QualifiedName
        | ast.Variable
        | ast.LiteralString
        | ast.LiteralInteger
        | ast.LiteralFloat
        | ast.LiteralBoolean,
    ):
        c.visit(node)
    else:
        c.report(issues.ILLEGAL_QUERY, node, what=a_label(node, "A"))


CHECKS.update(
    {
        ast.Resource: _check_resource,
        ast.ResourceDefaults: _check_defaults,
        ast.ResourceOverride: _check_override,
        ast.Collector: _check_collector,
    }
)
