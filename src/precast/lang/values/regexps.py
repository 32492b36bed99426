"""Translates Ruby's regular expressions, as Puppet manifests use them, into Python's.

The two dialects look alike but differ: `^` and `$` always mean lines, `\\d \\w \\s` are ASCII while `[[:alpha:]]` is not, a quantifier
may follow a quantifier, sets nest and intersect, and named groups turn off numbered ones. A pattern is read once, atom by atom, and
written out again; what Python cannot express is refused with LANG-210, never matched differently.
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
LINE_START: Final = r"(?:\A|^(?!\Z))"  # a newline at the very end does not begin a line
_NUMBERED_NAME: Final = re.compile(r"-?\d+")
_INTERVAL: Final = re.compile(r"\{(\d+(?:,\d*)?|,\d+)\}")
_NAMED_GROUP: Final = re.compile(r"\(\?<(?![=!])|\(\?'")


@functools.lru_cache(maxsize=4096)
def compile_regexp(pattern: str) -> re.Pattern[str]:
    """The compiled pattern. Raises LANG-210 if it is invalid or cannot be translated."""
    try:
        return re.compile(_Translation(pattern).translate(), re.MULTILINE)
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        raise issues.BAD_REGEXP.error(pattern=pattern, reason=str(error)) from None


def translate_regexp(pattern: str) -> str:
    """The pattern as Python writes it, for texts of several lines. Raises LANG-210 if it is invalid or cannot be translated."""
    text = compile_regexp(pattern).pattern
    assert isinstance(text, str)
    return text


class _Translation:
    """One walk over a pattern. `out` is the output; `atom` is the index in it where the last repeatable item begins."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []
        self.atom: int | None = None
        self.extended = False
        self.is_repeated = False
        self.names: set[str] = set()
        self.has_names = _NAMED_GROUP.search(pattern) is not None
        # For each open group: its start, whether blanks were ignored outside it, the number of flag groups to close with it.
        self.groups: list[tuple[int, bool, int]] = []
        self.flag_groups = 0

    def refuse(self, what: str) -> Exception:
        return issues.BAD_REGEXP.error(pattern=self.pattern, reason=what)

    def translate(self) -> str:
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
        elif char == "{" and (interval := _INTERVAL.match(self.pattern, self.at)):
            self.at = interval.end()
            self._repeat("{0" + interval[1] + "}" if interval[1].startswith(",") else interval[0])
        elif self.extended and (char.isspace() or char == "#"):
            self._skip_blank(char)
        else:
            self.at += 1
            if char == "|":
                self._emit(char, repeatable=False)
            else:
                self._emit(LINE_START if char == "^" else char if char in ".$" else re.escape(char))

    def _skip_blank(self, char: str) -> None:
        if char == "#":
            end = self.pattern.find("\n", self.at)
            self.at = len(self.pattern) if end < 0 else end
        else:
            self.at += 1

    def _repeat(self, operator: str) -> None:
        """Write a quantifier. After another one, ? or + makes that lazy or possessive, any other repeats the whole again."""
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
        reference = re.compile(r"\\k[<']([^>']+)[>']").match(self.pattern, self.at)
        if reference is None or (_NUMBERED_NAME.fullmatch(reference[1]) and reference[1].startswith("-")):
            raise self.refuse("invalid backref number/name")
        self.at = reference.end()
        self._emit(f"(?:\\{reference[1]})" if reference[1].isdigit() else f"(?P={reference[1]})")

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
            # Ruby allows a name to be reused and Python does not; callers use only the group's number.
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
        flags_match = re.match(rf"\(\?([{_FLAG_LETTERS}]*)(?:-([mix]*))?([:)])", rest)
        if flags_match is None:
            condition = re.match(r"\(\?\((?:<([^>]+)>|(\d+))\)", rest)
            if condition is None:
                raise self.refuse("undefined group option")
            self._push(start, f"(?({condition[1] or condition[2]})", condition.end())
            return
        on, off = flags_match[1], flags_match[2] or ""
        extended = "x" in on or (self.extended and "x" not in off)
        flags = _flags(on, off)
        if flags_match[3] == ":":
            self._push(start, f"(?{flags}:", flags_match.end())
        else:
            self.at += flags_match.end()
            self._emit(f"(?{flags}:", repeatable=False)
            self.flag_groups += 1
        self.extended = extended

    def _close(self) -> None:
        if not self.groups:
            raise self.refuse("unmatched close parenthesis")
        start, extended, flag_groups = self.groups.pop()
        inside = self.out[start + 1 :]
        self.out[start:] = [_close_group(self.out[start], inside, ")" * self.flag_groups)]
        self.extended = extended
        self.flag_groups = flag_groups
        self.at += 1
        self.atom = start
        self.is_repeated = False


def _close_group(opening: str, inside: list[str], flag_ends: str) -> str:
    """A group as one text. Python's look-behind needs a fixed width, so each alternative gets its own."""
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
    """Python's flags for Ruby's: Ruby's m is Python's s, the dot that matches a newline; x is handled by the translation."""
    enabled = "".join(python for ruby, python in (("m", "s"), ("i", "i")) if ruby in on)
    disabled = "".join(python for ruby, python in (("m", "s"), ("i", "i")) if ruby in off)
    return enabled + (f"-{disabled}" if disabled else "")
