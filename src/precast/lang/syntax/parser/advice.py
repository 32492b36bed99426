"""What may have been meant where the text cannot be read: hints for the mistakes people make, from the tokens around the place."""

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
    "`": "a command is run by an exec resource; text stands between ' or \"",
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
    "while": "there are no loops without a list: write $list.each |$item| { … }",
}
_AFTER_ATTRIBUTE: Final = {
    "=": "write => between name and value",
    ":": "write => between name and value",
}
NO_TITLE: Final = (
    "a resource needs a title: type { 'title': … }; defaults are Type { … }, an override is Type['title'] { … }"
)


def advice(tokens: t.Tokens, at: int, wanted: str) -> str:
    """The hint for a token that does not fit."""
    kinds, values = tokens.kinds, tokens.values
    kind, before, following = kinds[at], kinds[at - 1] if at else "", kinds[at + 1] if kinds[at] != t.END else ""
    if kind == t.OTHER:
        return _CHARACTERS.get(values[at], "only strings and comments may hold such a character")
    if kind == "=":
        return "write ==" if before == "==" else "to compare write =="
    if kind == "|":
        return "write or" if following == "|" else "a lambda stands after a call: name(…) |$x| { … }"
    if kind in _OPENING and wanted == "" and not _is_open(kinds[:at], _OPENING[kind]):
        return f"there is no {_OPENING[kind]} that it could close"
    if kind == "<<" or kind == "<":
        return "a value must stand before it; a heredoc is written @(END)"
    if kind in _BEGINNINGS and before in _OPERANDS:
        return "is a comma missing before it?" if "," in wanted else "is an operator or a comma missing before it?"
    if kind in t.KEYWORDS:
        return f"{kind} is a keyword: put it in quotes if you mean the word"
    return "look at what stands before it"


def attribute_advice(tokens: t.Tokens, at: int) -> str:
    """The hint where an attribute, a semicolon or the closing brace of a resource was expected."""
    kind, following = tokens.kinds[at], tokens.kinds[at + 1]
    if kind == t.STRING and following in ("=>", "+>"):
        return "the name of an attribute stands without quotes"
    if kind == t.NAME and following in _AFTER_ATTRIBUTE:
        return _AFTER_ATTRIBUTE[following]
    return "attributes are name => value, with commas between them; a further title comes after a semicolon"


def resource_advice(tokens: t.Tokens, start: int, at: int) -> str:
    """The hint for a brace (at `at`) after an expression (that begins at offset `start`) which is no resource."""
    first = tokens.starts.index(start) if start in tokens.starts else at
    if first and tokens.values[first - 1] in _FOREIGN:
        return _FOREIGN[tokens.values[first - 1]]
    opened = still_open(tokens.kinds[:at])
    if opened and _ALIKE.get(tokens.kinds[opened[-1]], tokens.kinds[opened[-1]]) == "(":
        return "is a ) missing before the brace?"
    return NO_TITLE


def still_open(kinds: Sequence[str]) -> list[int]:
    """The indexes of brackets that nothing closes."""
    found: list[int] = []
    for index, written in enumerate(kinds):
        kind = _ALIKE.get(written, written)
        if kind in ("{", "[", "("):
            found.append(index)
        elif kind in _OPENING and found and _ALIKE.get(kinds[found[-1]], kinds[found[-1]]) == _OPENING[kind]:
            found.pop()
    return found


def _is_open(kinds: Sequence[str], opening: str) -> bool:
    return any(_ALIKE.get(kinds[index], kinds[index]) == opening for index in still_open(kinds))
