"""Compiles Ruby's regular expressions to automata that match in linear time, as far as automata can express them.

It reads the Python text that `regexps` writes, so that both mean the same. Back-references, look-around, atomic groups, possessive and
huge repetitions, and repetitions of what may be empty need backtracking to give the groups that Ruby gives: they are refused, and the
caller decides where it can afford an engine that may take for ever.
"""

import functools
import re
from typing import Final, NamedTuple

from precast.base.errors import PrecastError
from precast.lang.values.regexps import LINE_START, translate_regexp
from precast.wire.query.automata import (
    At,
    Automaton,
    Char,
    Choice,
    Group,
    Part,
    Place,
    Repeat,
    Sequential,
    TooLarge,
    is_nullable,
)
from precast.wire.query.patterns import character_test

MAX_CHARS: Final = 4000
MAX_DEPTH: Final = 50
MAX_GROUPS: Final = 50
MAX_REPEAT: Final = 1000
# Places that the translation writes as look-around.
_PLACES: Final[tuple[tuple[str, Place], ...]] = (
    (LINE_START, "line_start"),
    (r"(?=\n?\Z)", "last_line_end"),
    (r"(?!\b)", "not_word_boundary"),
    ("$", "line_end"),
    (r"\A", "text_start"),
    (r"\Z", "text_end"),
    (r"\b", "word_boundary"),
)
_SET: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_CHARACTER: Final = re.compile(r"\\(?:x[0-9a-f]{2}|[ntrfva]|[^a-zA-Z0-9])|[^\\()\[\]|*+?.$^{}]", re.DOTALL)
_REPEAT: Final = re.compile(r"([*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})([?+]?)")
_OPENING: Final = re.compile(r"\((?:\?(?:P<[^>]+>|([is]*)(?:-([is]+))?:))?(?!\?)")


class NotLinear(Exception):
    """An automaton cannot express the expression."""


class LinearRegexp(NamedTuple):
    """An expression that is matched in linear time."""

    automaton: Automaton

    def search(self, text: str) -> tuple[str | None, ...] | None:
        """The text of the first match and of its groups, None for a group without a match; None if nothing matches."""
        spans = self.automaton.search(text)
        if spans is None:
            return None
        return tuple(None if span is None else text[slice(*span)] for span in spans)


@functools.lru_cache(maxsize=512)
def compile_linear(pattern: str) -> LinearRegexp | None:
    """The automaton of an expression; None if automata cannot express it, or if it is invalid."""
    if len(pattern) > MAX_CHARS:
        return None
    try:
        parser = _Parser(translate_regexp(pattern))
        return LinearRegexp(Automaton(parser.parse(), parser.group_count))
    except (NotLinear, TooLarge, PrecastError):
        return None


class _Parser:
    """Parses the text of one translation. `flags` are those of the group it is in: i and s, as Python has them."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARS:
            raise NotLinear
        self._text = text
        self._at = 0
        self._depth = 0
        self._flags = 0
        self.group_count = 0

    def parse(self) -> Part:
        part = self._alternatives()
        if self._at < len(self._text):
            raise NotLinear
        return part

    def _alternatives(self) -> Part:
        parts = [self._sequence()]
        while self._text.startswith("|", self._at):
            self._at += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Part:
        parts: list[Part] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated(self._single()))
        return Sequential(tuple(parts))

    def _repeated(self, part: Part) -> Part:
        match = _REPEAT.match(self._text, self._at)
        if match is None:
            return part
        self._at = match.end()
        least, most = _bounds(match)
        if match[5] == "+" or max(least, most or 0) > MAX_REPEAT or (most is not None and most < least):
            raise NotLinear
        if (most is None or most > 1) and is_nullable(part):
            # Engines end such a loop after an empty turn, each in its own way.
            raise NotLinear
        return Repeat(part, least, most, is_lazy=match[5] == "?")

    def _single(self) -> Part:
        for text, place in _PLACES:
            if self._text.startswith(text, self._at):
                self._at += len(text)
                return At(place)
        if self._text.startswith(".", self._at):
            self._at += 1
            return Char(character_test(".", self._flags))
        if self._text.startswith("(", self._at):
            return self._group()
        match = _SET.match(self._text, self._at) or _CHARACTER.match(self._text, self._at)
        if match is None:
            raise NotLinear
        self._at = match.end()
        return Char(character_test(match[0], self._flags))

    def _group(self) -> Part:
        match = _OPENING.match(self._text, self._at)
        self._depth += 1
        if match is None or self._depth > MAX_DEPTH:
            raise NotLinear
        self._at = match.end()
        flags, number = self._flags, 0
        if match[1] is None:
            self.group_count += 1
            number = self.group_count
            if number > MAX_GROUPS:
                raise NotLinear
        else:
            self._flags = (flags | _flags(match[1])) & ~_flags(match[2] or "")
        inner = self._alternatives()
        if not self._text.startswith(")", self._at):
            raise NotLinear
        self._at += 1
        self._depth -= 1
        self._flags = flags
        return Group(number, inner) if number else inner


def _flags(letters: str) -> int:
    return (re.IGNORECASE if "i" in letters else 0) | (re.DOTALL if "s" in letters else 0)


def _bounds(match: "re.Match[str]") -> tuple[int, int | None]:
    if match[2] is None:
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[match[1]]
    least = int(match[2])
    if match[3] is None:
        return least, least
    return least, int(match[4]) if match[4] else None
