"""Splits one line of the notation into tokens, and quotes names so that they are read back the same.

A bare word may contain brackets with any text in them, so `Exec[apt-get update]` needs no quotes. Every other name with special characters
stands in double quotes, with JSON's escapes.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from precast.base.spans import Source, Span
from precast.net import issues

_TOKEN = re.compile(
    r"""(?P<blank>[ \t]+|\#.*)
      | (?P<weight>\d+\*)
      | (?P<mark>[,=])
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<word>(?:[^\s,="\[\]\#*]|\[[^\]\r\n]*\]|(?<=[^\s,])[\#*])+)""",
    re.VERBOSE,
)
END = "end"


class Token(NamedTuple):
    """A word, string, mark or weight, or the end of the line; a string's `text` is without its quotes."""

    kind: str
    text: str
    span: Span

    @property
    def is_name(self) -> bool:
        return self.kind in ("word", "string")

    @property
    def shown(self) -> str:
        return "the end of the line" if self.kind == END else f"'{self.text}'"


def split_line(source: Source, line: str, start: int) -> Iterator[Token]:
    """The tokens of a line that begins at `start` of the source, the last of them its end. Raises InputError NET-010."""
    at = 0
    while at < len(line):
        match = _TOKEN.match(line, at)
        if match is None:
            wanted = "a closing quote" if line[at] == '"' else "a name"
            raise issues.SYNTAX.error(
                source, Span(start + at, start + at + 1), wanted=wanted, found=f"'{line[at:].strip()}'"
            )
        span = Span(start + at, start + match.end())
        at = match.end()
        if match.lastgroup == "string":
            yield Token("string", _unquote(source, match.group(), span), span)
        elif match.lastgroup != "blank":
            yield Token(str(match.lastgroup), match.group(), span)
    yield Token(END, "", Span(start + len(line.rstrip()), start + len(line.rstrip())))


def _unquote(source: Source, text: str, span: Span) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        raise issues.SYNTAX.error(source, span, wanted="a string with JSON's escapes", found=text) from None


def quote(name: str) -> str:
    """The name as the notation writes it: bare if possible, and without characters that a terminal or XML cannot show."""
    match = _TOKEN.match(name)
    if match and match.lastgroup == "word" and match.end() == len(name) and name != NOTHING and name.isprintable():
        return name
    text = json.dumps(name, ensure_ascii=False)
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


# The word for an empty list of places.
NOTHING = "nothing"
