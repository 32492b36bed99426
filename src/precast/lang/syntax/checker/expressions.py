"""Expressions: what may be assigned, called and named, and what must produce a value."""

from typing import cast

from precast.base.errors import InputError
from precast.lang.issues import checks as issues
from precast.lang.syntax import ast
from precast.lang.syntax.checker import names
from precast.lang.syntax.checker.core import CHECKS, Checker
from precast.lang.syntax.checker.labels import a_label, label
from precast.lang.syntax.checker.texts import problem_with
from precast.lang.values.regexps import compile_regexp


def _variable(c: Checker, node: ast.Node) -> None:
    name = cast(ast.Variable, node).name
    if name[0].isdigit():
        if not names.MATCH_VARIABLE.fullmatch(name):
            c.report(issues.ILLEGAL_NUMERIC_VARIABLE, node, name=name)
    elif not names.VARIABLE_NAME.fullmatch(name):
        c.report(issues.ILLEGAL_VARIABLE_NAME, node, name=name)


def _regexp(c: Checker, node: ast.Node) -> None:
    try:
        compile_regexp(cast(ast.LiteralRegexp, node).pattern)
    except InputError as error:
        c.add(error, node)


def _reserved(c: Checker, node: ast.Node) -> None:
    c.report(issues.RESERVED_WORD, node, word=cast(ast.ReservedWord, node).word)


def _untitled(c: Checker, node: ast.Node) -> None:
    """A block in the place of an expression is a resource without a title, as the parser leaves it."""
    name, attributes = cast(ast.Block, node).statements
    c.report(issues.WITHOUT_TITLE, node, name=cast(ast.QualifiedName, name).value)
    c.visit(attributes)


# Operators


def _unary(c: Checker, node: ast.Node) -> None:
    c.value(cast(ast.Not, node).operand)


def _binary(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Arithmetic, node)
    c.value(node.left)
    c.value(node.right)


def _relationship(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Relationship, node)
    for side in (node.left, node.right):
        if isinstance(side, ast.Collector):
            c.visit(side)
        else:
            c.value(side)


def _group(c: Checker, node: ast.Node) -> None:
    c.value(cast(ast.Parenthesized, node).expression)


def _assignment(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Assignment, node)
    if node.op != "=":
        c.report(issues.NO_LONGER_ASSIGNS, node, op=node.op, sign=node.op[0])
    else:
        _target(c, node.target)
    c.value(node.value)


def _target(c: Checker, node: ast.Node) -> None:
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
        for each in node.elements:
            _target(c, each)
    else:
        c.report(issues.ILLEGAL_ASSIGNMENT, node, what=a_label(node))


# Strings and data


def _interpolated(c: Checker, node: ast.Node) -> None:
    c.values(cast(ast.ConcatenatedString, node).parts)


def _list(c: Checker, node: ast.Node) -> None:
    c.values(cast(ast.LiteralList, node).elements)


def _hash(c: Checker, node: ast.Node) -> None:
    seen: set[object] = set()
    for entry in cast(ast.LiteralHash, node).entries:
        constant = _constant(entry.key)
        if constant is not None:
            if constant in seen:
                c.warn(issues.DUPLICATE_KEY, entry.key, key=constant[1])
            seen.add(constant)
        c.value(entry.key)
        c.value(entry.value)


def _constant(node: ast.Node) -> tuple[str, str] | None:
    """A key that is known without evaluating: its kind and how it is shown."""
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
        parts = [_constant(each) for each in node.elements]
        shown = [part[1] if part[0] != "String" else f'"{part[1]}"' for part in parts if part is not None]
        return ("Array", f"[{', '.join(shown)}]") if len(shown) == len(parts) else None
    return None


def _heredoc(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Heredoc, node)
    if node.syntax and isinstance(node.text, ast.LiteralString):
        problem = problem_with(node.syntax, node.text.value)
        if problem is not None:
            c.report(issues.INVALID_HEREDOC, node, syntax=node.syntax, problem=problem)
    c.visit(node.text)


# Access and calls


def _access(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Access, node)
    c.visit(node.left)
    c.visit_all(node.keys)


def _call(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Call, node)
    functor = node.functor
    if not isinstance(functor, ast.QualifiedName | ast.QualifiedReference | ast.Access):
        c.report(
            issues.ILLEGAL_EXPRESSION,
            functor,
            what=a_label(functor, "A"),
            role="function name",
            owner=a_label(node),
            advice="a function is called by its name: name(…)",
        )
    if not isinstance(functor, ast.QualifiedName):
        c.visit(functor)
    c.visit_all(node.arguments)
    if node.block is not None:
        c.visit(node.block)


def _method(c: Checker, node: ast.Node) -> None:
    node = cast(ast.CallMethod, node)
    c.visit(node.receiver)
    c.visit_all(node.arguments)
    if node.block is not None:
        c.visit(node.block)


# Choices


def _if(c: Checker, node: ast.Node) -> None:
    node = cast(ast.If, node)
    c.value(node.condition)
    c.statements(node.then.statements)
    if isinstance(node.otherwise, ast.Block):
        c.statements(node.otherwise.statements)
    elif node.otherwise is not None:
        c.visit(node.otherwise)


def _case(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Case, node)
    c.value(node.subject)
    has_default = False
    for option in node.options:
        for each in option.values:
            if isinstance(each, ast.LiteralDefault):
                if has_default:
                    c.report(issues.DUPLICATE_DEFAULT, each, what=label(node))
                has_default = True
            c.value(each)
        c.statements(option.body.statements)


def _selector(c: Checker, node: ast.Node) -> None:
    node = cast(ast.Selector, node)
    c.value(node.subject)
    has_default = False
    for entry in node.entries:
        if isinstance(entry.matching, ast.LiteralDefault):
            if has_default:
                c.report(issues.DUPLICATE_DEFAULT, entry, what=label(node))
            has_default = True
        c.value(entry.matching)
        c.visit(entry.value)


def _rendered(c: Checker, node: ast.Node) -> None:
    c.value(cast(ast.RenderExpr, node).expression)


CHECKS.update(
    {
        ast.Variable: _variable,
        ast.LiteralRegexp: _regexp,
        ast.ReservedWord: _reserved,
        ast.Block: _untitled,
        ast.Not: _unary,
        ast.Minus: _unary,
        ast.Splat: _unary,
        ast.Arithmetic: _binary,
        ast.Comparison: _binary,
        ast.Match: _binary,
        ast.In: _binary,
        ast.And: _binary,
        ast.Or: _binary,
        ast.Relationship: _relationship,
        ast.Parenthesized: _group,
        ast.Assignment: _assignment,
        ast.ConcatenatedString: _interpolated,
        ast.LiteralList: _list,
        ast.LiteralHash: _hash,
        ast.Heredoc: _heredoc,
        ast.Access: _access,
        ast.Call: _call,
        ast.CallMethod: _method,
        ast.If: _if,
        ast.Unless: _if,
        ast.Case: _case,
        ast.Selector: _selector,
        ast.RenderExpr: _rendered,
    }
)
