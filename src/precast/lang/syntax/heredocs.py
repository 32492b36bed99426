"""Heredocs: `@(TAG)` on a line, and the text on the following lines, up to a line with the tag.

The tag says whether the text interpolates (`"TAG"`), its syntax (`:json`) and its escapes (`/tn`); the end line says which margin is
removed from every line (`|`) and whether the last line break is removed (`-`). This module only finds a heredoc and extracts its
text, which is then lexed like any string.
"""

import bisect
import re
from typing import Final, NamedTuple, NoReturn, Protocol

from precast.base.errors import Issue
from precast.lang.issues import syntax as issues
from precast.lang.syntax.escapes import ALL_FLAGS, EscapeSet, of_heredoc

BLANK: Final = r"[ \t\r\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
_TAG: Final = re.compile(
    rf"@\(([^:/\r\n)]+)(?::{BLANK}*([a-z][a-zA-Z0-9_+]+){BLANK}*)?(?:/([\w$]*){BLANK}*)?\)", re.ASCII
)
_LAST_LINE_BREAK: Final = re.compile(r"\r?\n\Z")


class Fail(Protocol):
    def __call__(self, issue: Issue, start: int, end: int, **values: object) -> NoReturn: ...


class Offsets:
    """Maps an offset in a text without its margin back to the original text."""

    def __init__(self) -> None:
        self._cut_starts: list[int] = []
        self._starts: list[int] = []

    def add(self, cut_start: int, start: int) -> None:
        self._cut_starts.append(cut_start)
        self._starts.append(start)

    def original(self, offset: int) -> int:
        line = bisect.bisect_right(self._cut_starts, offset) - 1
        return self._starts[line] + offset - self._cut_starts[line]


class Heredoc(NamedTuple):
    """A heredoc: where its tag ends, where its text ends, and the text without its margin."""

    syntax: str
    escapes: EscapeSet
    tag_end: int
    text_end: int
    text: str
    offsets: Offsets


def find_heredoc(text: str, start: int, text_start: int | None, fail: Fail) -> Heredoc:
    """Find the heredoc whose tag begins at `start`.

    `text_start` is where its text begins, if another heredoc precedes it on the same line.
    """
    match = _TAG.match(text, start)
    if match is None:
        is_closed = ")" in text[start:].split("\n", 1)[0]
        problem = "expected @(endtag[:syntax][/escapes])" if is_closed else "the parenthesis after @ is not closed"
        fail(issues.HEREDOC_TAG, start, start + 2, problem=problem)
    tag = match[1].strip()
    interpolates = len(tag) > 1 and tag[0] == tag[-1] == '"'
    if interpolates:
        tag = tag[1:-1].strip()
    if not tag:
        fail(issues.HEREDOC_TAG, start, match.end(), problem="the tag is empty")
    flags = _flags(match, fail)
    if text_start is None:
        text_start = text.find("\n", match.end()) + 1
        if text_start == 0:
            fail(issues.HEREDOC_NO_TEXT, *match.span(), tag=tag)
    ending = re.compile(
        rf"^({BLANK}*+)(\|)?{BLANK}*+(-)?{BLANK}*+{re.escape(tag)}{BLANK}*+(?:\n|\Z)", re.MULTILINE
    ).search(text, text_start)
    if ending is None:
        fail(issues.HEREDOC_NO_END, *match.span(), tag=tag)
    cut, offsets = _without_margin(text, text_start, ending.start(), len(ending[1]) if ending[2] else 0)
    if ending[3]:
        cut = _LAST_LINE_BREAK.sub("", cut)
    return Heredoc(match[2] or "", of_heredoc(flags, interpolates), match.end(), ending.end(), cut, offsets)


def _flags(match: re.Match[str], fail: Fail) -> str:
    given: str | None = match[3]
    if given is None:
        return ""
    for index, char in enumerate(given):
        if char not in ALL_FLAGS:
            fail(issues.HEREDOC_ESCAPE, match.start(3) + index, match.start(3) + index + 1, char=char)
    if len(set(given)) < len(given):
        fail(issues.HEREDOC_ESCAPE_TWICE, *match.span(3), flags=given)
    return given or ALL_FLAGS


def _without_margin(text: str, start: int, end: int, margin: int) -> tuple[str, Offsets]:
    """The lines of a part of the text without their margin; a line that begins with fewer blanks stays as it is."""
    blanks = re.compile(f"{BLANK}{{{margin}}}")
    offsets = Offsets()
    offsets.add(0, start)
    if margin == 0:
        return text[start:end], offsets
    lines = []
    size = 0
    while start < end:
        stop = text.find("\n", start, end) + 1 or end
        skipped = blanks.match(text, start, stop)
        line_start = skipped.end() if skipped else start
        offsets.add(size, line_start)
        lines.append(text[line_start:stop])
        size += stop - line_start
        start = stop
    return "".join(lines), offsets
