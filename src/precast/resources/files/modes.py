"""Permissions as Puppet writes them: octal, or symbolic and then relative to the current mode.

A symbolic mode is that of chmod, with Puppet's rules: `=` keeps the bits s and t, `o+s` is t, `X` is only valid after `+` and depends on
the current mode, and a copied class (`g=u`) depends on the mode after the previous clauses.
"""

import functools
import re
import stat

from precast.resources.files import issues

_OCTAL = re.compile(r"0?[0-7]{1,4}")
_CLAUSE = re.compile(r"([ugoa]*)((?:[-+=][ugorwxXst]*)+)")
_ACTION = re.compile(r"([-+=])([ugorwxXst]*)")
_SHIFTS = {"u": 6, "g": 3, "o": 0}
_BITS = {"r": 4, "w": 2, "x": 1}
_SETTERS = {"u": stat.S_ISUID, "g": stat.S_ISGID, "o": stat.S_ISVTX}


class Mode:
    """One desired mode, validated."""

    def __init__(self, text: str) -> None:
        self._octal = int(text, 8) if _OCTAL.fullmatch(text) else None
        self._clauses = () if self._octal is not None else _parse_clauses(text)

    @property
    def is_relative(self) -> bool:
        """Whether the result depends on the current mode."""
        return self._octal is None

    def bits(self, present: int, is_directory: bool) -> int:
        """The desired mode for a file with the mode `present`; with an octal mode, a directory that may be read may also be entered."""
        if self._octal is not None:
            return searchable(self._octal) if is_directory else self._octal
        bits = present
        can_x = is_directory or bool(present & 0o111)
        for classes, actions in self._clauses:
            before = bits
            for operator, what in actions:
                bits = _act(bits, before, classes, operator, what, can_x)
        return bits


@functools.lru_cache(maxsize=256)
def parse(text: str) -> Mode:
    """Parse a mode; results are cached, because a catalog has few different modes. Raises InputError RESOURCE-100 if it is invalid."""
    return Mode(text)


def searchable(bits: int) -> int:
    """The octal mode of a directory: each class that has r also gets x."""
    return bits | ((bits & 0o444) >> 2)


def format_mode(bits: int) -> str:
    """A mode as it is reported: four octal digits."""
    return f"{bits:04o}"


_Clauses = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def _parse_clauses(text: str) -> _Clauses:
    clauses = []
    for part in text.split(","):
        clause = _CLAUSE.fullmatch(part)
        if clause is None:
            raise issues.BAD_MODE.error(mode=text, reason=f"{part or 'an empty text'} is not a clause")
        actions = tuple((action[1], action[2]) for action in _ACTION.finditer(clause[2]))
        if any(operator != "+" and "X" in what for operator, what in actions):
            raise issues.BAD_MODE.error(mode=text, reason="X only works with the '+' operator")
        clauses.append((clause[1] if clause[1] and "a" not in clause[1] else "ugo", actions))
    return tuple(clauses)


def _act(bits: int, before: int, classes: str, operator: str, what: str, can_x: bool) -> int:
    plain, special = 0, 0
    for letter in what:
        if letter in _BITS:
            plain |= _BITS[letter]
        elif letter in _SHIFTS:
            plain |= (before >> _SHIFTS[letter]) & 7
        elif letter == "X":
            plain |= 1 if can_x else 0
        elif letter == "t":
            special |= stat.S_ISVTX
    for user_class in classes:
        shifted = plain << _SHIFTS[user_class]
        setter = _SETTERS[user_class] if "s" in what else 0
        if operator == "+":
            bits |= shifted | setter | special
        elif operator == "-":
            bits &= ~(shifted | setter | special)
        else:
            bits = (bits & ~(7 << _SHIFTS[user_class])) | shifted | setter | special
    return bits
