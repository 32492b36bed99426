"""Sets of characters in Ruby's regular expressions: `[a-z&&[^aeiou]]`, `[[:alpha:]]`, `\\p{Lu}`.

Python has neither nested sets nor properties. A set becomes a list of alternatives that each match one character; a plain list of
ranges becomes a Python set, anything else a group of sets, with look-ahead for negation and intersection.
"""

import functools
import re
import sys
import unicodedata
from collections.abc import Callable
from typing import Final

Refuse = Callable[[str], Exception]

ANY_CHARACTER: Final = r"[\s\S]"
_IN_SET: Final = {
    "d": "0-9", "w": "a-zA-Z0-9_", "s": r" \t\r\n\f\v", "h": "0-9a-fA-F",
    "n": r"\n", "t": r"\t", "r": r"\r", "f": r"\f", "v": r"\v", "a": r"\a", "e": r"\x1b", "b": r"\x08",
}  # fmt: skip
_NEGATED_IN_SET: Final = {"D": "0-9", "W": "a-zA-Z0-9_", "S": r" \t\r\n\f\v", "H": "0-9a-fA-F"}
_POSIX: Final = re.compile(r"\[:(\^?)(\w+):\]")
# The Python pattern for one character of a class; a class without a notation in Python is listed character by character.
_CLASSES: Final = {
    "alpha": r"[^\W\d_]", "digit": r"\d", "alnum": r"[^\W_]", "word": r"\w", "space": r"\s", "xdigit": "[0-9a-fA-F]",
    "ascii": r"[\x00-\x7f]", "cntrl": r"[\x00-\x1f\x7f-\x9f]", "any": ANY_CHARACTER,
}  # fmt: skip
_CATEGORIES: Final = {
    "upper": "Lu", "lower": "Ll", "punct": "P", "blank": "Zs", "graph": "LMNPS", "print": "LMNPSZ",
    "letter": "L", "number": "N", "symbol": "S", "mark": "M", "separator": "Z",
}  # fmt: skip
_EXTRA: Final = {"punct": "$+<=>^`|~", "blank": "\t"}


@functools.cache
def _listed(name: str, categories: str) -> str:
    """A Python set of all characters of some Unicode categories, found by one scan over all characters."""
    wanted = (categories,) if len(categories) == 2 and categories[1].islower() else tuple(categories)
    extra = _EXTRA.get(name, "")
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.category(char).startswith(wanted) or char in extra:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]"


def _class_named(name: str, refuse: Refuse) -> str:
    key = name.lower().replace("_", "").replace(" ", "")
    if key in _CLASSES:
        return _CLASSES[key]
    if key in _CATEGORIES:
        return _listed(key, _CATEGORIES[key])
    if re.fullmatch(r"[LMNPSZC][a-z]?", name.capitalize()):
        return _listed(name.capitalize(), name.capitalize())
    raise refuse(f"the character property {name} is not supported")


def _not(pattern: str) -> str:
    return f"(?!{pattern}){ANY_CHARACTER}"


def property_class(pattern: str, at: int, refuse: Refuse) -> tuple[str, int]:
    """`\\p{Name}`, `\\p{^Name}` or `\\P{Name}` at an index: the pattern of one such character, and the index after it."""
    match = re.compile(r"\\([pP])\{(\^?)([\w ]+)\}").match(pattern, at)
    if match is None:
        raise refuse("invalid character property name {p}")
    member = _class_named(match[3], refuse)
    is_negated = (match[1] == "P") != (match[2] == "^")
    return (f"(?:{_not(member)})" if is_negated else member), match.end()


def char_class(pattern: str, at: int, refuse: Refuse) -> tuple[str, int]:
    """The set that begins at an index: the pattern of one of its characters, and the index after it."""
    reader = _SetReader(pattern, at, refuse)
    text = reader.read()
    return text, reader.at


