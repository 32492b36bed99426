"""Templates: parameters between bars at the very beginning, then statements, some of which put out text."""

from precast.base.spans import Span
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser.core import PREFIX, Parser
from precast.lang.syntax.parser.parameters import parameters


def template(p: Parser) -> ast.EppExpression:
    """A whole template."""
    declared = parameters(p, "|") if p.took("|") else None
    start = p.starts[p.at]
    statements = p.statements()
    if p.kinds[p.at] != t.END:
        p.unexpected()
    end = len(p.source.text)
    return ast.EppExpression(Span(0, end), declared, ast.Block(Span(start, end), statements))


def _text(p: Parser) -> ast.Node:
    span = p.token_span()
    return ast.RenderString(span, p.take(t.RENDER_STRING))


def _rendered(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    expression = p.expression()
    p.take(t.RENDER_END, "one expression may stand between <%= and %>")
    return ast.RenderExpr(p.span_from(start), expression)


PREFIX[t.RENDER_STRING] = _text
PREFIX[t.RENDER_START] = _rendered
