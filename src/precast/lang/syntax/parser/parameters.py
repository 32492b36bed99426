"""Parameter lists of classes, defines, functions, lambdas and templates, and return types."""

from typing import Final

from precast.base.spans import Span
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser.core import POSTFIX, Parser

_FORM: Final = "write a parameter as Type $name = default; type and default are optional"


def parse_parameters(p: Parser, closing: str) -> tuple[ast.Parameter, ...]:
    """Parse parameters and the closing token of their list; the opening token has been read."""
    parsed: list[ast.Parameter] = []
    while p.kinds[p.at] != closing:
        parsed.append(_parse_parameter(p))
        if not p.accept(",") and p.kinds[p.at] != closing:
            p.fail_unexpected(f"',' or '{closing}'")
    p.at += 1
    return tuple(parsed)


def _parse_parameter(p: Parser) -> ast.Parameter:
    start = p.starts[p.at]
    type_expr = None
    if p.kinds[p.at] != t.VARIABLE and p.kinds[p.at] != "*":
        if p.kinds[p.at] != t.REFERENCE:
            p.fail_unexpected("a parameter", _FORM)
        type_expr = p.parse_expression(POSTFIX - 1)
    captures_rest = p.accept("*")
    name = p.expect(t.VARIABLE, _FORM)
    span = Span(start, p.ends[p.at - 1])
    default = p.parse_expression() if p.accept("=") else None
    return ast.Parameter(span, name, type_expr, default, captures_rest)


def parse_return_type(p: Parser) -> ast.Node | None:
    """Parse `>> Type`, if present."""
    if not p.accept(">>"):
        return None
    if p.kinds[p.at] != t.REFERENCE:
        p.fail_unexpected("a type")
    return p.parse_expression(POSTFIX - 1)