class _SetReader:
    def __init__(self, pattern: str, at: int, refuse: Refuse) -> None:
        self.pattern = pattern
        self.at = at
        self.refuse = refuse

    def read(self) -> str:
        self.at += 1
        is_negated = self.pattern.startswith("^", self.at)
        self.at += is_negated
        operands = [self._operand(first=True)]
        while self.pattern.startswith("&&", self.at):
            self.at += 2
            operands.append(self._operand(first=False))
        self.at += 1
        return _set_text(operands, is_negated)

    def _operand(self, first: bool) -> tuple[str, list[str]]:
        """Read up to `&&` or the end: the ranges as the inside of a Python set, and the other alternatives."""
        plain: list[str] = []
        others: list[str] = []
        begin = self.at
        while True:
            if self.at >= len(self.pattern):
                raise self.refuse("premature end of char-class")
            char = self.pattern[self.at]
            if char == "]" and not (first and self.at == begin):
                return "".join(plain), others
            if self.pattern.startswith("&&", self.at):
                return "".join(plain), others
            if char == "[":
                others.append(self._nested())
            elif char == "\\" and self.pattern[self.at + 1 : self.at + 2] in _NEGATED_IN_SET:
                others.append(f"[^{_NEGATED_IN_SET[self.pattern[self.at + 1]]}]")
                self.at += 2
            elif char == "\\" and self.pattern[self.at + 1 : self.at + 2] in ("p", "P"):
                text, self.at = property_class(self.pattern, self.at, self.refuse)
                others.append(text)
            else:
                plain.append(self._range())

    def _nested(self) -> str:
        posix = _POSIX.match(self.pattern, self.at)
        if posix is None:
            return self.read()
        self.at = posix.end()
        member = _class_named(posix[2], self.refuse)
        return f"(?:{_not(member)})" if posix[1] else member

    def _range(self) -> str:
        low, is_single = self._item()
        follows = self.pattern[self.at + 1 : self.at + 2]
        if not self.pattern.startswith("-", self.at) or follows in ("]", "") or self.pattern.startswith("-&&", self.at):
            return low
        if not is_single:
            raise self.refuse("unmatched range specifier in char-class")
        if follows == "[":
            return low
        self.at += 1
        high, is_single = self._item()
        if not is_single:
            raise self.refuse("char-class value at end of range")
        return f"{low}-{high}"

    def _item(self) -> tuple[str, bool]:
        """One member of a set, and whether it is a single character (which can begin a range)."""
        char = self.pattern[self.at]
        if char != "\\":
            self.at += 1
            return escape_in_set(char), True
        known = _IN_SET.get(self.pattern[self.at + 1 : self.at + 2])
        if known is not None:
            self.at += 2
            return known, known.startswith("\\") and len(known) <= 4
        code, self.at = escaped_char(self.pattern, self.at, self.refuse)
        return escape_in_set(code), True


def escaped_char(pattern: str, at: int, refuse: Refuse) -> tuple[str, int]:
    """The character that an escape stands for, and the index after it."""
    from_hex = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|u\{\s*([0-9a-fA-F]{1,6})\s*\})").match(
        pattern, at
    )
    if from_hex is not None:
        code = int(from_hex[1] or from_hex[2] or from_hex[3], 16)
        if code > 0x10FFFF:
            raise refuse("invalid Unicode range")
        return chr(code), from_hex.end()
    octal = re.compile(r"\\(0[0-7]{0,2})").match(pattern, at)
    if octal is not None:
        return chr(int(octal[1], 8)), octal.end()
    control = re.compile(r"\\(?:c|C-)(.)", re.DOTALL).match(pattern, at)
    if control is not None:
        return chr(ord(control[1]) & 0x1F), control.end()
    return pattern[at + 1], at + 2


def escape_in_set(char: str) -> str:
    return f"\\{char}" if char in r"\]^[-&~|#" else re.escape(char) if char.isspace() else char


def any_of(plain: str, others: list[str]) -> str:
    """The pattern of one character of a union."""
    if not others:
        return f"[{plain}]" if plain else "(?!)"
    alternatives = [*([f"[{plain}]"] if plain else []), *others]
    return alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"


def _set_text(operands: list[tuple[str, list[str]]], is_negated: bool) -> str:
    if len(operands) == 1:
        plain, others = operands[0]
        if not others and plain:
            return f"[^{plain}]" if is_negated else f"[{plain}]"
    members = [any_of(plain, others) for plain, others in operands]
    intersection = "".join(f"(?={member})" for member in members[:-1]) + members[-1]
    if is_negated:
        return f"(?:{_not(intersection)})"
    return f"(?:{intersection})" if len(members) > 1 else intersection
