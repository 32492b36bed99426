"""Takes a template apart: text, code, and code whose value is put out.

Trimming is what Puppet has ERB do: `<%-` takes the blanks before it on its line, `-%>` the line end after it.
"""

import re
from typing import NamedTuple

from precast.base.spans import Source, Span
from precast.lang.issues import erb as issues

_OPENING = re.compile(r"(?:^[ \t]*)?<%-|<%%|<%=|<%#|<%", re.MULTILINE)
_CLOSING = re.compile(r"-%>\r?\n|-%>|%>")


class Part(NamedTuple):
    """A piece of a template; `at` is where its text begins in the source."""

    sort: str  # text, code, output
    text: str
    at: int


def parts(source: Source) -> list[Part]:
    """The pieces in order. Raises InputError LANG-900 for a tag that does not end."""
    text, found, at = source.text, list[Part](), 0
    while (opening := _OPENING.search(text, at)) is not None:
        _add_text(found, text[at : opening.start()], at)
        tag = opening[0]
        if tag == "<%%":
            _add_text(found, "<%", opening.start())
            at = opening.end()
            continue
        closing = _closing(text, opening.end())
        if closing is None:
            raise issues.NO_SYNTAX.error(
                source,
                Span(opening.start(), opening.end()),
                problem=f"{tag.strip()} has no %>",
                hint="close the tag with %>",
            )
        if not tag.endswith("#"):
            code = text[opening.end() : closing.start()].replace("%%>", "%>")
            found.append(Part("output" if tag.endswith("=") else "code", code, opening.end()))
        at = closing.end()
    _add_text(found, text[at:], at)
    return found


def _closing(text: str, at: int) -> re.Match[str] | None:
    while (closing := _CLOSING.search(text, at)) is not None:
        # `%%>` stands for `%>` inside code.
        if not closing[0].startswith("%>") or text[closing.start() - 1] != "%":
            return closing
        at = closing.end()
    return None


def _add_text(found: list[Part], text: str, at: int) -> None:
    if text:
        found.append(Part("text", text, at))
