"""Definitions: where they may stand, what they and their parameters may be called."""

from typing import Final

from precast.lang.issues import checks as issues
from precast.lang.syntax import ast
from precast.lang.syntax.checker import names
from precast.lang.syntax.checker.core import CHECKS, DEFINITIONS, Checker
from precast.lang.syntax.checker.labels import a_label, label

_BUILT_IN_PARAMETERS: Final = ("name", "title")


def check_top(c: Checker, program: ast.Program, namespace: str | None) -> None:
    """A whole file."""
    body = program.body
    if isinstance(body, ast.EppExpression):
        _parameters(c, body.parameters or (), body)
        c.statements(body.body.statements)
        return
    c.statements(body.statements, place="top")
    if namespace is not None:
        _check_location(c, program, body, namespace)


def _misplaced(c: Checker, node: ast.Node) -> None:
    c.report(issues.NOT_TOP_LEVEL, node, what=label(node))
    DEFINITIONS[type(node)](c, node)


def _check_location(c: Checker, program: ast.Program, body: ast.Block, namespace: str) -> None:
    """A file of a module holds only what would be looked for there."""
    for node in body.statements:
        if isinstance(node, ast.HostClassDefinition | ast.ResourceTypeDefinition | ast.FunctionDefinition):
            if node.name != namespace and not node.name.startswith(f"{namespace}::"):
                c.report(issues.ILLEGAL_LOCATION, node, name=node.name, path=program.source.path, namespace=namespace)
        elif not isinstance(node, ast.TypeAliasDefinition | ast.TypeMapping):
            c.report(issues.ILLEGAL_TOP_CONSTRUCT, node, what=label(node))


# One kind of definition each


def _class(c: Checker, node: ast.Node) -> None:
    assert isinstance(node, ast.HostClassDefinition)
    _name(c, node, node.name)
    _parameters(c, node.parameters, node)
    c.statements(node.body.statements, node, place="class")


def _define(c: Checker, node: ast.Node) -> None:
    assert isinstance(node, ast.ResourceTypeDefinition)
    _name(c, node, node.name)
    _parameters(c, node.parameters, node)
    c.statements(node.body.statements, node)


def _function(c: Checker, node: ast.Node) -> None:
    assert isinstance(node, ast.FunctionDefinition)
    _name(c, node, node.name)
    _parameters(c, node.parameters, node)
    c.statements(node.body.statements)


def _node(c: Checker, node: ast.Node) -> None:
    assert isinstance(node, ast.NodeDefinition)
    for host in node.matches:
        if isinstance(host, ast.ConcatenatedString):
            c.report(issues.HOSTNAME_INTERPOLATION, host)
        elif isinstance(host, ast.LiteralString) and not names.HOST_NAME.fullmatch(host.value):
            c.report(issues.HOSTNAME_CHARACTERS, host, name=host.value)
        else:
            c.visit(host)
    if node.parent is not None:
        c.report(issues.NODE_INHERITANCE, node.parent)
    c.statements(node.body.statements, node)


def _type_alias(c: Checker, node: ast.Node) -> None:
    assert isinstance(node, ast.TypeAliasDefinition)
    if not names.TYPE_NAME.fullmatch(node.name):
        c.report(issues.ILLEGAL_DEFINITION_NAME, node, name=node.name, what=a_label(node), rule=names.TYPE_RULE)
    if isinstance(node.type_expr, ast.LiteralList):
        c.report(
            issues.ILLEGAL_EXPRESSION,
            node.type_expr,
            what=a_label(node.type_expr, "A"),
            role="a type reference",
            owner=a_label(node),
            advice="write Array[Type] or Tuple[Type, Type]",
        )
    c.visit(node.type_expr)


def _type_definition(c: Checker, node: ast.Node) -> None:
    c.report(issues.NOT_SUPPORTED, node, what=a_label(node))


