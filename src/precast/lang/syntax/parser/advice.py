"""Hints for common mistakes at a syntax error, from the tokens around it."""

from collections.abc import Sequence
from typing import Final

from precast.lang.syntax import tokens as t

_OPENING: Final = {"}": "{", "]": "[", ")": "("}
_ALIKE: Final = {t.LIST_START: "[", t.GROUP_START: "("}
_OPERANDS: Final = frozenset(
    (t.NAME, t.WORD, t.STRING, t.STRING_END, t.NUMBER, t.BOOLEAN, t.VARIABLE, t.REFERENCE, t.REGEXP, "]", "}", ")")
)
_BEGINNINGS: Final = frozenset((t.NAME, t.WORD, t.STRING, t.STRING_START, t.NUMBER, t.BOOLEAN, t.VARIABLE, t.REFERENCE))
_CHARACTERS: Final = {
    "&": "write and",
    "`": "to run a command use an exec resource; write text between ' or \"",
    "“": "these are typographic quotes: write ' or \"",
    "”": "these are typographic quotes: write ' or \"",
    "‘": "these are typographic quotes: write ' or \"",
    "’": "these are typographic quotes: write ' or \"",
}
_FOREIGN: Final = {
    "elseif": "write elsif",
    "elif": "write elsif",
    "foreach": "write $list.each |$item| { … }",
    "for": "write $list.each |$item| { … }",
    "while": "the language has no such loop: write $list.each |$item| { … }",
}
_AFTER_ATTRIBUTE: Final = {
    "=": "write => between name and value",
    ":": "write => between name and value",
}
NO_TITLE: Final = (
    "a resource needs a title: type { 'title': … }; defaults are Type { … }, an override is Type['title'] { … }"
)


def advice(tokens: t.Tokens, at: int, wanted: str) -> str:
    """The hint for an unexpected token."""
    kinds, values = tokens.kinds, tokens.values
    kind, before, following = kinds[at], kinds[at - 1] if at else "", kinds[at + 1] if kinds[at] != t.END else ""
    if kind == t.OTHER:
        return _CHARACTERS.get(values[at], "this character may occur only in strings and comments")
    if kind == "=":
        return "write ==" if before == "==" else "to compare write =="
    if kind == "|":
        return "write or" if following == "|" else "write a lambda after a call: name(…) |$x| { … }"
    if kind in _OPENING and wanted == "" and not _is_open(kinds[:at], _OPENING[kind]):
        return f"no {_OPENING[kind]} is open here"
    if kind == "<<" or kind == "<":
        return "write a value before it; a heredoc begins with @(END)"
    if kind in _BEGINNINGS and before in _OPERANDS:
        return "is a comma missing before it?" if "," in wanted else "is an operator or a comma missing before it?"
    if kind in t.KEYWORDS:
        return f"{kind} is a keyword: put it in quotes if you mean the word"
    return "check the text before it"


def attribute_advice(tokens: t.Tokens, at: int) -> str:
    """The hint if an attribute, a semicolon or the closing brace of a resource was expected."""
    kind, following = tokens.kinds[at], tokens.kinds[at + 1]
    if kind == t.STRING and following in ("=>", "+>"):
        return "write the name of an attribute without quotes"
    if kind == t.NAME and following in _AFTER_ATTRIBUTE:
        return _AFTER_ATTRIBUTE[following]
    return "write attributes as name => value, separated by commas; write another title after a semicolon"


def resource_advice(tokens: t.Tokens, start: int, at: int) -> str:
    """The hint for a brace (at `at`) after an expression (that begins at offset `start`) that is not a resource."""
    first = tokens.starts.index(start) if start in tokens.starts else at
    if first and tokens.values[first - 1] in _FOREIGN:
        return _FOREIGN[tokens.values[first - 1]]
    unclosed = unclosed_brackets(tokens.kinds[:at])
    if unclosed and _ALIKE.get(tokens.kinds[unclosed[-1]], tokens.kinds[unclosed[-1]]) == "(":
        return "is a ) missing before the brace?"
    return NO_TITLE


def unclosed_brackets(kinds: Sequence[str]) -> list[int]:
    """The indexes of brackets that are not closed."""
    indexes: list[int] = []
    for index, written in enumerate(kinds):
        kind = _ALIKE.get(written, written)
        if kind in ("{", "[", "("):
            indexes.append(index)
        elif kind in _OPENING and indexes and _ALIKE.get(kinds[indexes[-1]], kinds[indexes[-1]]) == _OPENING[kind]:
            indexes.pop()
    return indexes


def _is_open(kinds: Sequence[str], opening: str) -> bool:
    return any(_ALIKE.get(kinds[index], kinds[index]) == opening for index in unclosed_brackets(kinds))
