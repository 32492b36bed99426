"""Permissions as Puppet writes them: octal, or symbolic and then relative to the mode that is there.

A symbolic mode is chmod's, with rules of Puppet's: `=` leaves the bits s and t, `o+s` is t, `X` stands only after `+` and looks at
the mode that is there, and a copied class (`g=u`) at the mode as the clauses before left it.
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
    """One wanted mode, checked."""

    def __init__(self, text: str) -> None:
        self._octal = int(text, 8) if _OCTAL.fullmatch(text) else None
        self._clauses = () if self._octal is not None else _parsed(text)

    @property
    def is_relative(self) -> bool:
        """Whether the result depends on the mode that is there."""
        return self._octal is None

    def bits(self, present: int, is_directory: bool) -> int:
        """The mode wanted where `present` is: a directory that may be read may be entered, if the mode is octal."""
        if self._octal is not None:
            return searchable(self._octal) if is_directory else self._octal
        bits = present
        can_x = is_directory or bool(present & 0o111)
        for who, actions in self._clauses:
            before = bits
            for operator, what in actions:
                bits = _act(bits, before, who, operator, what, can_x)
        return bits


@functools.lru_cache(maxsize=256)
def parse(text: str) -> Mode:
    """The mode of a text; a catalog has few of them. Raises InputError RESOURCE-100 if it is none."""
    return Mode(text)


def searchable(bits: int) -> int:
    """The octal mode of a directory: x for everybody who has r."""
    return bits | ((bits & 0o444) >> 2)


def written(bits: int) -> str:
    """A mode as it is reported: four octal digits."""
    return f"{bits:04o}"


_Clauses = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def _parsed(text: str) -> _Clauses:
    clauses = []
    for part in text.split(","):
        found = _CLAUSE.fullmatch(part)
        if found is None:
            raise issues.BAD_MODE.error(mode=text, reason=f"{part or 'nothing'} is no clause")
        actions = tuple((each[1], each[2]) for each in _ACTION.finditer(found[2]))
        if any(operator != "+" and "X" in what for operator, what in actions):
            raise issues.BAD_MODE.error(mode=text, reason="X only works with the '+' operator")
        clauses.append((found[1] if found[1] and "a" not in found[1] else "ugo", actions))
    return tuple(clauses)


def _act(bits: int, before: int, who: str, operator: str, what: str, can_x: bool) -> int:
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
    for one in who:
        shifted = plain << _SHIFTS[one]
        setter = _SETTERS[one] if "s" in what else 0
        if operator == "+":
            bits |= shifted | setter | special
        elif operator == "-":
            bits &= ~(shifted | setter | special)
        else:
            bits = (bits & ~(7 << _SHIFTS[one])) | shifted | setter | special
    return bits
