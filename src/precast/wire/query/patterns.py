"""Regular expressions that match in time linear in the text, whatever the pattern: for patterns that users send to a server.

The common elements are supported: characters, `.`, classes, `\\d \\w \\s`, `^ $`, groups, `|`, `* + ? {m,n}`. Elements that need
backtracking (back-references, look-around) are refused, and so is a pattern that grows beyond a limit. A pattern is compiled to a
nondeterministic automaton; the transitions between its sets of states are cached, so that a deterministic automaton is built lazily.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

MAX_PATTERN_CHARS = 500
MAX_STATES = 2000
# The size of the transition cache; when it is full it is cleared, so that memory is bounded too.
MAX_STEPS = 5000
MAX_REPEAT = 100

_CLASSES = {"d": "[0-9]", "w": "[A-Za-z0-9_]", "s": r"[ \t\n\r\f\v]"}
_ANY, _START, _END, _SPLIT, _CLASS, _ACCEPT = "any", "start", "end", "split", "class", "accept"


class BadPattern(Exception):
    """The pattern is not supported: the reason, and the offset."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


class _State(NamedTuple):
    kind: str
    test: Callable[[str], bool] | None
    after: tuple[int, ...]


class Pattern:
    """A compiled pattern that finds a match anywhere in a text."""

    def __init__(self, text: str) -> None:
        """Raises BadPattern."""
        if len(text) > MAX_PATTERN_CHARS:
            raise BadPattern(f"it is longer than {MAX_PATTERN_CHARS} characters", MAX_PATTERN_CHARS)
        self.text = text
        builder = _Builder(text)
        self._start, self._states = builder.build(), builder.states
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def matches(self, text: str) -> bool:
        """Whether any part of the text matches."""
        now = self._spread({self._start}, at_start=True, at_end=not text)
        for at, char in enumerate(text):
            if self._accepts(now):
                return True
            is_last = at == len(text) - 1
            key = (now, char)
            if is_last or key not in self._steps:
                after = self._step(now, char, at_end=is_last)
                if is_last:
                    return self._accepts(after)
                if len(self._steps) >= MAX_STEPS:
                    self._steps.clear()
                self._steps[key] = after
            now = self._steps[key]
        return self._accepts(now)

    def _step(self, now: frozenset[int], char: str, *, at_end: bool) -> frozenset[int]:
        reached = {
            after
            for number in now
            if (state := self._states[number]).test is not None and state.test(char)
            for after in state.after
        }
        # A match may begin at every character, not only at the first.
        return self._spread(reached | {self._start}, at_start=False, at_end=at_end)

    def _spread(self, numbers: set[int], *, at_start: bool, at_end: bool) -> frozenset[int]:
        """Return all states that can be reached without reading a character."""
        seen: set[int] = set()
        waiting = list(numbers)
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            state = self._states[number]
            if state.kind == _SPLIT or (state.kind == _START and at_start) or (state.kind == _END and at_end):
                waiting += state.after
        return frozenset(seen)

    def _accepts(self, now: frozenset[int]) -> bool:
        return any(self._states[number].kind == _ACCEPT for number in now)


