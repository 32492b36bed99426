"""Positions in a text, and how errors show them.

A span is always an offset in the whole file on disk, also for code inside an interpolated string, a template or a data file: a parser of a
part adds the offset of that part. Lines are counted as editors do (LF, CRLF, lone CR); columns count characters from 1.
"""

import bisect
import functools
import re
import unicodedata
from typing import NamedTuple

# A line of more characters than this is shown through a window around the caret.
WINDOW_COLUMNS = 160
TAB_COLUMNS = 4

_LINE_BREAK = re.compile(r"\r\n?|\n")


class Span(NamedTuple):
    """Characters `start` up to, not including, `end`."""

    start: int
    end: int


class Position(NamedTuple):
    """A position for people: line and column count from 1."""

    line: int
    column: int


class Source:
    """A named text, whose lines are found once."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    @functools.cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]

    def position(self, offset: int) -> Position:
        """Line and column of an offset; the offset past the end is the position after the last character."""
        line = bisect.bisect_right(self._line_starts, offset) - 1
        return Position(line + 1, offset - self._line_starts[line] + 1)

    def line_text(self, line: int) -> str:
        """The text of a line (from 1), without its line break."""
        start = self._line_starts[line - 1]
        end = self._line_starts[line] if line < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


def render(source: Source, span: Span, severity: str, message: str, code: str, hint: str = "") -> str:
    """`path:line:col: error: text [CODE]`, the source line, a caret under the span, and the hint.

    A span over several lines is underlined to the end of its first line. Control characters are escaped, never sent to the terminal.
    """
    position = source.position(span.start)
    line = source.line_text(position.line)
    start = position.column - 1
    end = min(start + max(span.end - span.start, 1), len(line))
    shown, before, under = _window(line, start, end)
    gutter = f"{position.line:>5} | "
    rows = [
        f"{visible(source.path)}:{position.line}:{position.column}: {severity}: {visible(message)} [{code}]",
        gutter + shown,
        " " * (len(gutter) - 2) + "| " + " " * before + "^" + "~" * (under - 1),
    ]
    if hint:
        rows.append(f"  hint: {visible(hint)}")
    return "\n".join(rows)


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a line to show, with the columns before the span and the columns of the span up to the end of the line."""
    first, last = 0, len(line)
    if last > WINDOW_COLUMNS:
        first = max(0, min(start - WINDOW_COLUMNS // 3, last - WINDOW_COLUMNS))
        last = first + WINDOW_COLUMNS
    end = min(end, last)
    head = "…" if first > 0 else ""
    tail = "…" if last < len(line) else ""
    before = head + visible(line[first:start])
    under = visible(line[start:end])
    return before + under + visible(line[end:last]) + tail, width(before), width(under)


def visible(text: str) -> str:
    """Text that is safe on a terminal: tabs become blanks, other control and direction characters are escaped."""
    if text.isprintable():
        return text
    return "".join(map(_visible_char, text))


def _visible_char(char: str) -> str:
    if char == "\t":
        return " " * TAB_COLUMNS
    if char.isprintable():
        return char
    return f"\\u{{{ord(char):x}}}"


def width(text: str) -> int:
    """The columns that visible text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):  # a mark on the character before it
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
