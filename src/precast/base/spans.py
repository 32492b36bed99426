"""Where in a text something stands, and how to show it.

A span always counts in the whole file as it is on disk, also for code inside an interpolated string, a template or a data file:
whoever parses a part hands on the offset of that part. Lines are counted as editors do (LF, CRLF, lone CR); columns count
characters from 1.
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
    """A place as people say it: both count from 1."""

    line: int
    column: int


class Source:
    """A named text, with its lines found once."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    @functools.cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in _LINE_BREAK.finditer(self.text))]

    def position(self, offset: int) -> Position:
        """Line and column of an offset; one past the end is the place after the last character."""
        line = bisect.bisect_right(self._line_starts, offset) - 1
        return Position(line + 1, offset - self._line_starts[line] + 1)

    def line_text(self, line: int) -> str:
        """The text of a line (from 1), without its line break."""
        start = self._line_starts[line - 1]
        end = self._line_starts[line] if line < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


def render(source: Source, span: Span, severity: str, message: str, code: str, hint: str = "") -> str:
    """`path:line:col: error: text [CODE]`, the source line, a caret under the span, and the hint.

    A span over several lines is underlined to the end of its first. Control characters are shown, never sent to the terminal.
    """
    place = source.position(span.start)
    line = source.line_text(place.line)
    start = place.column - 1
    end = min(start + max(span.end - span.start, 1), len(line))
    shown, before, under = _window(line, start, end)
    gutter = f"{place.line:>5} | "
    rows = [
        f"{visible(source.path)}:{place.line}:{place.column}: {severity}: {visible(message)} [{code}]",
        gutter + shown,
        " " * (len(gutter) - 2) + "| " + " " * before + "^" + "~" * (under - 1),
    ]
    if hint:
        rows.append(f"  hint: {visible(hint)}")
    return "\n".join(rows)


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a line worth showing, with the columns before the span and those of it: none past the end of the line."""
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
    """Text that is safe on a terminal: tabs are blanks, other control and direction characters are written out."""
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
