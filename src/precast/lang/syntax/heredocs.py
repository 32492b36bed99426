"""Heredocs: `@(TAG)` on a line, its text on the lines that follow, up to a line that holds the tag.

The tag says whether the text interpolates (`"TAG"`), its syntax (`:json`) and which escapes hold (`/tn`); the end line says what
margin is cut from every line (`|`) and whether the last line break goes (`-`). Here a heredoc is only found and cut out; its
text is lexed as any string is.
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
    """Maps an offset in text whose margin was cut back to the text it was cut from."""

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
    """A heredoc as it was found: where its tag ends, where its text ends, and the text that counts."""

    syntax: str
    escapes: EscapeSet
    tag_end: int
    text_end: int
    text: str
    offsets: Offsets


def find_heredoc(text: str, start: int, text_start: int | None, fail: Fail) -> Heredoc:
    """The heredoc whose tag begins at `start`.

    `text_start` is where its text begins, if another heredoc of the same line comes before it.
    """
    found = _TAG.match(text, start)
    if found is None:
        is_closed = ")" in text[start:].split("\n", 1)[0]
        problem = "expected @(endtag[:syntax][/escapes])" if is_closed else "the parenthesis after @ is not closed"
        fail(issues.HEREDOC_TAG, start, start + 2, problem=problem)
    tag = found[1].strip()
    interpolates = len(tag) > 1 and tag[0] == tag[-1] == '"'
    if interpolates:
        tag = tag[1:-1].strip()
    if not tag:
        fail(issues.HEREDOC_TAG, start, found.end(), problem="the tag is empty")
    flags = _flags(found, fail)
    if text_start is None:
        text_start = text.find("\n", found.end()) + 1
        if text_start == 0:
            fail(issues.HEREDOC_NO_TEXT, *found.span(), tag=tag)
    ending = re.compile(
        rf"^({BLANK}*+)(\|)?{BLANK}*+(-)?{BLANK}*+{re.escape(tag)}{BLANK}*+(?:\n|\Z)", re.MULTILINE
    ).search(text, text_start)
    if ending is None:
        fail(issues.HEREDOC_NO_END, *found.span(), tag=tag)
    cut, offsets = _without_margin(text, text_start, ending.start(), len(ending[1]) if ending[2] else 0)
    if ending[3]:
        cut = _LAST_LINE_BREAK.sub("", cut)
    return Heredoc(found[2] or "", of_heredoc(flags, interpolates), found.end(), ending.end(), cut, offsets)


def _flags(found: re.Match[str], fail: Fail) -> str:
    given: str | None = found[3]
    if given is None:
        return ""
    for at, char in enumerate(given):
        if char not in ALL_FLAGS:
            fail(issues.HEREDOC_ESCAPE, found.start(3) + at, found.start(3) + at + 1, char=char)
    if len(set(given)) < len(given):
        fail(issues.HEREDOC_ESCAPE_TWICE, *found.span(3), flags=given)
    return given or ALL_FLAGS


def _without_margin(text: str, start: int, end: int, margin: int) -> tuple[str, Offsets]:
    """The lines of a part of the text, each without its margin; a line that begins with fewer blanks stays as it is."""
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
        kept = skipped.end() if skipped else start
        offsets.add(size, kept)
        lines.append(text[kept:stop])
        size += stop - kept
        start = stop
    return "".join(lines), offsets
