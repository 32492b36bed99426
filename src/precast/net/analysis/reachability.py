"""What can never happen in a net, found without running it.

The analysis only adds tokens and never takes any: a place is *fillable* once a transition that could fire gives to it. That overestimates
what a run can reach, so a transition that is dead here is dead in every run. A transition that is not reported may still be stuck; the
deadlock search finds those.
"""

from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

from precast.net.model.structure import Net


class Shortage(NamedTuple):
    """Why a transition can never start: it needs more tokens of a place than that place will ever have."""

    transition: int
    place: int
    wanted: int


class Reachability:
    """Which transitions could ever fire, by overestimate, and which places could get tokens beyond their first."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.is_fillable = bytearray(net.place_count)
        self._unmet = list(net.unmet)
        self._capacity = {
            p: place.capacity for p, place in enumerate(net.declared.places) if place.capacity is not None
        }
        self._capacity |= {room: self._capacity[p] for p, room in net.room.items()}
        self._spread()

    def _spread(self) -> None:
        net, unmet, is_fillable, watcher = self.net, self._unmet, self.is_fillable, self.net.watcher
        ready = deque(t for t, count in enumerate(unmet) if not count)
        gains_of = GainedPlaces(net)
        while ready:
            for place in gains_of(ready.popleft()):
                if is_fillable[place]:
                    continue
                is_fillable[place] = 1
                t = watcher[place]
                if t < 0 or net.initial[place] or place in net.heavy_watch:
                    ready.extend(self._met_by(place))
                else:
                    unmet[t] -= 1
                    if not unmet[t]:
                        ready.append(t)

    def _met_by(self, place: int) -> list[int]:
        """The transitions whose last unmet condition is met now that the place can be filled."""
        net, unmet = self.net, self._unmet
        first = net.initial[place]
        watchers = [] if first else list(net.watchers(place))
        most = self._capacity.get(place)
        for threshold, t in net.heavy_watch.get(place, ()):
            if first < threshold and (most is None or threshold <= most):
                watchers.append(t)
        for t in watchers:
            unmet[t] -= 1
        return [t for t in watchers if not unmet[t]]

    def most(self, place: int) -> int | None:
        """The most tokens that the place can ever have; None if there is no bound."""
        return self._capacity.get(place) if self.is_fillable[place] else self.net.initial[place]

    def lacks(self, t: int) -> list[Shortage]:
        """The places that never get the tokens that t needs."""
        wanted = self.net.tested(t).items()
        return [Shortage(t, p, count) for p, count in wanted if (most := self.most(p)) is not None and most < count]

    def dead(self) -> list[int]:
        """The declared transitions that can never fire."""
        return [t for t in range(len(self.net.declared.transitions)) if self._unmet[t]]


class GainedPlaces:
    """The places that have more tokens after a transition than before it, for at least one of its modelled outcomes."""

    def __init__(self, net: Net) -> None:
        self._net = net
        self._with_arcs = set(net.with_arcs)
        self._declared = len(net.declared.transitions)

    def __call__(self, t: int) -> list[int]:
        net = self._net
        step = t if t < self._declared else net.step_of(t)
        if step in self._with_arcs:
            return list(dict.fromkeys(self._by_arcs(t)))
        filled, first, need_to, blocked = net.puts[0][step], net.first_need, net.need_to, net.blocked
        blocks = [blocked[need_to[place - first]] for place in filled]
        return blocks if t != step else [*filled, *blocks]

    def _by_arcs(self, t: int) -> Iterator[int]:
        net = self._net
        taken = dict(net.taken(t))
        freed = Counter(dict(net.frees.get(t, ())))
        for outcome in net.outcomes(t):
            after = Counter(dict(net.given(t, outcome))) + freed
            yield from (place for place, count in after.items() if count > taken.get(place, 0))
