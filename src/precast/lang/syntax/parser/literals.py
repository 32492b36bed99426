"""Literals, variables, strings and collections: the leaves of expressions."""

from collections.abc import Callable
from typing import Final

from precast.base.spans import Span
from precast.lang.issues import syntax as issues
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser.core import PREFIX, Parser

MAX_INTEGER: Final = 2**63 - 1
# Keywords that are plain words inside a list or hash.
_WORDS_IN_COLLECTIONS: Final = frozenset(("type", "function"))


def _parse_name(p: Parser) -> ast.Node:
    at = p.at
    p.at = at + 1
    return ast.QualifiedName(Span(p.starts[at], p.ends[at]), p.values[at])


def _parse_word(p: Parser) -> ast.Node:
    at = p.at
    p.at = at + 1
    return ast.LiteralString(Span(p.starts[at], p.ends[at]), p.values[at])


def _parse_variable(p: Parser) -> ast.Node:
    at = p.at
    p.at = at + 1
    return ast.Variable(Span(p.starts[at], p.ends[at]), p.values[at])


def _parse_boolean(p: Parser) -> ast.Node:
    at = p.at
    p.at = at + 1
    return ast.LiteralBoolean(Span(p.starts[at], p.ends[at]), p.values[at] == "true")


def parse_reference(p: Parser) -> ast.QualifiedReference:
    at = p.at
    value = p.expect(t.REFERENCE)
    if p.kinds[at + 1] in (t.NAME, t.WORD) and p.starts[at + 1] == p.ends[at] and p.values[at + 1].startswith("::"):
        p.fail(issues.ILLEGAL_CLASS_REFERENCE, Span(p.starts[at], p.ends[at + 1]))
    return ast.QualifiedReference(Span(p.starts[at], p.ends[at]), value.removeprefix("::"))


def _parse_regexp(p: Parser) -> ast.Node:
    span = p.token_span()
    return ast.LiteralRegexp(span, p.expect(t.REGEXP))


def _parse_undef(p: Parser) -> ast.Node:
    span = p.token_span()
    p.at += 1
    return ast.LiteralUndef(span)


def _parse_default(p: Parser) -> ast.Node:
    span = p.token_span()
    p.at += 1
    return ast.LiteralDefault(span)


def _parse_reserved(p: Parser) -> ast.Node:
    span = p.token_span()
    p.at += 1
    return ast.ReservedWord(span, p.values[p.at - 1])


def _parse_number(p: Parser) -> ast.Node:
    span = p.token_span()
    text = p.expect(t.NUMBER)
    radix = 10
    if text[0] == "0" and len(text) > 1:
        if text[1] in "xX":
            radix = 16
        elif text.isdigit():
            radix = 8
    if radix == 10 and not text.isdigit():
        value = float(text)
        if value == float("inf"):
            p.fail(issues.FLOAT_RANGE, span, text=text)
        return ast.LiteralFloat(span, value)
    # Python refuses to convert more than a few thousand digits; far fewer are already too many.
    number = int(text, radix) if len(text) < 100 else MAX_INTEGER + 1
    if number > MAX_INTEGER:
        p.fail(issues.INTEGER_RANGE, span, bound="max", text=text)
    return ast.LiteralInteger(span, number, radix)


# Strings


def parse_string(p: Parser) -> ast.LiteralString | ast.ConcatenatedString:
    """A string token, or a string with interpolation."""
    start = p.starts[p.at]
    kind, value = p.kinds[p.at], p.values[p.at]
    if kind == t.STRING:
        p.at += 1
        return ast.LiteralString(Span(start, p.ends[p.at - 1]), value)
    parts: list[ast.Node] = []
    _add_text(p, parts)
    p.expect(t.STRING_START)
    while True:
        parts.append(p.parse_assignment())
        kind = p.kinds[p.at]
        if kind != t.STRING_MIDDLE and kind != t.STRING_END:
            p.fail_unexpected("'}'", "write only one expression between ${ and }")
        _add_text(p, parts)
        p.at += 1
        if kind == t.STRING_END:
            return ast.ConcatenatedString(p.span_from(start), tuple(parts))


