"""What can never happen in a net, found without running it.

Tokens are only ever added here, never taken: a place is *fillable* once a transition that could fire gives to it. That overestimates what
a run can reach, so what is dead here is dead in every run; what is not reported may still be stuck, and the deadlock search is for that.
"""

from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

from precast.net.structure import Net


class Lack(NamedTuple):
    """Why a transition can never start: it wants more of a place than will ever be there."""

    transition: int
    place: int
    wanted: int


class Prospects:
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
        ready = deque(t for t, unmet in enumerate(self._unmet) if not unmet)
        while ready:
            for place in gains(self.net, ready.popleft()):
                if not self.is_fillable[place]:
                    self.is_fillable[place] = 1
                    ready.extend(self._met_by(place))

    def _met_by(self, place: int) -> list[int]:
        """The transitions whose last unmet condition is met now that the place can be filled."""
        net, unmet = self.net, self._unmet
        first = net.initial[place]
        told = [] if first else list(net.watchers(place))
        most = self._capacity.get(place)
        for threshold, t in net.heavy_watch.get(place, ()):
            if first < threshold and (most is None or threshold <= most):
                told.append(t)
        for t in told:
            unmet[t] -= 1
        return [t for t in told if not unmet[t]]

    def can_fire(self, t: int) -> bool:
        return not self._unmet[t]

    def most(self, place: int) -> int | None:
        """More tokens than this the place never has; None if there is no such bound."""
        return self._capacity.get(place) if self.is_fillable[place] else self.net.initial[place]

    def lacks(self, t: int) -> list[Lack]:
        """What t wants and never gets."""
        wanted = self.net.tested(t).items()
        return [Lack(t, p, count) for p, count in wanted if (most := self.most(p)) is not None and most < count]

    def dead(self) -> list[int]:
        """The declared transitions that can never fire."""
        return [t for t in range(len(self.net.declared.transitions)) if self._unmet[t]]


def gains(net: Net, t: int) -> Iterator[int]:
    """The places that some modelled end of t leaves with more tokens than its start found."""
    if t in net.heavy_takes or t in net.frees or any(t in heavy for heavy in net.heavy_puts):
        taken = dict(net.taken(t))
        freed = dict(net.frees.get(t, ()))
        for outcome in net.outcomes(t):
            after = Counter(dict(net.given(t, outcome))) + Counter(freed)
            yield from (p for p, count in after.items() if count > taken.get(p, 0))
    else:
        takes = net.takes[t]
        for outcome in net.outcomes(t):
            yield from (p for p in net.put_on(t, outcome) if p not in takes)
