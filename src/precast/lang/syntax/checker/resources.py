"""Resources, their defaults and overrides, collectors and their queries."""

from typing import cast

from precast.lang.issues import checks as issues
from precast.lang.syntax import ast
from precast.lang.syntax.checker.core import CHECKS, Checker
from precast.lang.syntax.checker.labels import a_label

_MARKS = {"virtual": "@", "exported": "@@"}


def _resource(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Resource, node)
    head = node.type_name
    if node.form != "regular" and isinstance(head, ast.QualifiedName) and head.value == "class":
        c.report(issues.NOT_VIRTUALIZABLE, node, what="Classes", mark=_MARKS[node.form])
    c.visit(head)
    for body in node.bodies:
        c.visit(body.title)
        _operations(c, body.operations, "a Resource Instance Definition")
        for unfolded in [each for each in body.operations if isinstance(each, ast.AttributesOp)][1:]:
            c.report(issues.UNFOLDED_TWICE, unfolded)


def _defaults(c: Checker, node: ast.Node) -> None:
    node = cast(ast.ResourceDefaults, node)
    if node.form != "regular":
        c.report(issues.NOT_VIRTUALIZABLE, node, what="Resource Defaults", mark=_MARKS[node.form])
    _operations(c, node.operations, a_label(node))


def _override(c: Checker, node: ast.Node) -> None:
    node = cast(ast.ResourceOverride, node)
    if node.form != "regular":
        c.report(issues.NOT_VIRTUALIZABLE, node, what="Resource Overrides", mark=_MARKS[node.form])
    c.visit(node.resources)
    _operations(c, node.operations, None)


def _operations(c: Checker, operations: tuple[ast.Operation, ...], owner: str | None) -> None:
    """Attributes; `owner` is where `+>` means nothing."""
    for each in operations:
        if owner is not None and isinstance(each, ast.AttributeOp) and each.op == "+>":
            c.report(issues.ILLEGAL_APPEND, each, name=each.name, what=owner)
        c.value(each.value)


def _collector(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Collector, node)
    if not isinstance(node.type_expr, ast.QualifiedReference):
        c.report(
            issues.ILLEGAL_EXPRESSION,
            node.type_expr,
            what=a_label(node.type_expr, "A"),
            role="type name",
            owner=a_label(node),
            advice="a collector begins with the type's name in upper case: File <| … |>",
        )
    if node.query is not None:
        _query(c, node.query)
    _operations(c, node.operations, None)


def _query(c: Checker, node: ast.Node) -> None:
    if isinstance(node, ast.And | ast.Or):
        _query(c, node.left)
        _query(c, node.right)
    elif isinstance(node, ast.Parenthesized):
        _query(c, node.expression)
    elif isinstance(node, ast.Comparison) and node.op in ("==", "!="):
        c.value(node.left)
        c.value(node.right)
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
        ast.Resource: _resource,
        ast.ResourceDefaults: _defaults,
        ast.ResourceOverride: _override,
        ast.Collector: _collector,
    }
)
