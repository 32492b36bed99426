"""Turns a whole Ruby file into tokens: the lexer of the subset, with block comments and the end mark of files.

It is tolerant: it skips a character that begins no token, since the readers need to know where blocks begin and end.
"""

import re
from typing import Final

from precast.base.spans import Source, Span
from precast.lang.ruby.syntax.lexer import CodeLexer
from precast.lang.ruby.syntax.tokens import END, Token

_COMMENT_BEGIN: Final = re.compile(r"^=begin\b", re.MULTILINE)
_COMMENT_END: Final = re.compile(r"^=end\b[^\n]*", re.MULTILINE)
_END_MARK: Final = re.compile(r"^__END__\r?$", re.MULTILINE)


def lex_file(source: Source) -> list[Token]:
    """Return the tokens of a file, ended by the END token. Raises InputError LANG-900 for a string that is not closed."""
    text = source.text
    mark = _END_MARK.search(text)
    if mark is not None:
        text = text[: mark.start()]
    text = _without_comments(text)
    tokens = _FileLexer(source, text, 0).run()
    return [*tokens, Token("\n", None, Span(len(text), len(text))), Token(END, None, Span(len(text), len(text)))]


def _without_comments(text: str) -> str:
    """Return the text with block comments replaced by as many blanks, so that positions stay correct."""
    at = 0
    while (begin := _COMMENT_BEGIN.search(text, at)) is not None:
        end = _COMMENT_END.search(text, begin.end())
        at = len(text) if end is None else end.end()
        text = text[: begin.start()] + re.sub(r"[^\n]", " ", text[begin.start() : at]) + text[at:]
    return text


class _FileLexer(CodeLexer):
    has_commands = True

    def _operator(self, is_spaced: bool) -> None:
        """Lex an operator, or skip a character that begins none."""
        char = self.text[self.at]
        if not char.isascii() or char in "\\@$#":
            self.at += 1
            return
        super()._operator(is_spaced)
