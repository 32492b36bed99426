"""The tokens of Ruby code."""

from typing import Any, Final, NamedTuple

from precast.base.spans import Span

# The kind of the token that ends every list of tokens.
END: Final = "end of code"
KEYWORDS: Final = frozenset((
    "if", "elsif", "else", "end", "unless", "while", "until", "for", "in", "do", "case", "when", "then", "begin", "rescue",
    "ensure", "and", "or", "not", "nil", "true", "false", "return", "next", "break", "self", "yield", "defined?", "def",
    "class", "module", "redo", "retry", "alias", "undef", "super",
))  # fmt: skip


class Token(NamedTuple):
    """`kind` is the text of an operator or keyword, or a class of tokens: name, ivar, number, string, pattern, words, label, text …"""

    kind: str
    value: Any
    span: Span
    is_spaced: bool = False  # whether a blank stands before it


class Interpolated(NamedTuple):
    """The value of a string with code in it: texts, and lists of tokens for the code."""

    pieces: list[Any]


def describe_kind(kind: str) -> str:
    """Return the words for a kind of token in an error message."""
    return {"\n": "the end of the line", END: "the end of the template", "output end": "%>"}.get(kind, f"`{kind}`")
