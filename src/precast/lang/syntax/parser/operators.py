"""Operators, calls, access, and the expressions that choose: if, unless, case, selectors."""

from collections.abc import Callable

from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser import core
from precast.lang.syntax.parser.core import INFIX, PREFIX, Parser
from precast.lang.syntax.parser.literals import argument, entries, key
from precast.lang.syntax.parser.parameters import parameters, return_type


def _group(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    inner = p.assignment()
    p.take(")")
    return ast.Parenthesized(p.span_from(start), inner)


def _not(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    operand = p.expression(core.NOT)
    return ast.Not(p.span_from(start), operand)


def _minus(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    operand = p.expression(core.MINUS)
    return ast.Minus(p.span_from(start), operand)


def _splat(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    operand = p.expression(core.SPLAT)
    return ast.Splat(p.span_from(start), operand)


def _binary(
    tightness: int, make: type[ast.Arithmetic] | type[ast.Comparison] | type[ast.Match]
) -> tuple[int, Callable[[Parser, ast.Node], ast.Node]]:
    def parse(p: Parser, left: ast.Node) -> ast.Node:
        op = p.kinds[p.at]
        p.at += 1
        right = p.expression(tightness)
        return make(p.span_from(left.span.start), op, left, right)

    return tightness, parse


def _worded(
    tightness: int, make: type[ast.In] | type[ast.And] | type[ast.Or]
) -> tuple[int, Callable[[Parser, ast.Node], ast.Node]]:
    def parse(p: Parser, left: ast.Node) -> ast.Node:
        p.at += 1
        right = p.expression(tightness)
        return make(p.span_from(left.span.start), left, right)

    return tightness, parse


# Access and calls


def _access(p: Parser, left: ast.Node) -> ast.Node:
    p.at += 1
    if p.kinds[p.at] == "]":
        p.unexpected("a key")
    keys = entries(p, "]", key)
    return ast.Access(p.span_from(left.span.start), left, keys)


def _call(p: Parser, left: ast.Node) -> ast.Node:
    p.at += 1
    arguments = entries(p, ")", argument)
    block = lambda_(p) if p.kinds[p.at] == "|" else None
    return ast.Call(p.span_from(left.span.start), left, arguments, block, False)


def _method(p: Parser, left: ast.Node) -> ast.Node:
    p.at += 1
    kind = p.kinds[p.at]
    if kind != t.NAME and kind != "type":
        p.unexpected("the name of a function", "write value.function(…); a key of a hash is read as value['key']")
    name = p.values[p.at]
    p.at += 1
    arguments: tuple[ast.Node, ...] = ()
    if p.kinds[p.at] == "(":
        p.at += 1
        arguments = entries(p, ")", argument)
    block = lambda_(p) if p.kinds[p.at] == "|" else None
    return ast.CallMethod(p.span_from(left.span.start), left, name, arguments, block)


def lambda_(p: Parser) -> ast.Lambda:
    """`|parameters| >> Type { statements }`."""
    start = p.starts[p.at]
    p.take("|")
    declared = parameters(p, "|")
    returned = return_type(p)
    body = p.block()
    return ast.Lambda(p.span_from(start), declared, returned, body)


# Choices


def _if(p: Parser) -> ast.If:
    start = p.starts[p.at]
    p.at += 1
    condition = p.expression()
    then = p.block()
    otherwise: ast.Block | ast.If | None = None
    if p.kinds[p.at] == "elsif":
        p.depth += 1
        if p.depth > core.DEEPEST:
            p.expression()  # says that it is too deep
        otherwise = _if(p)
        p.depth -= 1
    elif p.took("else"):
        if p.kinds[p.at] == "if":
            p.unexpected("'{'", "write elsif")
        otherwise = p.block()
    return ast.If(p.span_from(start), condition, then, otherwise)


def _unless(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    condition = p.expression()
    then = p.block()
    otherwise = p.block() if p.took("else") else None
    if p.kinds[p.at] == "elsif":
        p.unexpected("", "unless takes no elsif: turn it into an if")
    return ast.Unless(p.span_from(start), condition, then, otherwise)


def _case(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    subject = p.expression()
    p.take("{")
    options = [_case_option(p)]
    while not p.took("}"):
        options.append(_case_option(p))
    return ast.Case(p.span_from(start), subject, tuple(options))


def _case_option(p: Parser) -> ast.CaseOption:
    start = p.starts[p.at]
    values = [p.expression()]
    while p.took(","):
        values.append(p.expression())
    p.take(":", "an option is value, value: { … }")
    body = p.block()
    return ast.CaseOption(p.span_from(start), tuple(values), body)


def _selector(p: Parser, left: ast.Node) -> ast.Node:
    p.at += 1
    if not p.took("{"):
        return ast.Selector(p.span_from(left.span.start), left, (_selector_entry(p),))
    found = [_selector_entry(p)]
    while p.took(","):
        if p.kinds[p.at] == "}":
            break
        found.append(_selector_entry(p))
    p.take("}")
    return ast.Selector(p.span_from(left.span.start), left, tuple(found))


def _selector_entry(p: Parser) -> ast.SelectorEntry:
    matching = p.expression()
    p.take("=>", "an entry of a selector is value => result")
    value = p.expression()
    return ast.SelectorEntry(p.span_from(matching.span.start), matching, value)


PREFIX.update(
    {
        "(": _group,
        t.GROUP_START: _group,
        "!": _not,
        "-": _minus,
        "*": _splat,
        "if": _if,
        "unless": _unless,
        "case": _case,
    }
)
INFIX.update(
    {
        "or": _worded(core.OR, ast.Or),
        "and": _worded(core.AND, ast.And),
        "?": (core.SELECT, _selector),
        **dict.fromkeys(("<", ">", "<=", ">="), _binary(core.ORDER, ast.Comparison)),
        **dict.fromkeys(("==", "!="), _binary(core.EQUALITY, ast.Comparison)),
        **dict.fromkeys(("<<", ">>"), _binary(core.SHIFT, ast.Arithmetic)),
        **dict.fromkeys(("+", "-"), _binary(core.SUM, ast.Arithmetic)),
        **dict.fromkeys(("*", "/", "%"), _binary(core.PRODUCT, ast.Arithmetic)),
        **dict.fromkeys(("=~", "!~"), _binary(core.MATCH, ast.Match)),
        "in": _worded(core.IN, ast.In),
        "[": (core.POSTFIX, _access),
        "(": (core.POSTFIX, _call),
        ".": (core.POSTFIX, _method),
    }
)
