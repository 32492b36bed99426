"""Turns a whole Ruby file into tokens: the lexer of the subset, with heredocs, block comments and the end mark of files.

It is tolerant: it skips a character that begins no token, since the readers need to know where blocks begin and end.
"""

import re
import textwrap
from typing import Any, Final

from precast.base.spans import Source, Span
from precast.lang.ruby.syntax.lexer import CodeLexer
from precast.lang.ruby.syntax.tokens import END, Token

_HEREDOC: Final = re.compile(r"<<([-~]?)([\"'`]?)([A-Za-z_]\w*)\2")
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
    def __init__(self, source: Source, text: str, at: int) -> None:
        super().__init__(source, text, at)
        self._after_line: int | None = None  # where the next line begins, after the heredocs of this one
        self._depths: list[int] = []

    def _step(self, is_spaced: bool) -> None:
        char = self.text[self.at]
        if char == "\n" and self._after_line is not None:
            self.at, self._after_line = self._after_line - 1, None
        heredoc = _HEREDOC.match(self.text, self.at) if char == "<" else None
        if heredoc is not None and (heredoc[1] or heredoc[2] or heredoc[3][0].isupper()) and self._may_begin(is_spaced):
            self._heredoc(heredoc, is_spaced)
        else:
            super()._step(is_spaced)

    def _may_begin(self, is_spaced: bool) -> bool:
        last = self.tokens[-1] if self.tokens else None
        return self._is_value_next(is_spaced) and not (last is not None and last.kind == "class")

    def _heredoc(self, match: re.Match[str], is_spaced: bool) -> None:
        line_end = self.text.find("\n", self.at)
        begin = self._after_line or (line_end + 1 if line_end >= 0 else len(self.text))
        indent = r"[ \t]*" if match[1] else ""
        closing = re.compile(rf"^{indent}{match[3]}\r?$", re.MULTILINE).search(self.text, begin)
        if closing is None:
            self.fail(f"the heredoc {match[3]} is not closed", f"close it with {match[3]}")
        body = self.text[begin : closing.start()]
        self._after_line = min(closing.end() + 1, len(self.text))
        self._add("string", textwrap.dedent(body) if match[1] == "~" else body, match.end(), is_spaced)

    def _operator(self, is_spaced: bool) -> None:
        """Lex an operator; line ends count inside braces, also where the braces are inside parentheses."""
        char = self.text[self.at]
        if char == "{":
            self._depths.append(self.depth)
            self.depth = 0
        elif char == "}" and self._depths:
            self.depth = self._depths.pop()
        elif not char.isascii() or char in "\\@$#":
            self.at += 1
            return
        super()._operator(is_spaced)

    def _quoted(self, is_spaced: bool, kind: str = "string") -> None:
        if self.text[self.at] != "`":
            super()._quoted(is_spaced, kind)
            return
        start = self.at
        pieces, end = self._string(start + 1, "`", True)
        self.at = start
        value: Any = pieces[0] if len(pieces) == 1 else None
        self._add("command", value, end, is_spaced)
