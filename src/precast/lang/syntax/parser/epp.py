"""Templates: parameters between bars at the very beginning, then statements, some of which output text."""

from precast.base.spans import Span
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser.core import PREFIX, Parser
from precast.lang.syntax.parser.parameters import parse_parameters


def parse_template(p: Parser) -> ast.EppExpression:
    """Parse a whole template."""
    declared = parse_parameters(p, "|") if p.accept("|") else None
    start = p.starts[p.at]
    statements = p.parse_statements()
    if p.kinds[p.at] != t.END:
        p.fail_unexpected()
    end = len(p.source.text)
    return ast.EppExpression(Span(0, end), declared, ast.Block(Span(start, end), statements))


def _parse_text(p: Parser) -> ast.Node:
    span = p.token_span()
    return ast.RenderString(span, p.expect(t.RENDER_STRING))


def _parse_render_expression(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    expression = p.parse_expression()
    p.expect(t.RENDER_END, "write only one expression between <%= and %>")
    return ast.RenderExpr(p.span_from(start), expression)


PREFIX[t.RENDER_STRING] = _parse_text
PREFIX[t.RENDER_START] = _parse_render_expression
