"""Heredocs of Ruby code: a text that begins on the line after its tag, with code in it unless the tag is in single quotes."""

import re
import textwrap
from abc import ABC, abstractmethod
from typing import Any, Final, NoReturn

from precast.base.spans import Source, Span
from precast.lang.issues import erb as issues
from precast.lang.ruby.syntax.tokens import Interpolated, Token

_HEREDOC: Final = re.compile(r"<<([-~]?)([\"'`]?)([A-Za-z_]\w*)\2")
# A character that no file contains stands for the end of a text.
_END: Final = "\ue000"


class Heredocs(ABC):
    """The part of the lexer for heredocs, and what it shares with the rest."""

    source: Source
    text: str
    base: int
    at: int
    tokens: list[Token]
    after_line: int | None  # where the next line begins, after the heredocs of this one

    @abstractmethod
    def __init__(self, source: Source, text: str, at: int) -> None:
        """Begin to lex a piece of code at an offset of its source."""

    @abstractmethod
    def _add(self, kind: str, value: Any, end: int, is_spaced: bool) -> None:
        """Add a token up to an offset."""

    @abstractmethod
    def _is_value_next(self, is_spaced: bool) -> bool:
        """Return whether a value may begin here."""

    @abstractmethod
    def _string(
        self, at: int, closing: str, has_escapes: bool, opening: str = "", *, is_pattern: bool = False
    ) -> tuple[list[Any], int]:
        """Return the texts and code up to the closing mark, and the offset after it."""

    def fail(self, problem: str, hint: str = "rewrite the expression in a simpler form") -> NoReturn:
        offset = self.base + min(self.at, len(self.text))
        raise issues.NO_SYNTAX.error(self.source, Span(offset, offset + 1), problem=problem, hint=hint)

    def refuse_command(self) -> NoReturn:
        span = Span(self.base + self.at, self.base + self.at + 1)
        raise issues.NOT_IN_SUBSET.error(self.source, span, construct="commands in backquotes")

    def find_heredoc(self, is_spaced: bool) -> "re.Match[str] | None":
        """Return the match of the tag that begins here; None if `<<` is an operator."""
        match = _HEREDOC.match(self.text, self.at)
        if match is None or not (match[1] or match[2] or match[3][0].isupper()) or not self._is_value_next(is_spaced):
            return None
        return None if self.tokens and self.tokens[-1].kind == "class" else match

    def lex_heredoc(self, match: "re.Match[str]", is_spaced: bool) -> None:
        line_end = self.text.find("\n", self.at)
        begin = self.after_line or (line_end + 1 if line_end >= 0 else len(self.text))
        indent = r"[ \t]*" if match[1] else ""
        closing = re.compile(rf"^{indent}{match[3]}\r?$", re.MULTILINE).search(self.text, begin)
        if closing is None:
            self.fail(f"the heredoc {match[3]} is not closed", f"close it with {match[3]}")
        if match[2] == "`":
            self.refuse_command()
        body = self.text[begin : closing.start()]
        self.after_line = min(closing.end() + 1, len(self.text) + 1)
        value = self._heredoc_value(_dedent(body) if match[1] == "~" else body, begin, match[2] == "'")
        self._add("string", value, match.end(), is_spaced)

    def _heredoc_value(self, body: str, begin: int, is_raw: bool) -> Any:
        if is_raw:
            return body
        inner = type(self)(self.source, body + _END, self.base + begin)
        pieces, _ = inner._string(0, _END, True)
        return pieces[0] if len(pieces) == 1 else Interpolated(pieces)


def _dedent(body: str) -> str:
    """Return the text without the blanks that all lines with other characters begin with."""
    lines = body.splitlines(keepends=True)
    widths = [len(line) - len(line.lstrip(" \t")) for line in lines if line.strip()]
    return (
        textwrap.dedent(body)
        if not widths
        else "".join(line[min(widths) :] if line.strip() else line.lstrip(" \t") for line in lines)
    )
