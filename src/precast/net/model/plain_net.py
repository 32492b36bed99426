"""The same net as a plain place/transition net: only weighted arcs and tokens, and every firing is atomic.

PNML can express this net, and the deadlock search explores it. A transition becomes one plain transition for each outcome that is part of
the model and differs in effect; a read arc takes and puts back; a capacity is its room place, which the net already has.

Atomic firings lose nothing. Take any run with starts and ends and move every end forward to directly behind its start: ends only add
tokens, so every transition that started before can still start, and the final marking is the same. So both nets have the same markings in
which nothing runs.
"""

from collections import Counter
from typing import NamedTuple

from precast.net.model.declarations import Outcome
from precast.net.model.structure import Net, NumberedArcs


class Firing(NamedTuple):
    """One plain transition: the end of `transition` with `outcome`."""

    transition: int
    outcome: Outcome
    takes: NumberedArcs
    gives: NumberedArcs

    def effect(self) -> dict[int, int]:
        """How many tokens each place gains or loses; places that do not change are left out."""
        change = Counter(dict(self.gives))
        change.subtract(dict(self.takes))
        return {place: count for place, count in change.items() if count}


def list_firings(net: Net) -> list[Firing]:
    """Every plain transition, in the net's order of transitions and outcomes."""
    firings = []
    for t in range(net.transition_count):
        takes = sorted(net.tested(t).items())
        seen: list[NumberedArcs] = []
        for outcome in net.outcomes(t):
            gives = Counter(dict(net.given(t, outcome)))
            for place, count in (*net.reads.get(t, ()), *net.frees.get(t, ())):
                gives[place] += count
            arcs = sorted(gives.items())
            if arcs not in seen:
                seen.append(arcs)
                firings.append(Firing(t, outcome, takes, arcs))
    return firings


def firing_name(net: Net, firing: Firing) -> str:
    """`name`, `name!failure` or `name!skipped`; the skip transition of a step has a name of its own."""
    name = net.transition_name(firing.transition)
    if firing.outcome == Outcome.SUCCESS or net.is_skip(firing.transition):
        return name
    return f"{name}!{firing.outcome.name.lower()}"


def meets_goal(net: Net, tokens: list[int]) -> bool:
    """Whether a marking in which nothing moves any more is a proper end, and not a deadlock.

    Every step must have ended, and the goal must be covered. A net with neither steps nor a goal is not meant to end. A net without
    transitions is always at its end.
    """
    if not net.transition_count:
        return True
    is_meant_to_end = bool(net.goal) or any(place >= 0 for place in net.to_do)
    return (
        is_meant_to_end
        and all(tokens[place] >= wanted for place, wanted in net.goal)
        and not any(place >= 0 and tokens[place] for place in net.to_do)
    )
