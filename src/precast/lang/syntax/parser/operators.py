"""Operators, calls, access, and the conditional expressions: if, unless, case, selectors."""

from collections.abc import Callable

from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser import core
from precast.lang.syntax.parser.core import INFIX, PREFIX, Parser
from precast.lang.syntax.parser.literals import parse_argument, parse_entries, parse_key
from precast.lang.syntax.parser.parameters import parse_parameters, parse_return_type


def _parse_group(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    inner = p.parse_assignment()
    p.expect(")")
    return ast.Parenthesized(p.span_from(start), inner)


def _parse_not(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    operand = p.parse_expression(core.NOT)
    return ast.Not(p.span_from(start), operand)


def _parse_minus(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    operand = p.parse_expression(core.MINUS)
    return ast.Minus(p.span_from(start), operand)


def _parse_splat(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    operand = p.parse_expression(core.SPLAT)
    return ast.Splat(p.span_from(start), operand)


def _operator(
    tightness: int, make: type[ast.Arithmetic] | type[ast.Comparison] | type[ast.Match]
) -> tuple[int, Callable[[Parser, ast.Node], ast.Node]]:
    def parse(p: Parser, left: ast.Node) -> ast.Node:
        op = p.kinds[p.at]
        p.at += 1
        right = p.parse_expression(tightness)
        return make(p.span_from(left.span.start), op, left, right)

    return tightness, parse


def _word_operator(
    tightness: int, make: type[ast.In] | type[ast.And] | type[ast.Or]
) -> tuple[int, Callable[[Parser, ast.Node], ast.Node]]:
    def parse(p: Parser, left: ast.Node) -> ast.Node:
        p.at += 1
        right = p.parse_expression(tightness)
        return make(p.span_from(left.span.start), left, right)

    return tightness, parse


# Access and calls


def _parse_access(p: Parser, left: ast.Node) -> ast.Node:
    p.at += 1
    if p.kinds[p.at] == "]":
        p.fail_unexpected("a key")
    keys = parse_entries(p, "]", parse_key)
    return ast.Access(p.span_from(left.span.start), left, keys)


def _parse_call(p: Parser, left: ast.Node) -> ast.Node:
    p.at += 1
    arguments = parse_entries(p, ")", parse_argument)
    block = parse_lambda(p) if p.kinds[p.at] == "|" else None
    return ast.Call(p.span_from(left.span.start), left, arguments, block, False)


def _parse_method(p: Parser, left: ast.Node) -> ast.Node:
    p.at += 1
    kind = p.kinds[p.at]
    if kind != t.NAME and kind != "type":
        p.fail_unexpected("the name of a function", "write value.function(…); read a key of a hash with value['key']")
    name = p.values[p.at]
    p.at += 1
    arguments: tuple[ast.Node, ...] = ()
    if p.kinds[p.at] == "(":
        p.at += 1
        arguments = parse_entries(p, ")", parse_argument)
    block = parse_lambda(p) if p.kinds[p.at] == "|" else None
    return ast.CallMethod(p.span_from(left.span.start), left, name, arguments, block)


def parse_lambda(p: Parser) -> ast.Lambda:
    """`|parameters| >> Type { statements }`."""
    start = p.starts[p.at]
    p.expect("|")
    declared = parse_parameters(p, "|")
    returned = parse_return_type(p)
    body = p.parse_block()
    return ast.Lambda(p.span_from(start), declared, returned, body)


# Conditionals


def _parse_if(p: Parser) -> ast.If:
    start = p.starts[p.at]
    p.at += 1
    condition = p.parse_expression()
    then = p.parse_block()
    otherwise: ast.Block | ast.If | None = None
    if p.kinds[p.at] == "elsif":
        p.depth += 1
        if p.depth > core.MAX_DEPTH:
            p.parse_expression()  # raises TOO_DEEP
        otherwise = _parse_if(p)
        p.depth -= 1
    elif p.accept("else"):
        if p.kinds[p.at] == "if":
            p.fail_unexpected("'{'", "write elsif")
        otherwise = p.parse_block()
    return ast.If(p.span_from(start), condition, then, otherwise)


def _parse_unless(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    condition = p.parse_expression()
    then = p.parse_block()
    otherwise = p.parse_block() if p.accept("else") else None
    if p.kinds[p.at] == "elsif":
        p.fail_unexpected("", "unless has no elsif: use if instead")
    return ast.Unless(p.span_from(start), condition, then, otherwise)


def _parse_case(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    subject = p.parse_expression()
    p.expect("{")
    options = [_parse_case_option(p)]
    while not p.accept("}"):
        options.append(_parse_case_option(p))
    return ast.Case(p.span_from(start), subject, tuple(options))


def _parse_case_option(p: Parser) -> ast.CaseOption:
    start = p.starts[p.at]
    values = [p.parse_expression()]
    while p.accept(","):
        values.append(p.parse_expression())
    p.expect(":", "write an option as value, value: { … }")
    body = p.parse_block()
    return ast.CaseOption(p.span_from(start), tuple(values), body)


def _parse_selector(p: Parser, left: ast.Node) -> ast.Node:
    p.at += 1
    if not p.accept("{"):
        return ast.Selector(p.span_from(left.span.start), left, (_parse_selector_entry(p),))
    selector_entries = [_parse_selector_entry(p)]
    while p.accept(","):
        if p.kinds[p.at] == "}":
            break
        selector_entries.append(_parse_selector_entry(p))
    p.expect("}")
    return ast.Selector(p.span_from(left.span.start), left, tuple(selector_entries))


def _parse_selector_entry(p: Parser) -> ast.SelectorEntry:
    matching = p.parse_expression()
    p.expect("=>", "write an entry of a selector as value => result")
    value = p.parse_expression()
    return ast.SelectorEntry(p.span_from(matching.span.start), matching, value)


PREFIX.update(
    {
        "(": _parse_group,
        t.GROUP_START: _parse_group,
        "!": _parse_not,
        "-": _parse_minus,
        "*": _parse_splat,
        "if": _parse_if,
        "unless": _parse_unless,
        "case": _parse_case,
    }
)
INFIX.update(
    {
        "or": _word_operator(core.OR, ast.Or),
        "and": _word_operator(core.AND, ast.And),
        "?": (core.SELECT, _parse_selector),
        **dict.fromkeys(("<", ">", "<=", ">="), _operator(core.ORDER, ast.Comparison)),
        **dict.fromkeys(("==", "!="), _operator(core.EQUALITY, ast.Comparison)),
        **dict.fromkeys(("<<", ">>"), _operator(core.SHIFT, ast.Arithmetic)),
        **dict.fromkeys(("+", "-"), _operator(core.SUM, ast.Arithmetic)),
        **dict.fromkeys(("*", "/", "%"), _operator(core.PRODUCT, ast.Arithmetic)),
        **dict.fromkeys(("=~", "!~"), _operator(core.MATCH, ast.Match)),
        "in": _word_operator(core.IN, ast.In),
        "[": (core.POSTFIX, _parse_access),
        "(": (core.POSTFIX, _parse_call),
        ".": (core.POSTFIX, _parse_method),
    }
)
