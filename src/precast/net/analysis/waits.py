"""Explains which transitions wait for which others, and through which place, in any marking: during a run or in a deadlock."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from precast.net.analysis.reachability import GainedPlaces
from precast.net.model.structure import Net


class Wait(NamedTuple):
    """One reason why a transition cannot start now.

    `on` are the transitions it waits for: those that run and hold the tokens, or else all that could give them.
    """

    transition: int
    place: int
    has: int
    wants: int
    on: tuple[int, ...]


class WaitGraph:
    """The waits in one marking. `running` are the transitions that hold tokens now."""

    def __init__(self, net: Net, tokens: Sequence[int], running: Collection[int] = ()) -> None:
        self._net = net
        self._tokens = tokens
        self._running = running
        givers: dict[int, dict[int, None]] = {}
        gains_of = GainedPlaces(net)
        for t in range(net.transition_count):
            for place in gains_of(t):
                givers.setdefault(place, {})[net.step_of(t)] = None
        self._givers = {place: (found, tuple(found)) for place, found in givers.items()}

    def waiting_transitions(self) -> list[int]:
        """The declared transitions that have not ended, do not run and cannot start; of steps only those still to do."""
        net, tokens = self._net, self._tokens
        return [
            t
            for t, to_do in enumerate(net.to_do)
            if (to_do < 0 or tokens[to_do]) and t not in self._running and self.reasons(t)
        ]

    def reasons(self, t: int) -> list[Wait]:
        """Every place that has fewer tokens than t needs to start."""
        return [
            Wait(t, place, self._tokens[place], wants, self._awaited(place, t))
            for place, wants in self._net.tested(t).items()
            if self._tokens[place] < wants
        ]

    def _awaited(self, place: int, t: int) -> tuple[int, ...]:
        holders = tuple(running for running in self._running if any(p == place for p, _ in self._net.taken(running)))
        if holders or place not in self._givers:
            return holders
        found, givers = self._givers[
            place
        ]  # shared by all that wait there: in a large net there are too many for a copy each
        return tuple(giver for giver in givers if giver != t) if t in found else givers

    def chain(self, t: int) -> list[Wait]:
        """Follow the first reason of each transition, from t to one that runs, can start, or waits for one already in the chain."""
        waits: list[Wait] = []
        seen: set[int] = set()
        while t not in seen and t not in self._running and (reasons := self.reasons(t)):
            seen.add(t)
            waits.append(reasons[0])
            if not reasons[0].on:
                break
            t = reasons[0].on[0]
        return waits

    def sentence(self, wait: Wait) -> str:
        """A wait in words."""
        net = self._net
        name, place = net.transition_name(wait.transition), net.place_name(wait.place)
        on = ", ".join(net.transition_name(awaited) for awaited in wait.on[:3]) + (" …" if len(wait.on) > 3 else "")
        count = f"{wait.has} of {wait.wants}" if wait.wants > 1 else "no token"
        return f"{name} waits for {on or 'nobody, as nothing gives it,'} through {place} ({count} there)"
