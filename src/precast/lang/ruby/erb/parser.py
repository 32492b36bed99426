"""Reads a template into one tree: text between tags becomes statements, so that a loop can begin in one tag and end in another."""

from precast.base.spans import Source, Span
from precast.lang.issues import erb as issues
from precast.lang.ruby.erb.scanner import split_template
from precast.lang.ruby.syntax.lexer import CodeLexer
from precast.lang.ruby.syntax.nodes import Node
from precast.lang.ruby.syntax.parser import Parser
from precast.lang.ruby.syntax.tokens import END, Token


def parse_template(source: Source) -> Node:
    """Return the tree of a template. Raises InputError LANG-900 or LANG-901."""
    parser = Parser(source, _lex_template(source))
    try:
        body = parser.statements()
    except RecursionError:
        raise issues.NOT_IN_SUBSET.error(
            source, parser.token.span, construct="code that is nested this deeply"
        ) from None
    parser.expect(END)
    return body


def _lex_template(source: Source) -> list[Token]:
    tokens: list[Token] = []
    for part in split_template(source):
        span = Span(part.at, part.at + len(part.text))
        if part.kind == "text":
            tokens += [Token("\n", None, span), Token("text", part.text, span), Token("\n", None, span)]
        elif part.kind == "output":
            tokens.append(Token("output", None, span))
            tokens += CodeLexer(source, part.text, part.at).run()
            tokens += [Token("output end", None, span), Token("\n", None, span)]
        else:
            tokens += CodeLexer(source, part.text, part.at).run()
            tokens.append(Token("\n", None, span))
    end = len(source.text)
    return [*tokens, Token(END, None, Span(end, end))]
