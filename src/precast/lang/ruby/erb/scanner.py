"""Splits a template into text, code, and code whose value is written to the output.

Trimming works as Puppet configures ERB: `<%-` removes the blanks between it and the start of its line or the end of the tag before it,
`-%>` the line end after it.
"""

import re
from typing import NamedTuple

from precast.base.spans import Source, Span
from precast.lang.issues import erb as issues

_OPENING = re.compile(r"(?:^[ \t]*)?<%-|<%%|<%=|<%#|<%", re.MULTILINE)
_TRIMMED = re.compile(r"[ \t]*<%-")
_CLOSING = re.compile(r"%%>|-%>\n|-%>|%>")


class Part(NamedTuple):
    """A piece of a template; `at` is the offset of its text in the source."""

    kind: str  # text, code, output
    text: str
    at: int
    ends_line: bool = False  # whether the tag removes the line end after it, which then ends the line of the code


def split_template(source: Source) -> list[Part]:
    """Return the pieces in order. Raises InputError LANG-900 for a tag that is not closed."""
    text, parts, at = source.text, list[Part](), 0
    while (opening := _TRIMMED.match(text, at) or _OPENING.search(text, at)) is not None:
        _add_text(parts, text[at : opening.start()], at)
        tag = opening[0]
        if tag == "<%%":
            _add_text(parts, "<%", opening.start())
            at = opening.end()
            continue
        closing = _find_closing(text, opening.end())
        if closing is None:
            raise issues.NO_SYNTAX.error(
                source,
                Span(opening.start(), opening.end()),
                problem=f"{tag.strip()} has no %>",
                hint="close the tag with %>",
            )
        if not tag.endswith("#"):
            code = text[opening.end() : closing.start()].replace("%%>", "%>")
            ends_line = closing[0] == "-%>\n" or (closing[0] == "-%>" and closing.end() == len(text))
            parts.append(Part("output" if tag.endswith("=") else "code", code, opening.end(), ends_line))
        elif closing[0] == "-%>\n":
            parts.append(Part("code", "", closing.end(), True))
        at = closing.end()
    _add_text(parts, text[at:], at)
    return parts


def _find_closing(text: str, at: int) -> re.Match[str] | None:
    while (closing := _CLOSING.search(text, at)) is not None:
        if closing[0] != "%%>":  # which stands for `%>` inside code
            return closing
        at = closing.end()
    return None


def _add_text(parts: list[Part], text: str, at: int) -> None:
    if text:
        parts.append(Part("text", text, at))
