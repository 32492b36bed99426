"""Searches the markings of a net for those in which nothing moves.

A search is bounded three ways, and says when it was cut: by the number of states, by the memory that they take, and by time. Time is asked
of the caller, because this package has no clock.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from precast.net.analysis.stubborn import Stubborn
from precast.net.model.plain_net import Firing, list_firings
from precast.net.model.structure import Net

STATE_BYTES = 1 << 30
# What a state takes beside its tokens: its entries in the table and in the frontier.
_STATE_OVERHEAD = 300
# A token count that needs more than a byte takes a pointer and often a number of its own.
_LARGE_COUNT_BYTES = 40
# The first walk is this long; the next ones are longer.
_WALK, _LONGEST_WALK = 1_000, 200_000

# A marking as a key: a byte for a place where that is enough.
State = bytes | tuple[int, ...]


class SearchLimits(NamedTuple):
    """How much a search may visit. `time_left_s` returns the seconds that are left."""

    states: int
    state_bytes: int = STATE_BYTES
    time_left_s: Callable[[], float] = lambda: math.inf


class StateSearch:
    """Searches the markings of a net, nearest first, along stubborn sets only, so it visits every dead marking but few others."""

    def __init__(self, net: Net, limits: SearchLimits) -> None:
        self._limits = limits
        self.firings = list_firings(net)
        self.stubborn = Stubborn(self.firings, net.place_count)
        self._start = _state_key(net.initial)
        self._came_from: dict[State, tuple[State, int] | None] = {self._start: None}
        self._bytes = 0
        self.is_cut = False

    @property
    def count(self) -> int:
        """How many states the search has visited."""
        return len(self._came_from)

    def dead_markings(self) -> Iterator[State]:
        """Every reachable marking in which nothing is enabled; if the search is cut at a limit, those visited so far."""
        stubborn = self.stubborn
        frontier = deque([(self._start, stubborn.enabled(self._start))])
        # The second half of the time is for walks.
        until_s = self._limits.time_left_s() / 2
        while frontier:
            state, enabled = frontier.popleft()
            if not enabled:
                yield state
            if self._limits.time_left_s() < until_s:
                self.is_cut = True
                return
            for f in stubborn.choose(state, enabled):
                following = self._after(state, f)
                if following in self._came_from:
                    continue
                if not self._has_room(following, enabled):
                    self.is_cut = True
                    return
                self._came_from[following] = (state, f)
                frontier.append((following, stubborn.enabled_after(following, enabled, f)))

    def _has_room(self, state: State, enabled: list[int]) -> bool:
        """Count a further state; False if that exceeds a limit."""
        size = len(state) if isinstance(state, bytes) else len(state) * _LARGE_COUNT_BYTES
        self._bytes += size + _STATE_OVERHEAD + 8 * len(enabled)
        return self.count < self._limits.states and self._bytes <= self._limits.state_bytes

    def _after(self, state: State, f: int) -> State:
        tokens = list(state)
        for place, change in self.stubborn.effects[f]:
            tokens[place] += change
        return _state_key(tokens)

    def path_to(self, state: State) -> tuple[Firing, ...]:
        """The firings that lead to a visited marking."""
        path = []
        step = self._came_from[state]
        while step is not None:
            path.append(self.firings[step[1]])
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

    def __init__(self, search: StateSearch, initial: list[int], limits: SearchLimits) -> None:
        self._search = search
        self._initial = initial
        self._limits = limits
        self._steps_left = limits.states
        self._number = 1

    def dead_ends(self) -> Iterator[Walk]:
        """The walks that reached a marking in which nothing is enabled, until a limit."""
        enabled = self._search.stubborn.enabled(self._initial)
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
        stubborn, tokens = self._search.stubborn, list(self._initial)
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
        return Walk(tuple(self._search.firings[f] for f in path), tuple(tokens))

    def _choose(self, firings: list[int]) -> int:
        self._steps_left -= 1
        self._number = (self._number * 6364136223846793005 + 1442695040888963407) % 2**64  # Knuth's MMIX
        return firings[(self._number >> 33) % len(firings)]


def _state_key(tokens: list[int]) -> State:
    return bytes(tokens) if max(tokens, default=0) < 256 else tuple(tokens)
