"""Parameter lists of classes, defines, functions, lambdas and templates, and return types."""

from typing import Final

from precast.base.spans import Span
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser.core import POSTFIX, Parser

_FORM: Final = "a parameter is Type $name = default; type and default may be left out"


def parameters(p: Parser, closing: str) -> tuple[ast.Parameter, ...]:
    """Parameters and what closes their list, whose opening has been taken."""
    found: list[ast.Parameter] = []
    while p.kinds[p.at] != closing:
        found.append(_parameter(p))
        if not p.took(",") and p.kinds[p.at] != closing:
            p.unexpected(f"',' or '{closing}'")
    p.at += 1
    return tuple(found)


def _parameter(p: Parser) -> ast.Parameter:
    start = p.starts[p.at]
    type_expr = None
    if p.kinds[p.at] != t.VARIABLE and p.kinds[p.at] != "*":
        if p.kinds[p.at] != t.REFERENCE:
            p.unexpected("a parameter", _FORM)
        type_expr = p.expression(POSTFIX - 1)
    captures_rest = p.took("*")
    name = p.take(t.VARIABLE, _FORM)
    span = Span(start, p.ends[p.at - 1])
    default = p.expression() if p.took("=") else None
    return ast.Parameter(span, name, type_expr, default, captures_rest)


def return_type(p: Parser) -> ast.Node | None:
    """`>> Type`, if it is there."""
    if not p.took(">>"):
        return None
    if p.kinds[p.at] != t.REFERENCE:
        p.unexpected("a type")
    return p.expression(POSTFIX - 1)
