"""Ruby's regular expressions, as Puppet manifests write them, turned into Python's.

The two dialects look alike and differ where it hurts: `^` and `$` always mean lines, `\\d \\w \\s` are ASCII while `[[:alpha:]]` is not,
a quantifier may follow a quantifier, sets nest and intersect, and named groups switch numbered ones off. A pattern is read once,
atom by atom, and written out again; what Python cannot express is refused with LANG-210 rather than matched differently.
"""

import functools
import re
from typing import Final

from precast.lang.issues import types as issues
from precast.lang.values.regexp_sets import char_class, escaped_char, property_class

_FLAG_LETTERS: Final = "mixadu"
_SIMPLE_ESCAPES: Final = {
    "A": r"\A", "z": r"\Z", "Z": r"(?=\n?\Z)", "b": r"\b", "B": r"(?!\b)",
    "h": "[0-9a-fA-F]", "H": "[^0-9a-fA-F]", "d": "[0-9]", "D": "[^0-9]", "w": "[a-zA-Z0-9_]", "W": "[^a-zA-Z0-9_]",
    "s": r"[ \t\r\n\f\v]", "S": r"[^ \t\r\n\f\v]", "R": r"(?:\r\n|[\n\v\f\r\x85\u2028\u2029])",
    "n": r"\n", "t": r"\t", "r": r"\r", "f": r"\f", "v": r"\v", "a": r"\a", "e": r"\x1b",
}  # fmt: skip
_REFUSED_ESCAPES: Final = {"G": "\\G", "K": "\\K", "X": "\\X", "g": "\\g, a call of a group"}
_LINE_START: Final = r"(?:\A|^(?!\Z))"  # a newline at the very end begins no line
_NUMBERED_NAME: Final = re.compile(r"-?\d+")
_INTERVAL: Final = re.compile(r"\{(\d+(?:,\d*)?|,\d+)\}")
_NAMED_GROUP: Final = re.compile(r"\(\?<(?![=!])|\(\?'")


@functools.lru_cache(maxsize=4096)
def compile_regexp(pattern: str) -> re.Pattern[str]:
    """The compiled pattern; raises LANG-210 for what is no regular expression or has no translation."""
    try:
        return re.compile(_Translation(pattern).run(), re.MULTILINE)
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        raise issues.BAD_REGEXP.error(pattern=pattern, reason=str(error)) from None