class _Builder:
    """Parses a pattern, then builds its states from the last to the first: each part is built with the state that follows it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self.states: list[_State] = []

    def build(self) -> int:
        tree = self._alternatives()
        if self._at < len(self._text):
            raise BadPattern("a ) without a matching (", self._at)
        return tree(self._add(_ACCEPT, None, ()))

    # A part is a function: it is given the state that follows, adds its own states and returns the first of them.

    def _alternatives(self) -> "_Part":
        parts = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequence())
        return (
            parts[0] if len(parts) == 1 else lambda after: self._add(_SPLIT, None, tuple(part(after) for part in parts))
        )

    def _sequence(self) -> "_Part":
        parts: list[_Part] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._single()))

        def build(after: int) -> int:
            # An empty sequence is a state too, so that the limit on states also bounds repetitions of it.
            after = after if parts else self._add(_SPLIT, None, (after,))
            for part in reversed(parts):
                after = part(after)
            return after

        return build

    def _repeated(self, part: "_Part") -> "_Part":
        while True:
            at = self._at
            match = re.compile(r"[*+?]|\{(\d{1,3})(,(\d{0,3}))?\}").match(self._text, at)
            if match is None:
                if self._peek() == "{":
                    raise BadPattern("{ begins a repetition, such as {2,5}; write \\{ for the character", at)
                return part
            self._at = match.end()
            if self._peek() in ("?", "+"):
                raise BadPattern("lazy and possessive repetition are not supported", self._at)
            least, most = _bounds(match)
            if max(least, most or 0) > MAX_REPEAT:
                raise BadPattern(f"more than {MAX_REPEAT} repetitions", at)
            if most is not None and most < least:
                raise BadPattern("the lower bound of the repetition exceeds the upper bound", at)
            part = self._times(part, least, most)

    def _times(self, part: "_Part", least: int, most: int | None) -> "_Part":
        def build(after: int) -> int:
            first = after
            if most is None:
                loop = self._add(_SPLIT, None, ())
                self.states[loop] = _State(_SPLIT, None, (part(loop), after))
                first = loop
            else:
                for _ in range(most - least):
                    first = self._add(_SPLIT, None, (part(first), after))
            for _ in range(least):
                first = part(first)
            return first

        return build

    def _single(self) -> "_Part":
        char, at = self._peek(), self._at
        self._at += 1
        if char == "(":
            return self._group()
        if char in "*+?":
            raise BadPattern(f"{char} has nothing to repeat", at)
        if char in "^$":
            return self._part(_START if char == "^" else _END, None)
        if char == ".":
            return self._part(_ANY, lambda character: character != "\n")
        if char == "[":
            return self._part(_CLASS, self._bracket(at))
        if char == "\\":
            return self._part(_CLASS, self._escape(at))
        return self._part(_CLASS, char.__eq__)

    def _group(self) -> "_Part":
        at = self._at - 1
        self._depth += 1
        if self._depth > 50:
            raise BadPattern("groups are nested more than 50 deep", at)
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

    def _bracket(self, at: int) -> Callable[[str], bool]:
        """Parse a character class. It means the same in Python's expressions, which test one character quickly and safely."""
        match = re.compile(r"\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL).match(self._text, self._at)
        if match is None:
            raise BadPattern("a [ without a matching ]", at)
        self._at = match.end()
        return _tester(self._text[at : self._at], at)

    def _escape(self, at: int) -> Callable[[str], bool]:
        char = self._peek()
        self._at += 1
        if char.lower() in _CLASSES and char:
            inside = _CLASSES[char.lower()]
            return _tester(inside if char.islower() else f"[^{inside[1:]}", at)
        if char in "tnrfv" and char:
            return {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}[char].__eq__
        if not char or char.isalnum():
            raise BadPattern(f"\\{char} is not supported", at)
        return char.__eq__

    def _part(self, kind: str, test: Callable[[str], bool] | None) -> "_Part":
        return lambda after: self._add(kind, test, (after,))

    def _add(self, kind: str, test: Callable[[str], bool] | None, after: tuple[int, ...]) -> int:
        if len(self.states) >= MAX_STATES:
            raise BadPattern("it is too large once its repetitions are written out", 0)
        self.states.append(_State(kind, test, after))
        return len(self.states) - 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]


_Part = Callable[[int], int]


def _bounds(match: "re.Match[str]") -> tuple[int, int | None]:
    if match[0] in ("*", "+", "?"):
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[match[0]]
    least = int(match[1])
    if match[2] is None:
        return least, least
    return least, int(match[3]) if match[3] else None


def _tester(bracket: str, at: int) -> Callable[[str], bool]:
    for escape in re.findall(r"\\.", bracket):
        if escape[1].isalnum() and escape[1] not in "dwsDWStnrfv":
            raise BadPattern(f"{escape} is not supported", at)
    if "--" in bracket:
        raise BadPattern("write \\- for a literal hyphen", at)
    # Escape characters to which later versions of Python may give a meaning.
    safe = re.sub(r"\\.|[\[&~|]", lambda sign: sign[0] if sign[0][0] == "\\" else f"\\{sign[0]}", bracket[1:])
    try:
        compiled = re.compile(f"[{safe}", re.DOTALL | re.ASCII)
    except re.error as error:
        raise BadPattern(f"the character class is invalid: {error}", at) from None
    return lambda character: compiled.fullmatch(character) is not None
