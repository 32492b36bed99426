"""Automata for regular expressions: they match in time linear in the text, whatever the expression.

An expression is a tree of parts. Its automaton has at most `MAX_STATES` states, and each of them is visited at most once for each
character of a text. `matches` builds a deterministic automaton lazily, so that a text usually costs one lookup a character.
`search` also finds the text of each group; it prefers what an engine with backtracking finds first.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final, Literal, NamedTuple

MAX_STATES: Final = 2000
# The cached transitions, and the members of the sets of states between them; when there are more the cache is cleared, so that memory
# is bounded too.
MAX_CACHED: Final = 20_000

Test = Callable[[str], bool]
Place = Literal[
    "text_start", "text_end", "last_line_end", "line_start", "line_end", "word_boundary", "not_word_boundary"
]
# What precedes a position: nothing, a line break, a character of a word, or another one.
_Before = Literal["start", "newline", "word", "other"]
# A line break that is the last character of its text.
_FINAL_NEWLINE: Final = "\n\n"
_ACCEPT: Final = 0

Spans = tuple[tuple[int, int] | None, ...]


class TooLarge(Exception):
    """The automaton of an expression would have too many states."""


class TooManySteps(Exception):
    """Matching has visited more states than its meter allows."""


class StepMeter:
    """Limits how many states several automata may visit together: they are linear, but texts and automata may be large."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        """Raises TooManySteps."""
        self._left -= steps
        if self._left < 0:
            raise TooManySteps


class Char(NamedTuple):
    """One character that passes a test."""

    test: Test


class At(NamedTuple):
    """A place between characters."""

    place: Place


class Sequential(NamedTuple):
    """Parts one after the other."""

    parts: tuple["Part", ...]


class Choice(NamedTuple):
    """One of several parts; earlier ones are preferred."""

    parts: tuple["Part", ...]


class Repeat(NamedTuple):
    """A part several times; `most` is None for no limit. A lazy repetition prefers fewer times."""

    part: "Part"
    least: int
    most: int | None
    is_lazy: bool = False


class Group(NamedTuple):
    """A part whose text is remembered. Groups are numbered from 1."""

    number: int
    part: "Part"


Part = Char | At | Sequential | Choice | Repeat | Group


def is_nullable(part: Part) -> bool:
    """Whether a part may match the empty text."""
    match part:
        case Char():
            return False
        case At():
            return True
        case Sequential(parts):
            return all(map(is_nullable, parts))
        case Choice(parts):
            return any(map(is_nullable, parts))
        case Repeat(inner, least):
            return least == 0 or is_nullable(inner)
        case Group(_, inner):
            return is_nullable(inner)


class _State(NamedTuple):
    """A state reads a character (`test`), requires a place, marks the begin or end of a group (`slot`), or only leads on."""

    after: tuple[int, ...]
    test: Test | None = None
    place: Place | None = None
    slot: int | None = None


class _Step:
    """A state of the deterministic automaton: the states reached by the characters so far, before any that read nothing."""

    __slots__ = ("before", "moves", "reached")

    def __init__(self, reached: frozenset[int], before: _Before) -> None:
        self.reached = reached
        self.before: _Before = before
        self.moves: dict[str, _Step | None] = {}  # None: the text matches


_Slots = tuple[int | None, ...]


class Automaton:
    """The automaton of one expression. `steps` counts the states that were visited, for all texts together."""

    def __init__(self, part: Part, group_count: int = 0, meter: StepMeter | None = None) -> None:
        """Raises TooLarge."""
        self._meter = meter
        self._states: list[_State] = [_State(())]
        self._group_count = group_count
        self._start = self._build(part, _ACCEPT)
        self.steps = 0
        self._clear()
        self._is_anchored = self._find_anchor()

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self._states)

    def matches(self, text: str) -> bool:
        """Whether any part of the text matches. Raises TooManySteps if there is a meter."""
        step = self._first
        # Nothing can begin later in a text of one line if a match begins only where a line does.
        ends_early = self._is_anchored and "\n" not in text
        for char in _characters(text):
            try:
                after = step.moves[char]
            except KeyError:
                after = self._move(step, char)
            if after is None:
                return True
            if ends_early and not after.reached:
                return False
            step = after
        return False

    def search(self, text: str) -> Spans | None:
        """The spans of the first match and of its groups, None for a group without a match; None if nothing matches."""
        if not self.matches(text):
            return None
        empty: _Slots = (None,) * (2 * self._group_count + 2)
        threads: list[tuple[int, _Slots]] = []
        found: _Slots | None = None
        before: _Before = "start"
        for at, char in enumerate(_characters(text)):
            if found is None and (not self._is_anchored or before in ("start", "newline")):
                threads.append((self._start, (at, *empty[1:])))
            threads, found_here = self._advance(threads, before, char, at)
            found = found_here or found
            if found is not None and not threads:
                break
            before = _kind(char)
        assert found is not None, "the text matches"
        return tuple(_pairs(found))

    # The deterministic automaton.

    def _clear(self) -> None:
        self._steps: dict[tuple[frozenset[int], _Before], _Step] = {}
        self._cached = 0
        self._first = _Step(frozenset(), "start")

    def _move(self, step: _Step, char: str) -> _Step | None:
        states = self._states
        spread = self._spread(step, char)
        after = None
        if _ACCEPT not in spread:
            reached = frozenset(
                number
                for state in map(states.__getitem__, spread)
                if char and state.test is not None and state.test(char[0])
                for number in state.after
            )
            key = (reached, _kind(char))
            after = self._steps.get(key)
            if after is None:
                after = self._steps[key] = _Step(*key)
                self._cached += len(reached)
        self._cached += 1
        if self._cached > MAX_CACHED:
            self._clear()
        else:
            step.moves[char] = after
        return after

    def _find_anchor(self) -> bool:
        """Whether a match can begin only at the beginning of a line or of the text."""
        seen: set[int] = set()
        waiting = [self._start]
        while waiting:
            number = waiting.pop()
            state = self._states[number]
            if number == _ACCEPT or state.test is not None:
                return False
            if number not in seen and state.place not in ("text_start", "line_start"):
                waiting += state.after
            seen.add(number)
        return True

    def _spread(self, step: _Step, char: str) -> set[int]:
        """All states that are reached without reading a character. A match may begin at every character."""
        seen: set[int] = set()
        waiting = [self._start, *step.reached]
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            state = self._states[number]
            if state.test is None and (state.place is None or _is_at(state.place, step.before, char)):
                waiting += state.after
        self._count(len(seen))
        return seen

    # The simulation that remembers groups: threads in the order of preference, at most one in each state.

    def _advance(
        self, threads: Sequence[tuple[int, _Slots]], before: _Before, char: str, at: int
    ) -> tuple[list[tuple[int, _Slots]], _Slots | None]:
        """The threads after a character, and the slots of the match that ends before it and that no later thread may replace."""
        states = self._states
        seen: set[int] = set()
        advanced: list[tuple[int, _Slots]] = []
        waiting = list(reversed(threads))
        found: _Slots | None = None
        while waiting:
            number, slots = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            state = states[number]
            if number == _ACCEPT:
                found = (slots[0], at, *slots[2:])
                break
            if state.test is not None:
                if char and state.test(char[0]):
                    advanced += [(after, slots) for after in state.after]
            elif state.place is None or _is_at(state.place, before, char):
                if state.slot is not None:
                    slots = (*slots[: state.slot], at, *slots[state.slot + 1 :])
                waiting += [(after, slots) for after in reversed(state.after)]
        self._count(len(seen))
        return advanced, found

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self._meter is not None:
            self._meter.spend(steps)

    # States are built from the last to the first: each part is built with the state that follows it.

    def _build(self, part: Part, after: int) -> int:
        match part:
            case Char(test):
                return self._add(_State((after,), test=test))
            case At(place):
                return self._add(_State((after,), place=place))
            case Sequential(parts):
                # An empty sequence is a state too, so that the limit on states also bounds repetitions of it.
                after = after if parts else self._add(_State((after,)))
                for inner in reversed(parts):
                    after = self._build(inner, after)
                return after
            case Choice(parts):
                return self._add(_State(tuple(self._build(inner, after) for inner in parts)))
            case Repeat():
                return self._repeat(part, after)
            case Group(number, inner):
                end = self._add(_State((after,), slot=2 * number + 1))
                return self._add(_State((self._build(inner, end),), slot=2 * number))

    def _repeat(self, repeat: Repeat, after: int) -> int:
        part, least, most, is_lazy = repeat
        first = after
        if most is None:
            loop = self._add(_State(()))
            self._states[loop] = _State(_preferred(self._build(part, loop), after, is_lazy))
            first = loop
        else:
            for _ in range(most - least):
                first = self._add(_State(_preferred(self._build(part, first), after, is_lazy)))
        for _ in range(least):
            first = self._build(part, first)
        return first

    def _add(self, state: _State) -> int:
        if len(self._states) >= MAX_STATES:
            raise TooLarge
        self._states.append(state)
        return len(self._states) - 1


def _preferred(inner: int, after: int, is_lazy: bool) -> tuple[int, int]:
    return (after, inner) if is_lazy else (inner, after)


def _characters(text: str) -> Iterator[str]:
    """The characters, and an empty one for the end."""
    return chain(text[:-1], (_FINAL_NEWLINE, "")) if text.endswith("\n") else chain(text, ("",))


def _pairs(slots: _Slots) -> Iterator[tuple[int, int] | None]:
    for start, end in zip(slots[::2], slots[1::2], strict=True):
        yield None if start is None or end is None else (start, end)


def _kind(char: str) -> _Before:
    if char[:1] == "\n":
        return "newline"
    return "word" if char == "_" or char.isalnum() else "other"


def _is_at(place: Place, before: _Before, char: str) -> bool:
    """Whether a position is such a place. `char` is the character after it, empty at the end of the text."""
    match place:
        case "text_start":
            return before == "start"
        case "text_end":
            return char == ""
        case "last_line_end":
            return char in ("", _FINAL_NEWLINE)
        case "line_start":
            return before == "start" or (before == "newline" and char != "")
        case "line_end":
            return char[:1] in ("", "\n")
        case "word_boundary" | "not_word_boundary":
            is_boundary = (before == "word") != (bool(char) and _kind(char) == "word")
            return is_boundary == (place == "word_boundary")