class _Translation:
    """One walk over a pattern. `out` holds what is written; `atom` where in it the last repeatable thing begins."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []
        self.atom: int | None = None
        self.extended = False
        self.is_repeated = False
        self.names: set[str] = set()
        self.has_names = _NAMED_GROUP.search(pattern) is not None
        # Per open group: where it began, whether white space counted outside it, how many flag groups to close with it.
        self.groups: list[tuple[int, bool, int]] = []
        self.flag_groups = 0

    def refuse(self, what: str) -> Exception:
        return issues.BAD_REGEXP.error(pattern=self.pattern, reason=what)

    def run(self) -> str:
        while self.at < len(self.pattern):
            self._step()
        if self.groups:
            raise self.refuse("end pattern with unmatched parenthesis")
        return "".join(self.out) + ")" * self.flag_groups

    def _emit(self, text: str, repeatable: bool = True) -> None:
        self.atom = len(self.out) if repeatable else None
        self.is_repeated = False
        self.out.append(text)

    def _step(self) -> None:
        char = self.pattern[self.at]
        if char == "\\":
            self._escape()
        elif char == "[":
            text, self.at = char_class(self.pattern, self.at, self.refuse)
            self._emit(text)
        elif char == "(":
            self._open()
        elif char == ")":
            self._close()
        elif char in "*+?":
            self.at += 1
            self._repeat(char)
        elif char == "{" and (found := _INTERVAL.match(self.pattern, self.at)):
            self.at = found.end()
            self._repeat("{0" + found[1] + "}" if found[1].startswith(",") else found[0])
        elif self.extended and (char.isspace() or char == "#"):
            self._skip_blank(char)
        else:
            self.at += 1
            if char == "|":
                self._emit(char, repeatable=False)
            else:
                self._emit(_LINE_START if char == "^" else char if char in ".$" else re.escape(char))

    def _skip_blank(self, char: str) -> None:
        if char == "#":
            end = self.pattern.find("\n", self.at)
            self.at = len(self.pattern) if end < 0 else end
        else:
            self.at += 1

    def _repeat(self, operator: str) -> None:
        """A quantifier. A second one makes the first lazy or possessive if it is ? or +, else repeats the whole again."""
        if self.atom is None:
            raise self.refuse("target of repeat operator is not specified")
        is_interval_plus = operator == "+" and self.is_repeated and self.out[-1].startswith("{")
        if self.is_repeated and operator in "?+" and not is_interval_plus and self.out[-1] in ("*", "+", "?"):
            self.out[-1] += operator
            return
        if self.is_repeated and operator == "?" and self.out[-1].startswith("{") and not self.out[-1].endswith("?"):
            self.out[-1] += operator
            return
        if self.is_repeated:
            self.out[self.atom :] = ["(?:" + "".join(self.out[self.atom :]) + ")"]
        self.out.append(operator)
        self.is_repeated = True

    def _escape(self) -> None:
        if self.at + 1 >= len(self.pattern):
            raise self.refuse("too short escape sequence")
        char = self.pattern[self.at + 1]
        if char in _REFUSED_ESCAPES:
            raise self.refuse(f"{_REFUSED_ESCAPES[char]} is not supported")
        if char in _SIMPLE_ESCAPES:
            self.at += 2
            self._emit(_SIMPLE_ESCAPES[char])
        elif char in "pP":
            text, self.at = property_class(self.pattern, self.at, self.refuse)
            self._emit(text)
        elif char == "k":
            self._back_reference()
        elif char in "123456789":
            end = self.at + 2
            while end < len(self.pattern) and self.pattern[end].isdigit():
                end += 1
            self._emit(f"(?:\\{self.pattern[self.at + 1 : end]})")
            self.at = end
        else:
            code, self.at = escaped_char(self.pattern, self.at, self.refuse)
            self._emit(re.escape(code))

    def _back_reference(self) -> None:
        found = re.compile(r"\\k[<']([^>']+)[>']").match(self.pattern, self.at)
        if found is None or (_NUMBERED_NAME.fullmatch(found[1]) and found[1].startswith("-")):
            raise self.refuse("invalid backref number/name")
        self.at = found.end()
        self._emit(f"(?:\\{found[1]})" if found[1].isdigit() else f"(?P={found[1]})")

    def _open(self) -> None:
        rest = self.pattern[self.at :]
        start = len(self.out)
        if rest.startswith("(?#"):
            end = rest.find(")")
            if end < 0:
                raise self.refuse("end pattern in group")
            self.at += end + 1
            return
        if not rest.startswith("(?"):
            self._push(start, "(?:" if self.has_names else "(", 1)
            return
        named = re.match(r"\(\?[<'](?![=!])([^>']+)[>']", rest)
        if named is not None:
            # Ruby lets a name be used again; Python does not, and nothing but the number of the group is asked for.
            self._push(start, "(" if named[1] in self.names else f"(?P<{named[1]}>", named.end())
            self.names.add(named[1])
            return
        plain = re.match(r"\(\?(?::|=|!|>|<=|<!)", rest)
        if plain is not None:
            self._push(start, plain[0], plain.end())
            return
        self._open_flags(rest, start)

    def _push(self, start: int, text: str, consumed: int) -> None:
        self.groups.append((start, self.extended, self.flag_groups))
        self.flag_groups = 0
        self.at += consumed
        self._emit(text, repeatable=False)

    def _open_flags(self, rest: str, start: int) -> None:
        found = re.match(rf"\(\?([{_FLAG_LETTERS}]*)(?:-([mix]*))?([:)])", rest)
        if found is None:
            condition = re.match(r"\(\?\((?:<([^>]+)>|(\d+))\)", rest)
            if condition is None:
                raise self.refuse("undefined group option")
            self._push(start, f"(?({condition[1] or condition[2]})", condition.end())
            return
        on, off = found[1], found[2] or ""
        extended = "x" in on or (self.extended and "x" not in off)
        flags = _flags(on, off)
        if found[3] == ":":
            self._push(start, f"(?{flags}:", found.end())
        else:
            self.at += found.end()
            self._emit(f"(?{flags}:", repeatable=False)
            self.flag_groups += 1
        self.extended = extended

    def _close(self) -> None:
        if not self.groups:
            raise self.refuse("unmatched close parenthesis")
        start, extended, flag_groups = self.groups.pop()
        inside = self.out[start + 1 :]
        self.out[start:] = [_closed(self.out[start], inside, ")" * self.flag_groups)]
        self.extended = extended
        self.flag_groups = flag_groups
        self.at += 1
        self.atom = start
        self.is_repeated = False


def _closed(opening: str, inside: list[str], flag_ends: str) -> str:
    """A group as one text. Python wants look-behind of one width, so alternatives there get one each."""
    if opening in ("(?<=", "(?<!") and "|" in inside and not flag_ends:
        alternatives: list[list[str]] = [[]]
        for piece in inside:
            if piece == "|":
                alternatives.append([])
            else:
                alternatives[-1].append(piece)
        looks = [f"{opening}{''.join(pieces)})" for pieces in alternatives]
        return f"(?:{'|'.join(looks) if opening == '(?<=' else ''.join(looks)})"
    return f"{opening}{''.join(inside)}{flag_ends})"


def _flags(on: str, off: str) -> str:
    """Ruby's m lets the dot match a newline, which Python calls s; x is taken care of while reading."""
    given = "".join(python for ruby, python in (("m", "s"), ("i", "i")) if ruby in on)
    taken = "".join(python for ruby, python in (("m", "s"), ("i", "i")) if ruby in off)
    return given + (f"-{taken}" if taken else "")
