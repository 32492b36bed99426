"""Expressions: what may be assigned, called and named, and which must produce a value."""

from typing import cast

from precast.base.errors import InputError
from precast.lang.issues import checks as issues
from precast.lang.syntax import ast
from precast.lang.syntax.checker import names
from precast.lang.syntax.checker.core import CHECKS, Checker
from precast.lang.syntax.checker.heredocs import problem_with
from precast.lang.syntax.checker.labels import a_label, label
from precast.lang.values.regexps import compile_regexp


def _check_variable(c: Checker, node: ast.Node) -> None:
    name = cast(ast.Variable, node).name
    if name[0].isdigit():
        if not names.MATCH_VARIABLE.fullmatch(name):
            c.report(issues.ILLEGAL_NUMERIC_VARIABLE, node, name=name)
    elif not names.VARIABLE_NAME.fullmatch(name):
        c.report(issues.ILLEGAL_VARIABLE_NAME, node, name=name)


def _check_regexp(c: Checker, node: ast.Node) -> None:
    try:
        compile_regexp(cast(ast.LiteralRegexp, node).pattern)
    except InputError as error:
        c.add(error, node)


def _check_reserved(c: Checker, node: ast.Node) -> None:
    c.report(issues.RESERVED_WORD, node, word=cast(ast.ReservedWord, node).word)


def _check_untitled(c: Checker, node: ast.Node) -> None:
    """Report a resource without a title: the parser leaves it as a block in place of an expression."""
    name, attributes = cast(ast.Block, node).statements
    c.report(issues.WITHOUT_TITLE, node, name=cast(ast.QualifiedName, name).value)
    c.visit(attributes)


# Operators


def _check_unary(c: Checker, node: ast.Node) -> None:
    c.check_value(cast(ast.Not, node).operand)


def _check_binary(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Arithmetic, node)
    c.check_value(node.left)
    c.check_value(node.right)


def _check_relationship(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Relationship, node)
    for side in (node.left, node.right):
        if isinstance(side, ast.Collector):
            c.visit(side)
        else:
            c.check_value(side)


def _check_group(c: Checker, node: ast.Node) -> None:
    c.check_value(cast(ast.Parenthesized, node).expression)


def _check_assignment(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Assignment, node)
    if node.op != "=":
        c.report(issues.NO_LONGER_ASSIGNS, node, op=node.op, sign=node.op[0])
    else:
        _check_target(c, node.target)
    c.check_value(node.value)


def _check_target(c: Checker, node: ast.Node) -> None:
    if isinstance(node, ast.Variable):
        if names.MATCH_VARIABLE.fullmatch(node.name):
            c.report(issues.NUMERIC_ASSIGNMENT, node, name=node.name)
        elif "::" in node.name:
            c.report(issues.CROSS_SCOPE_ASSIGNMENT, node, name=node.name)
        else:
            c.visit(node)
    elif isinstance(node, ast.Access):
        c.report(issues.ASSIGNMENT_BY_INDEX, node)
    elif isinstance(node, ast.LiteralList):
        for element in node.elements:
            _check_target(c, element)
    else:
        c.report(issues.ILLEGAL_ASSIGNMENT, node, what=a_label(node))


# Strings and data


def _check_interpolation(c: Checker, node: ast.Node) -> None:
    c.check_values(cast(ast.ConcatenatedString, node).parts)


def _check_list(c: Checker, node: ast.Node) -> None:
    c.check_values(cast(ast.LiteralList, node).elements)


def _check_hash(c: Checker, node: ast.Node) -> None:
    seen: set[object] = set()
    for entry in cast(ast.LiteralHash, node).entries:
        constant = _constant(entry.key)
        if constant is not None:
            if constant in seen:
                c.warn(issues.DUPLICATE_KEY, entry.key, key=constant[1])
            seen.add(constant)
        c.check_value(entry.key)
        c.check_value(entry.value)


