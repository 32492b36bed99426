"""Adds arcs that move one token each and touch no place with a capacity: nearly all, in large nets.

They need no sums of weights, which take most of the time in a net of a hundred thousand transitions. A transition with any other arc is
left to the compiler's general way; both make the same net of the same declaration.
"""

from precast.net.model.declarations import Arcs, Outcome, Transition
from precast.net.model.structure import GROUP, NOBODY, Net


class UnitArcs:
    """Adds the unit arcs of one net."""

    def __init__(self, net: Net) -> None:
        self._net = net
        self._places = net.places_by_name
        self._is_usable = all(place.capacity is None for place in net.declared.places)
        self._tests: dict[int, tuple[int, int]] = {}  # by place: the test for one token, which all readers share

    def add(self, t: int, transition: Transition) -> bool:
        """Add the arcs of a transition. False, having done nothing, if any of them is not a unit arc of a declared place."""
        _, is_step, _, takes, reads, holds, gives, on_failure, on_skip, _, _, _ = transition
        if not self._is_usable or (is_step and on_skip):
            return False
        taken, read, held = self._number(takes, holds), self._number(reads), self._number(holds)
        success = self._number(gives, holds)
        failure = self._number(on_failure, holds) if on_failure else held
        skip = self._number(on_skip, holds) if on_skip else held
        if taken is None or read is None or success is None or failure is None or skip is None:
            return False
        if read and not set(read).isdisjoint(taken):
            return False
        net = self._net
        net.takes[t] = (*net.takes[t], *taken)
        if read:
            net.reads[t] = tuple([self._test(place) for place in read])
        for outcome, places in ((Outcome.SUCCESS, success), (Outcome.FAILURE, failure), (Outcome.SKIPPED, skip)):
            if places:
                net.puts[outcome][t] = (*net.puts[outcome][t], *places)
        for place in (*taken, *read):
            watch_unit(net, t, place)
        return True

    def _number(self, *parts: Arcs) -> tuple[int, ...] | None:
        """The places of arcs; None if any arc is no unit arc, or if two arcs are of the same place."""
        found = []
        for part in parts:
            for name, weight in part:
                place = self._places.get(name)
                if place is None or weight != 1:
                    return None
                found.append(place)
        return tuple(found) if len(found) < 2 or len(set(found)) == len(found) else None

    def _test(self, place: int) -> tuple[int, int]:
        return self._tests.setdefault(place, (place, 1))


def watch_unit(net: Net, t: int, place: int) -> None:
    """Let a transition watch for the first token of a place."""
    if not net.initial[place]:
        net.unmet[t] += 1
    watcher = net.watcher[place]
    if watcher == NOBODY:
        net.watcher[place] = t
    elif watcher >= 0:
        net.watcher[place] = GROUP - len(net.groups)
        net.groups.append([watcher, t])
    else:
        net.groups[GROUP - watcher].append(t)
