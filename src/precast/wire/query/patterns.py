"""Regular expressions that match in time linear in the text, whatever the pattern: for patterns that users send to a server.

The common elements are supported: characters, `.`, classes, `\\d \\w \\s`, `^ $`, groups, `|`, `* + ? {m,n}`. Elements that need
backtracking (back-references, look-around) are refused, and so is a pattern that grows beyond a limit.
"""

import re
from typing import Final

from precast.wire.query.automata import (
    At,
    Automaton,
    Char,
    Choice,
    Part,
    Repeat,
    Sequential,
    StepMeter,
    Test,
    TooLarge,
)

MAX_PATTERN_CHARS: Final = 500
MAX_REPEAT: Final = 100
MAX_DEPTH: Final = 50

_CLASSES: Final = {"d": "[0-9]", "w": "[A-Za-z0-9_]", "s": r"[ \t\n\r\f\v]"}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_REPEATS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_REPEAT: Final = re.compile(r"[*+?]|\{([0-9]{1,3})(,([0-9]{0,3}))?\}")
_BRACKET: Final = re.compile(r"\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


class BadPattern(Exception):
    """The pattern is not supported: the reason, and the offset."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


class Pattern:
    """A compiled pattern that finds a match anywhere in a text."""

    def __init__(self, text: str, meter: StepMeter | None = None) -> None:
        """Raises BadPattern. With a meter, matching raises TooManySteps."""
        if len(text) > MAX_PATTERN_CHARS:
            raise BadPattern(f"it is longer than {MAX_PATTERN_CHARS} characters", MAX_PATTERN_CHARS)
        self.text = text
        try:
            self.automaton = Automaton(_Parser(text).parse(), meter=meter)
        except TooLarge:
            raise BadPattern("it is too large once its repetitions are written out", 0) from None
        self.matches = self.automaton.matches


class _Parser:
    """Parses one pattern."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> Part:
        part = self._alternatives()
        if self._at < len(self._text):
            raise BadPattern("a ) without a matching (", self._at)
        return part

    def _alternatives(self) -> Part:
        parts = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Part:
        parts: list[Part] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._single()))
        return Sequential(tuple(parts))

    def _repeated(self, part: Part) -> Part:
        while (match := _REPEAT.match(self._text, self._at)) is not None:
            at, self._at = self._at, match.end()
            if self._peek() in ("?", "+"):
                raise BadPattern("lazy and possessive repetition are not supported", self._at)
            least, most = _bounds(match)
            if max(least, most or 0) > MAX_REPEAT:
                raise BadPattern(f"more than {MAX_REPEAT} repetitions", at)
            if most is not None and most < least:
                raise BadPattern("the lower bound of the repetition exceeds the upper bound", at)
            part = Repeat(part, least, most)
        if self._peek() == "{":
            raise BadPattern("{ begins a repetition, such as {2,5}; write \\{ for the character", self._at)
        return part

    def _single(self) -> Part:
        char, at = self._peek(), self._at
        self._at += 1
        if char == "(":
            return self._group()
        if char in "*+?":
            raise BadPattern(f"{char} has nothing to repeat", at)
        if char in "^$":
            return At("text_start" if char == "^" else "text_end")
        if char == ".":
            return Char("\n".__ne__)
        if char == "[":
            return Char(self._bracket(at))
        if char == "\\":
            return Char(self._escape(at))
        return Char(char.__eq__)

    def _group(self) -> Part:
        at = self._at - 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadPattern(f"groups are nested more than {MAX_DEPTH} deep", at)
        if self._text.startswith("?:", self._at):
            self._at += 2
        elif self._peek() == "?":
            raise BadPattern("only plain groups and (?:…) are supported", at)
        inner = self._alternatives()
        if self._peek() != ")":
            raise BadPattern("a ( without a matching )", at)
        self._at += 1
        self._depth -= 1
        return inner

    def _bracket(self, at: int) -> Test:
        """Parse a character class. It means the same in Python's expressions, which test one character quickly and safely."""
        match = _BRACKET.match(self._text, self._at)
        if match is None:
            raise BadPattern("a [ without a matching ]", at)
        self._at = match.end()
        return _class_test(self._text[at : self._at], at)

    def _escape(self, at: int) -> Test:
        char = self._peek()
        self._at += 1
        if char.lower() in _CLASSES and char:
            inside = _CLASSES[char.lower()]
            return _class_test(inside if char.islower() else f"[^{inside[1:]}", at)
        if char in _CONTROLS:
            return _CONTROLS[char].__eq__
        if not char or char.isalnum():
            raise BadPattern(f"\\{char} is not supported", at)
        return char.__eq__

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]


def _bounds(match: "re.Match[str]") -> tuple[int, int | None]:
    if match[0] in _REPEATS:
        return _REPEATS[match[0]]
    least = int(match[1])
    if match[2] is None:
        return least, least
    return least, int(match[3]) if match[3] else None


def _class_test(bracket: str, at: int) -> Test:
    for escape in re.findall(r"\\.", bracket):
        if escape[1].isalnum() and escape[1] not in "dwsDWStnrfv":
            raise BadPattern(f"{escape} is not supported", at)
    if "--" in bracket:
        raise BadPattern("write \\- for a literal hyphen", at)
    # Escape characters to which later versions of Python may give a meaning.
    safe = re.sub(r"\\.|[\[&~|]", lambda sign: sign[0] if sign[0][0] == "\\" else f"\\{sign[0]}", bracket[1:])
    try:
        return character_test(f"[{safe}", re.DOTALL | re.ASCII)
    except re.error as error:
        raise BadPattern(f"the character class is invalid: {error}", at) from None


def character_test(expression: str, flags: int) -> Test:
    """A test for one character by an expression that matches exactly one, such as a class. Raises re.error."""
    fullmatch = re.compile(expression, flags).fullmatch
    return lambda character: fullmatch(character) is not None