def _add_text(p: Parser, parts: list[ast.Node]) -> None:
    if p.values[p.at]:
        parts.append(ast.LiteralString(p.token_span(), p.values[p.at]))


def _parse_heredoc(p: Parser) -> ast.Node:
    span = p.token_span()
    syntax = p.expect(t.HEREDOC)
    return ast.Heredoc(span, syntax, parse_string(p))


# Collections


def _parse_list(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    elements = parse_entries(p, "]", _parse_entry)
    return ast.LiteralList(p.span_from(start), elements)


def parse_entries(p: Parser, closing: str, read: Callable[[Parser], ast.Node]) -> tuple[ast.Node, ...]:
    """Comma-separated arguments or elements and their closing bracket; adjacent `key => value` pairs make one hash."""
    kinds = p.kinds
    items: list[ast.Node] = []
    pairs: list[ast.KeyedEntry] = []
    while kinds[p.at] != closing:
        value = read(p)
        if kinds[p.at] == "=>":
            p.at += 1
            pairs.append(ast.KeyedEntry(p.span_from(value.span.start), value, _parse_entry(p)))
        else:
            if pairs:
                items.append(_hash_of(pairs))
                pairs = []
            items.append(value)
        if kinds[p.at] == ",":
            p.at += 1
        elif kinds[p.at] != closing:
            p.fail_unexpected(f"',' or '{closing}'")
    if pairs:
        items.append(_hash_of(pairs))
    p.at += 1
    return tuple(items)


def _hash_of(pairs: list[ast.KeyedEntry]) -> ast.Node:
    return ast.LiteralHash(Span(pairs[0].span.start, pairs[-1].span.end), tuple(pairs))


def _parse_entry(p: Parser) -> ast.Node:
    """An element of a list, or a key or value of a hash."""
    if p.kinds[p.at] in _WORDS_IN_COLLECTIONS and p.kinds[p.at + 1] in (",", "]", "}", ")", "=>"):
        return _parse_word(p)
    return p.parse_assignment()


def parse_argument(p: Parser) -> ast.Node:
    """An argument of a call; it may be one of these keywords only as the key of a hash."""
    return _parse_entry(p) if p.kinds[p.at + 1] == "=>" else p.parse_assignment()


def parse_key(p: Parser) -> ast.Node:
    """A key between brackets: not an assignment, relationship or resource."""
    return _parse_entry(p) if p.kinds[p.at + 1] == "=>" else p.parse_expression()


def parse_hash_literal(p: Parser) -> ast.LiteralHash:
    """`{ key => value, … }`."""
    kinds = p.kinds
    start = p.starts[p.at]
    p.expect("{")
    pairs: list[ast.KeyedEntry] = []
    while kinds[p.at] != "}":
        key = _parse_entry(p)
        p.expect("=>", "write a hash as { key => value, … }")
        pairs.append(ast.KeyedEntry(p.span_from(key.span.start), key, _parse_entry(p)))
        if kinds[p.at] == ",":
            p.at += 1
        elif kinds[p.at] != "}":
            p.fail_unexpected("',' or '}'")
    p.at += 1
    return ast.LiteralHash(p.span_from(start), tuple(pairs))


PREFIX.update(
    {
        t.NAME: _parse_name,
        t.WORD: _parse_word,
        t.VARIABLE: _parse_variable,
        t.BOOLEAN: _parse_boolean,
        t.REFERENCE: parse_reference,
        t.REGEXP: _parse_regexp,
        t.NUMBER: _parse_number,
        t.STRING: parse_string,
        t.STRING_START: parse_string,
        t.HEREDOC: _parse_heredoc,
        "undef": _parse_undef,
        "default": _parse_default,
        "private": _parse_reserved,
        "attr": _parse_reserved,
        "[": _parse_list,
        t.LIST_START: _parse_list,
        "{": parse_hash_literal,
    }
)
