"""Searches the markings of a net for those in which nothing moves.

A search is bounded three ways, and says when it was cut: by the number of states, by the memory that they take, and by time. Time is asked
of the caller, because this package has no clock.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from precast.net.analysis.stubborn import Stubborn
from precast.net.model.plain_net import Firing

STATE_BYTES = 1 << 30
# What a state takes beside its tokens: its entries in the table and in the frontier.
_STATE_OVERHEAD = 300
# A token count that needs more than a byte takes a pointer and often a number of its own.
_LARGE_COUNT_BYTES = 40
# The first walk is this long; the next ones are longer.
_WALK, _LONGEST_WALK = 1_000, 200_000
# A step of a walk is stored nowhere, so there may be this many for each state that a search may visit.
_STEPS_A_STATE = 5

# A marking as a key: a byte for a place where that is enough.
State = bytes | tuple[int, ...]


class SearchLimits(NamedTuple):
    """How much a search may visit. `time_left_s` returns the seconds that are left."""

    states: int
    state_bytes: int = STATE_BYTES
    time_left_s: Callable[[], float] = lambda: math.inf


class StateSearch:
    """Searches the markings of a net along stubborn sets only, so it visits every dead marking but few others.

    Nearest first finds the shortest way to a deadlock, deepest first finds a deep one sooner. Both visit all that matters, unless they are
    cut: at the limit of states or memory, or when less than `reserve_s` is left.
    """

    def __init__(self, firings: list[Firing], stubborn: Stubborn, initial: list[int], limits: SearchLimits) -> None:
        self._firings = firings
        self._stubborn = stubborn
        self._limits = limits
        self._start = _state_key(initial)
        self._came_from: dict[State, tuple[State, int] | None] = {self._start: None}
        self._bytes = 0
        self.is_cut = False

    @property
    def count(self) -> int:
        """How many states the search has visited."""
        return len(self._came_from)

    def nearest_first(self, reserve_s: float = 0) -> Iterator[State]:
        """Every reachable marking in which nothing is enabled; if the search is cut, those visited so far."""
        frontier = deque([(self._start, self._stubborn.enabled(self._start))])
        while frontier and not self.is_cut:
            state, enabled = frontier.popleft()
            if not enabled:
                yield state
            for f in self._stubborn.choose(state, enabled):
                if following := self._visit(state, enabled, f, reserve_s):
                    frontier.append(following)

    def deepest_first(self, reserve_s: float = 0) -> Iterator[State]:
        """The same markings in another order."""
        enabled = self._stubborn.enabled(self._start)
        if not enabled:
            yield self._start
        stack = [(self._start, enabled, iter(self._stubborn.choose(self._start, enabled)))]
        while stack and not self.is_cut:
            state, enabled, firings = stack[-1]
            if (f := next(firings, None)) is None:
                stack.pop()
            elif following := self._visit(state, enabled, f, reserve_s):
                if following[1]:
                    stack.append((*following, iter(self._stubborn.choose(*following))))
                else:
                    yield following[0]

    def _visit(self, state: State, enabled: list[int], f: int, reserve_s: float) -> tuple[State, list[int]] | None:
        """The marking after f, and what is enabled there; None if it was visited before, or if the search is cut here."""
        if self.is_cut or (following := self._after(state, f)) in self._came_from:
            return None
        size = len(following) if isinstance(following, bytes) else len(following) * _LARGE_COUNT_BYTES
        self._bytes += size + _STATE_OVERHEAD + 8 * len(enabled)
        limits = self._limits
        if self.count >= limits.states or self._bytes > limits.state_bytes or limits.time_left_s() < reserve_s:
            self.is_cut = True
            return None
        self._came_from[following] = (state, f)
        return following, self._stubborn.enabled_after(following, enabled, f)

    def _after(self, state: State, f: int) -> State:
        tokens = list(state)
        for place, change in self._stubborn.effects[f]:
            tokens[place] += change
        return _state_key(tokens)

    def path_to(self, state: State) -> tuple[Firing, ...]:
        """The firings that lead to a visited marking."""
        path = []
        step = self._came_from[state]
        while step is not None:
            path.append(self._firings[step[1]])
            step = self._came_from[step[0]]
        return tuple(reversed(path))


class Walk(NamedTuple):
    """One run from the start: what fired, and the marking in which nothing could."""

    firings: tuple[Firing, ...]
    tokens: tuple[int, ...]


class Walks:
    """Follows single runs far ahead: they reach deadlocks that lie too deep for a search of all states, and prove nothing.

    The choices are spread by a fixed sequence of numbers, so two checks of a net walk the same way. Every second walk stays in stubborn
    sets, where no firing is wasted on what can wait; the others choose among all that is enabled.
    """

    def __init__(self, firings: list[Firing], stubborn: Stubborn, initial: list[int], limits: SearchLimits) -> None:
        self._firings = firings
        self._stubborn = stubborn
        self._initial = initial
        self._limits = limits
        self._steps_left = limits.states * _STEPS_A_STATE
        self._number = 1

    def dead_ends(self) -> Iterator[Walk]:
        """The walks that reached a marking in which nothing is enabled, until a limit."""
        enabled = self._stubborn.enabled(self._initial)
        length, is_reduced = _WALK, True
        while self._is_allowed():
            if walk := self._walk(enabled, length, is_reduced):
                yield walk
            is_reduced = not is_reduced
            if is_reduced:
                length = min(2 * length, _LONGEST_WALK)

    def _is_allowed(self) -> bool:
        return self._steps_left > 0 and self._limits.time_left_s() > 0

    def _walk(self, enabled: list[int], length: int, is_reduced: bool) -> Walk | None:
        stubborn, tokens = self._stubborn, list(self._initial)
        path: list[int] = []
        while enabled:
            if len(path) >= length or not self._is_allowed():
                return None
            f = self._choose(stubborn.choose(tokens, enabled) if is_reduced else enabled)
            for place, change in stubborn.effects[f]:
                tokens[place] += change
            enabled = stubborn.enabled_after(tokens, enabled, f)
            path.append(f)
        self._steps_left -= 1  # a net that is dead at its start must not be walked for ever
        return Walk(tuple(self._firings[f] for f in path), tuple(tokens))

    def _choose(self, firings: list[int]) -> int:
        self._steps_left -= 1
        self._number = (self._number * 6364136223846793005 + 1442695040888963407) % 2**64  # Knuth's MMIX
        return firings[(self._number >> 33) % len(firings)]


def _state_key(tokens: list[int]) -> State:
    return bytes(tokens) if max(tokens, default=0) < 256 else tuple(tokens)
