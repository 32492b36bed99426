"""Definitions: where they are allowed, and the names of them and of their parameters."""

from typing import Final

from precast.lang.issues import checks as issues
from precast.lang.syntax import ast
from precast.lang.syntax.checker import names
from precast.lang.syntax.checker.core import CHECKS, DEFINITIONS, Checker
from precast.lang.syntax.checker.labels import a_label, label

_BUILT_IN_PARAMETERS: Final = ("name", "title")


def check_top(c: Checker, program: ast.Program, namespace: str | None) -> None:
    """Check a whole file."""
    body = program.body
    if isinstance(body, ast.EppExpression):
        _check_parameters(c, body.parameters or (), body)
        c.check_statements(body.body.statements)
        return
    c.check_statements(body.statements, place="top")
    if namespace is not None:
        _check_location(c, program, body, namespace)


def _report_misplaced(c: Checker, node: ast.Node) -> None:
    c.report(issues.NOT_TOP_LEVEL, node, what=label(node))
    DEFINITIONS[type(node)](c, node)


def _check_location(c: Checker, program: ast.Program, body: ast.Block, namespace: str) -> None:
    """Report definitions in a file of a module in which the autoloader would not look for them."""
    for node in body.statements:
        if isinstance(node, ast.HostClassDefinition | ast.ResourceTypeDefinition | ast.FunctionDefinition):
            if node.name != namespace and not node.name.startswith(f"{namespace}::"):
                c.report(issues.ILLEGAL_LOCATION, node, name=node.name, path=program.source.path, namespace=namespace)
        elif not isinstance(node, ast.TypeAliasDefinition | ast.TypeMapping):
            c.report(issues.ILLEGAL_TOP_CONSTRUCT, node, what=label(node))


# One function for each kind of definition


def _check_class(c: Checker, node: ast.Node) -> None:
    assert isinstance(node, ast.HostClassDefinition)
    _check_name(c, node, node.name)
    _check_parameters(c, node.parameters, node)
    c.check_statements(node.body.statements, node, place="class")


def _check_define(c: Checker, node: ast.Node) -> None:
    assert isinstance(node, ast.ResourceTypeDefinition)
    _check_name(c, node, node.name)
    _check_parameters(c, node.parameters, node)
    c.check_statements(node.body.statements, node)


def _check_function(c: Checker, node: ast.Node) -> None:
    assert isinstance(node, ast.FunctionDefinition)
    _check_name(c, node, node.name)
    _check_parameters(c, node.parameters, node)
    c.check_statements(node.body.statements)


def _check_node(c: Checker, node: ast.Node) -> None:
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
    c.check_statements(node.body.statements, node)


def _check_type_alias(c: Checker, node: ast.Node) -> None:
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


def _check_type_definition(c: Checker, node: ast.Node) -> None:
    c.report(issues.NOT_SUPPORTED, node, what=a_label(node))


def _check_type_mapping(c: Checker, node: ast.Node) -> None:
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


def _check_name(c: Checker, node: ast.Node, name: str) -> None:
    if not names.CLASS_NAME.fullmatch(name):
        c.report(issues.ILLEGAL_DEFINITION_NAME, node, name=name, what=a_label(node), rule=names.CLASS_RULE)
    elif name in names.RESERVED_TYPE_NAMES:
        c.report(issues.RESERVED_TYPE_NAME, node, name=name, what=a_label(node))


# Parameters


def _check_parameters(c: Checker, parameters: tuple[ast.Parameter, ...], owner: ast.Node) -> None:
    is_resource = isinstance(owner, ast.HostClassDefinition | ast.ResourceTypeDefinition)
    seen: set[str] = set()
    for index, parameter in enumerate(parameters):
        if parameter.captures_rest and is_resource:
            c.report(issues.CAPTURES_REST_UNSUPPORTED, parameter, name=parameter.name, what=a_label(owner))
        elif parameter.captures_rest and isinstance(owner, ast.Lambda) and index < len(parameters) - 1:
            c.report(issues.CAPTURES_REST_NOT_LAST, parameter, name=parameter.name)
        if parameter.name in seen and not isinstance(owner, ast.Lambda):
            c.report(issues.DUPLICATE_PARAMETER, parameter, name=parameter.name)
        seen.add(parameter.name)
        if is_resource and parameter.name in _BUILT_IN_PARAMETERS:
            c.report(issues.RESERVED_PARAMETER, parameter, name=parameter.name, what=label(owner))
        if names.MATCH_VARIABLE.fullmatch(parameter.name):
            c.report(issues.NUMERIC_PARAMETER, parameter, name=parameter.name)
        elif not names.PARAMETER_NAME.fullmatch(parameter.name):
            c.report(issues.ILLEGAL_PARAMETER_NAME, parameter, name=parameter.name)
        if parameter.type_expr is not None:
            c.visit(parameter.type_expr)
        if parameter.default is not None:
            _check_default(c, parameter.default)


def _check_default(c: Checker, node: ast.Node) -> None:
    for assignment in assignments_in(node):
        c.report(issues.ASSIGNMENT_IN_DEFAULT, assignment)
    c.visit(node)


def assignments_in(node: ast.Node) -> list[ast.Assignment]:
    """The assignments in an expression, except those in its lambdas and blocks, which have their own scope or place."""
    if isinstance(node, ast.Assignment):
        return [node]
    if isinstance(node, ast.Lambda | ast.Block):
        return []
    assignments: list[ast.Assignment] = []
    for name in node.__struct_fields__:
        inner = getattr(node, name)
        for child in inner if isinstance(inner, tuple) else (inner,):
            if isinstance(child, ast.Node):
                assignments.extend(assignments_in(child))
    return assignments


def _check_lambda(c: Checker, node: ast.Node) -> None:
    assert isinstance(node, ast.Lambda)
    _check_parameters(c, node.parameters, node)
    c.check_statements(node.body.statements)


DEFINITIONS.update(
    {
        ast.HostClassDefinition: _check_class,
        ast.ResourceTypeDefinition: _check_define,
        ast.FunctionDefinition: _check_function,
        ast.NodeDefinition: _check_node,
        ast.TypeAliasDefinition: _check_type_alias,
        ast.TypeDefinition: _check_type_definition,
        ast.TypeMapping: _check_type_mapping,
    }
)
# A definition met while visiting an expression is in the wrong place.
CHECKS.update(dict.fromkeys(DEFINITIONS, _report_misplaced))
CHECKS[ast.Lambda] = _check_lambda