def _constant(node: ast.Node) -> tuple[str, str] | None:
    """A key that is known without evaluation: its kind and its text."""
    if isinstance(node, ast.LiteralString | ast.QualifiedName):
        return "String", node.value
    if isinstance(node, ast.LiteralInteger | ast.LiteralFloat):
        return label(node), str(node.value)
    if isinstance(node, ast.LiteralBoolean):
        return "Boolean", str(node.value).lower()
    if isinstance(node, ast.LiteralUndef):
        return "Undef", ""
    if isinstance(node, ast.LiteralDefault):
        return "Default", "default"
    if isinstance(node, ast.LiteralRegexp):
        return "Regexp", f"(?-mix:{node.pattern})"
    if isinstance(node, ast.LiteralList):
        parts = [_constant(element) for element in node.elements]
        shown = [part[1] if part[0] != "String" else f'"{part[1]}"' for part in parts if part is not None]
        return ("Array", f"[{', '.join(shown)}]") if len(shown) == len(parts) else None
    return None


def _check_heredoc(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Heredoc, node)
    if node.syntax and isinstance(node.text, ast.LiteralString):
        problem = problem_with(node.syntax, node.text.value)
        if problem is not None:
            c.report(issues.INVALID_HEREDOC, node, syntax=node.syntax, problem=problem)
    c.visit(node.text)


# Access and calls


def _check_access(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Access, node)
    c.visit(node.left)
    c.visit_all(node.keys)


def _check_call(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Call, node)
    functor = node.functor
    if not isinstance(functor, ast.QualifiedName | ast.QualifiedReference | ast.Access):
        c.report(
            issues.ILLEGAL_EXPRESSION,
            functor,
            what=a_label(functor, "A"),
            role="function name",
            owner=a_label(node),
            advice="call a function by its name: name(…)",
        )
    if not isinstance(functor, ast.QualifiedName):
        c.visit(functor)
    c.visit_all(node.arguments)
    if node.block is not None:
        c.visit(node.block)


def _check_method(c: Checker, node: ast.Node) -> None:
    node = cast(ast.CallMethod, node)
    c.visit(node.receiver)
    c.visit_all(node.arguments)
    if node.block is not None:
        c.visit(node.block)


# Conditionals


def _check_if(c: Checker, node: ast.Node) -> None:
    node = cast(ast.If, node)
    c.check_value(node.condition)
    c.check_statements(node.then.statements)
    if isinstance(node.otherwise, ast.Block):
        c.check_statements(node.otherwise.statements)
    elif node.otherwise is not None:
        c.visit(node.otherwise)


def _check_case(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Case, node)
    c.check_value(node.subject)
    has_default = False
    for option in node.options:
        for value in option.values:
            if isinstance(value, ast.LiteralDefault):
                if has_default:
                    c.report(issues.DUPLICATE_DEFAULT, value, what=label(node))
                has_default = True
            c.check_value(value)
        c.check_statements(option.body.statements)


def _check_selector(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Selector, node)
    c.check_value(node.subject)
    has_default = False
    for entry in node.entries:
        if isinstance(entry.matching, ast.LiteralDefault):
            if has_default:
                c.report(issues.DUPLICATE_DEFAULT, entry, what=label(node))
            has_default = True
        c.check_value(entry.matching)
        c.visit(entry.value)


def _check_render_expression(c: Checker, node: ast.Node) -> None:
    c.check_value(cast(ast.RenderExpr, node).expression)


CHECKS.update(
    {
        ast.Variable: _check_variable,
        ast.LiteralRegexp: _check_regexp,
        ast.ReservedWord: _check_reserved,
        ast.Block: _check_untitled,
        ast.Not: _check_unary,
        ast.Minus: _check_unary,
        ast.Splat: _check_unary,
        ast.Arithmetic: _check_binary,
        ast.Comparison: _check_binary,
        ast.Match: _check_binary,
        ast.In: _check_binary,
        ast.And: _check_binary,
        ast.Or: _check_binary,
        ast.Relationship: _check_relationship,
        ast.Parenthesized: _check_group,
        ast.Assignment: _check_assignment,
        ast.ConcatenatedString: _check_interpolation,
        ast.LiteralList: _check_list,
        ast.LiteralHash: _check_hash,
        ast.Heredoc: _check_heredoc,
        ast.Access: _check_access,
        ast.Call: _check_call,
        ast.CallMethod: _check_method,
        ast.If: _check_if,
        ast.Unless: _check_if,
        ast.Case: _check_case,
        ast.Selector: _check_selector,
        ast.RenderExpr: _check_render_expression,
    }
)