def _type_mapping(c: Checker, node: ast.Node) -> None:
    assert isinstance(node, ast.TypeMapping)
    assert isinstance(node.type_expr, ast.Access)
    left = node.type_expr
    if not (isinstance(left.left, ast.QualifiedReference) and left.left.name == "Runtime"):
        c.report(issues.NOT_SUPPORTED, node, what=a_label(node))
        return
    has_pattern = len(left.keys) > 1 and isinstance(left.keys[1], ast.LiteralList)
    if has_pattern != isinstance(node.mapping, ast.LiteralList):
        wanted = "a Tuple[Regexp,String]" if has_pattern else "a Type"
        c.report(issues.ILLEGAL_TYPE_MAPPING, node, wanted=wanted)
    c.visit(node.mapping)


def _name(c: Checker, node: ast.Node, name: str) -> None:
    if not names.CLASS_NAME.fullmatch(name):
        c.report(issues.ILLEGAL_DEFINITION_NAME, node, name=name, what=a_label(node), rule=names.CLASS_RULE)
    elif name in names.RESERVED_TYPE_NAMES:
        c.report(issues.RESERVED_TYPE_NAME, node, name=name, what=a_label(node))


# Parameters


def _parameters(c: Checker, parameters: tuple[ast.Parameter, ...], owner: ast.Node) -> None:
    is_resource = isinstance(owner, ast.HostClassDefinition | ast.ResourceTypeDefinition)
    seen: set[str] = set()
    for index, each in enumerate(parameters):
        if each.captures_rest and is_resource:
            c.report(issues.CAPTURES_REST_UNSUPPORTED, each, name=each.name, what=a_label(owner))
        elif each.captures_rest and isinstance(owner, ast.Lambda) and index < len(parameters) - 1:
            c.report(issues.CAPTURES_REST_NOT_LAST, each, name=each.name)
        if each.name in seen and not isinstance(owner, ast.Lambda):
            c.report(issues.DUPLICATE_PARAMETER, each, name=each.name)
        seen.add(each.name)
        if is_resource and each.name in _BUILT_IN_PARAMETERS:
            c.report(issues.RESERVED_PARAMETER, each, name=each.name, what=label(owner))
        if names.MATCH_VARIABLE.fullmatch(each.name):
            c.report(issues.NUMERIC_PARAMETER, each, name=each.name)
        elif not names.PARAMETER_NAME.fullmatch(each.name):
            c.report(issues.ILLEGAL_PARAMETER_NAME, each, name=each.name)
        if each.type_expr is not None:
            c.visit(each.type_expr)
        if each.default is not None:
            _default(c, each.default)


def _default(c: Checker, node: ast.Node) -> None:
    for found in assignments_in(node):
        c.report(issues.ASSIGNMENT_IN_DEFAULT, found)
    c.visit(node)


def assignments_in(node: ast.Node) -> list[ast.Assignment]:
    """Assignments in an expression, apart from those in the lambdas and blocks of it, which have a scope or place of their own."""
    if isinstance(node, ast.Assignment):
        return [node]
    if isinstance(node, ast.Lambda | ast.Block):
        return []
    found: list[ast.Assignment] = []
    for name in node.__struct_fields__:
        inner = getattr(node, name)
        for each in inner if isinstance(inner, tuple) else (inner,):
            if isinstance(each, ast.Node):
                found.extend(assignments_in(each))
    return found


def _lambda(c: Checker, node: ast.Node) -> None:
    assert isinstance(node, ast.Lambda)
    _parameters(c, node.parameters, node)
    c.statements(node.body.statements)


DEFINITIONS.update(
    {
        ast.HostClassDefinition: _class,
        ast.ResourceTypeDefinition: _define,
        ast.FunctionDefinition: _function,
        ast.NodeDefinition: _node,
        ast.TypeAliasDefinition: _type_alias,
        ast.TypeDefinition: _type_definition,
        ast.TypeMapping: _type_mapping,
    }
)
# Met on the way through an expression, a definition stands in the wrong place.
CHECKS.update(dict.fromkeys(DEFINITIONS, _misplaced))
CHECKS[ast.Lambda] = _lambda
