"""Literals, variables, strings and collections: what expressions are made of."""

from collections.abc import Callable
from typing import Final

from precast.base.spans import Span
from precast.lang.issues import syntax as issues
from precast.lang.syntax import ast
from precast.lang.syntax import tokens as t
from precast.lang.syntax.parser.core import PREFIX, Parser

LARGEST: Final = 2**63 - 1
# Keywords that are plain words inside a list or hash.
_WORDS_IN_COLLECTIONS: Final = frozenset(("type", "function"))


def _name(p: Parser) -> ast.Node:
    at = p.at
    p.at = at + 1
    return ast.QualifiedName(Span(p.starts[at], p.ends[at]), p.values[at])


def _word(p: Parser) -> ast.Node:
    at = p.at
    p.at = at + 1
    return ast.LiteralString(Span(p.starts[at], p.ends[at]), p.values[at])


def _variable(p: Parser) -> ast.Node:
    at = p.at
    p.at = at + 1
    return ast.Variable(Span(p.starts[at], p.ends[at]), p.values[at])


def _boolean(p: Parser) -> ast.Node:
    at = p.at
    p.at = at + 1
    return ast.LiteralBoolean(Span(p.starts[at], p.ends[at]), p.values[at] == "true")


def reference(p: Parser) -> ast.QualifiedReference:
    at = p.at
    value = p.take(t.REFERENCE)
    if p.kinds[at + 1] in (t.NAME, t.WORD) and p.starts[at + 1] == p.ends[at] and p.values[at + 1].startswith("::"):
        p.fail(issues.ILLEGAL_CLASS_REFERENCE, Span(p.starts[at], p.ends[at + 1]))
    return ast.QualifiedReference(Span(p.starts[at], p.ends[at]), value.removeprefix("::"))


def _regexp(p: Parser) -> ast.Node:
    span = p.token_span()
    return ast.LiteralRegexp(span, p.take(t.REGEXP))


def _undef(p: Parser) -> ast.Node:
    span = p.token_span()
    p.at += 1
    return ast.LiteralUndef(span)


def _default(p: Parser) -> ast.Node:
    span = p.token_span()
    p.at += 1
    return ast.LiteralDefault(span)


def _reserved(p: Parser) -> ast.Node:
    span = p.token_span()
    p.at += 1
    return ast.ReservedWord(span, p.values[p.at - 1])


def _number(p: Parser) -> ast.Node:
    span = p.token_span()
    text = p.take(t.NUMBER)
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
    # Beyond some thousand digits Python refuses to convert: so many are too many by far.
    number = int(text, radix) if len(text) < 100 else LARGEST + 1
    if number > LARGEST:
        p.fail(issues.INTEGER_RANGE, span, bound="max", text=text)
    return ast.LiteralInteger(span, number, radix)


# Strings


def string(p: Parser) -> ast.LiteralString | ast.ConcatenatedString:
    """A string token, or a string with interpolation."""
    start = p.starts[p.at]
    kind, value = p.kinds[p.at], p.values[p.at]
    if kind == t.STRING:
        p.at += 1
        return ast.LiteralString(Span(start, p.ends[p.at - 1]), value)
    parts: list[ast.Node] = []
    _add_text(p, parts)
    p.take(t.STRING_START)
    while True:
        parts.append(p.assignment())
        kind = p.kinds[p.at]
        if kind != t.STRING_MIDDLE and kind != t.STRING_END:
            p.unexpected("'}'", "one expression may stand between ${ and }")
        _add_text(p, parts)
        p.at += 1
        if kind == t.STRING_END:
            return ast.ConcatenatedString(p.span_from(start), tuple(parts))


def _add_text(p: Parser, parts: list[ast.Node]) -> None:
    if p.values[p.at]:
        parts.append(ast.LiteralString(p.token_span(), p.values[p.at]))


def _heredoc(p: Parser) -> ast.Node:
    span = p.token_span()
    syntax = p.take(t.HEREDOC)
    return ast.Heredoc(span, syntax, string(p))


# Collections


def _list(p: Parser) -> ast.Node:
    start = p.starts[p.at]
    p.at += 1
    elements = entries(p, "]", _entry)
    return ast.LiteralList(p.span_from(start), elements)


def entries(p: Parser, closing: str, read: Callable[[Parser], ast.Node]) -> tuple[ast.Node, ...]:
    """Comma-separated arguments or elements and the bracket after them; neighbouring `key => value` make one hash."""
    kinds = p.kinds
    found: list[ast.Node] = []
    pairs: list[ast.KeyedEntry] = []
    while kinds[p.at] != closing:
        value = read(p)
        if kinds[p.at] == "=>":
            p.at += 1
            pairs.append(ast.KeyedEntry(p.span_from(value.span.start), value, _entry(p)))
        else:
            if pairs:
                found.append(_hash_of(pairs))
                pairs = []
            found.append(value)
        if kinds[p.at] == ",":
            p.at += 1
        elif kinds[p.at] != closing:
            p.unexpected(f"',' or '{closing}'")
    if pairs:
        found.append(_hash_of(pairs))
    p.at += 1
    return tuple(found)


def _hash_of(pairs: list[ast.KeyedEntry]) -> ast.Node:
    return ast.LiteralHash(Span(pairs[0].span.start, pairs[-1].span.end), tuple(pairs))


def _entry(p: Parser) -> ast.Node:
    """An element of a list, or a key or value of a hash."""
    if p.kinds[p.at] in _WORDS_IN_COLLECTIONS and p.kinds[p.at + 1] in (",", "]", "}", ")", "=>"):
        return _word(p)
    return p.assignment()


def argument(p: Parser) -> ast.Node:
    """An argument of a call; only as the key of a hash it may be one of these keywords."""
    return _entry(p) if p.kinds[p.at + 1] == "=>" else p.assignment()


def key(p: Parser) -> ast.Node:
    """A key between brackets: no assignment, no relationship and no resource."""
    return _entry(p) if p.kinds[p.at + 1] == "=>" else p.expression()


def hash_literal(p: Parser) -> ast.LiteralHash:
    """`{ key => value, … }`."""
    kinds = p.kinds
    start = p.starts[p.at]
    p.take("{")
    pairs: list[ast.KeyedEntry] = []
    while kinds[p.at] != "}":
        key = _entry(p)
        p.take("=>", "a hash is { key => value, … }")
        pairs.append(ast.KeyedEntry(p.span_from(key.span.start), key, _entry(p)))
        if kinds[p.at] == ",":
            p.at += 1
        elif kinds[p.at] != "}":
            p.unexpected("',' or '}'")
    p.at += 1
    return ast.LiteralHash(p.span_from(start), tuple(pairs))


PREFIX.update(
    {
        t.NAME: _name,
        t.WORD: _word,
        t.VARIABLE: _variable,
        t.BOOLEAN: _boolean,
        t.REFERENCE: reference,
        t.REGEXP: _regexp,
        t.NUMBER: _number,
        t.STRING: string,
        t.STRING_START: string,
        t.HEREDOC: _heredoc,
        "undef": _undef,
        "default": _default,
        "private": _reserved,
        "attr": _reserved,
        "[": _list,
        t.LIST_START: _list,
        "{": hash_literal,
    }
)
