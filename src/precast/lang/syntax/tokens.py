"""The kinds of tokens, and what the lexer must know about them.

The kind of an operator, bracket or keyword is its own text, so that a parser table reads like the language. Tokens are four
parallel lists, not objects: a file has tens of thousands, and the parser reads most of them once.
"""

from typing import Final

NAME: Final = "NAME"  # foo, foo::bar
WORD: Final = "WORD"  # foo-bar, _foo: a bare word that is not a name
REFERENCE: Final = "REFERENCE"  # Foo::Bar
VARIABLE: Final = "VARIABLE"  # without the dollar sign
NUMBER: Final = "NUMBER"  # as written
STRING: Final = "STRING"  # without interpolation, escapes resolved
REGEXP: Final = "REGEXP"  # the pattern
BOOLEAN: Final = "BOOLEAN"
HEREDOC: Final = "HEREDOC"  # its syntax; the text follows as STRING or STRING_START …
STRING_START: Final = "STRING_START"  # text up to the first interpolation
STRING_MIDDLE: Final = "STRING_MIDDLE"
STRING_END: Final = "STRING_END"
LIST_START: Final = "LIST_START"  # `[` after a blank: begins a list, never an access
GROUP_START: Final = "GROUP_START"  # `(` as the first token of its line: never the arguments of a call
RENDER_STRING: Final = "RENDER_STRING"  # text of a template
RENDER_START: Final = "<%="
RENDER_END: Final = "%>"
OTHER: Final = "OTHER"  # a character that cannot begin a token
END: Final = "END"

KEYWORDS: Final = frozenset(
    (
        "and", "attr", "case", "class", "default", "define", "else", "elsif", "function", "if", "in", "inherits",
        "node", "or", "private", "type", "undef", "unless",
    )
)  # fmt: skip

# After these a slash divides; everywhere else it begins a regular expression (also after `}`, because of case options).
BEFORE_DIVISION: Final = frozenset(
    (")", "]", "|>", "|>>", NAME, WORD, REFERENCE, VARIABLE, NUMBER, STRING, STRING_END, REGEXP, BOOLEAN)
)


class Tokens:
    """The tokens of a text; the last is END. `warnings` are (start, end, text) of suspicious but valid text."""

    __slots__ = ("ends", "kinds", "starts", "values", "warnings")

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.values: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.warnings: list[tuple[int, int, str]] = []

    def add(self, kind: str, value: str, start: int, end: int) -> None:
        self.kinds.append(kind)
        self.values.append(value)
        self.starts.append(start)
        self.ends.append(end)
