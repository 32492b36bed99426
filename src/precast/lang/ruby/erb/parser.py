"""Reads a template into one tree: text between tags becomes statements, so that a loop can begin in one tag and end in another."""

from precast.base.spans import Source, Span
from precast.lang.issues import erb as issues
from precast.lang.ruby.erb.scanner import Part, split_template
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


def _live(part: Part, in_comment: bool) -> tuple[str, int]:
    """Return what of a part is no comment, and its offset.

    ERB joins the code of a tag and what follows on one line, up to the next line end of either: a comment at the end of a tag hides that.
    """
    if not in_comment:
        return part.text, part.at
    _, _, rest = ("", "", "") if part.kind == "text" else part.text.partition("\n")
    return rest, part.at + len(part.text) - len(rest)


def _lex_template(source: Source) -> list[Token]:
    tokens: list[Token] = []
    in_comment = False
    for part in split_template(source):
        span = Span(part.at, part.at + len(part.text))
        text, at = _live(part, in_comment)
        in_comment = in_comment and "\n" not in part.text
        if part.kind == "text":
            if text:
                tokens += [Token("\n", None, span), Token("text", text, span), Token("\n", None, span)]
        elif text:
            lexer = CodeLexer(source, text, at)
            code = lexer.run()
            in_comment = lexer.ends_in_comment
            if part.kind == "output":
                if lexer.ends_in_comment:
                    lexer.fail("the comment hides the end of the tag", "remove the comment, or end its line")
                code = [Token("output", None, span), *code, Token("output end", None, span)]
            tokens += [*code, Token("\n", None, span)]
        in_comment = in_comment and not part.ends_line
    end = len(source.text)
    return [*tokens, Token(END, None, Span(end, end))]
