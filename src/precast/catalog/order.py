"""The order in which a catalog is applied: relationships first, then the order of declaration.

A container (class, define, stage) is two moments, before and after all it contains; whoever waits for it waits for the second. Of
what is ready, the resource declared first comes first. A cycle is found by what never becomes ready. Some of what makes wait also
carries refreshes: notify and subscribe, and containment both ways, so that a class hands on what it gets to all it contains, and what
changes inside to those who subscribe to it.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator

from precast.catalog.body import Body, ResourceData

Moment = tuple[str, str]  # start, end or do; and the reference
RELATIONS = {"before": False, "notify": False, "require": True, "subscribe": True}
REFRESHING = ("notify", "subscribe")


class Order:
    """The graph of one catalog's moments."""

    def __init__(self, body: Body, is_container: Callable[[ResourceData], bool]) -> None:
        # What comes after each moment, and whether a refresh goes along.
        self._after: dict[Moment, dict[Moment, bool]] = {}
        self._waits: dict[Moment, int] = {}
        # Ends of containers that nothing but such ends comes after.
        self._quiet: dict[Moment, bool] = {}
        self._priority: dict[str, int] = {}
        # The first and the last moment of each reference; one and the same if it contains nothing.
        self._starts: dict[str, Moment] = {}
        self._ends: dict[str, Moment] = {}
        self._containers: dict[str, None] = {}
        for index, resource in enumerate(body.resources):
            self._add(resource.ref, index, is_container(resource))
        self._contain(body)

    def _add(self, ref: str, index: int, is_container: bool) -> None:
        start = end = ("do", ref)
        if is_container:
            self._containers[ref] = None
            start, end = ("start", ref), ("end", ref)
        self._priority[ref] = index
        self._starts[ref], self._ends[ref] = start, end
        self._after[start], self._waits[start] = {}, 0
        if is_container:
            self._after[end], self._waits[end] = {}, 0

    def _edge(self, one: Moment, other: Moment, refreshes: bool) -> None:
        if one[0] == "end":
            self._quiet.clear()
        following = self._after[one]
        if other not in following:
            following[other] = refreshes
            self._waits[other] += 1
        elif refreshes:
            following[other] = True

    def _contain(self, body: Body) -> None:
        inhabited = set()
        for edge in body.edges:
            source, target = edge.source, edge.target
            if source in self._containers and target in self._priority:
                inhabited.add(source)
                self._edge(self._starts[source], self._starts[target], True)
                self._edge(self._ends[target], self._ends[source], True)
        for ref in self._containers:
            self._edge(self._starts[ref], self._ends[ref], ref not in inhabited)

    def wait(self, before: str, after: str, refreshes: bool = False) -> None:
        """The second waits for the first; what is not in the catalog waits for nothing."""
        if before in self._priority and after in self._priority:
            self._edge(self._ends[before], self._starts[after], refreshes)

    def moments(self) -> Iterator[Moment]:
        """All moments, as declared."""
        return iter(self._after)

    def needs(self) -> dict[Moment, list[Moment]]:
        """What each moment waits for."""
        found: dict[Moment, list[Moment]] = {moment: [] for moment in self._after}
        for moment, following in self._after.items():
            for after in following:
                found[after].append(moment)
        return found

    def refreshed(self, moment: Moment) -> list[Moment]:
        """What a refresh goes on to from there."""
        return [after for after, refreshes in self._after[moment].items() if refreshes]

    def is_container(self, ref: str) -> bool:
        return ref in self._containers

    def follow(self, before: str, after: str) -> None:
        """As wait, unless the two already wait the other way round: what is said by hand goes before what follows by itself."""
        if before not in self._priority or after not in self._priority:
            return
        end = self._ends[after]
        if self._is_quiet(end) or not self._reaches(end, self._starts[before]):
            self._edge(self._ends[before], self._starts[after], refreshes=False)

    def _is_quiet(self, moment: Moment) -> bool:
        """Whether nothing comes after it but ends of containers: true of nearly all, and found without a search."""
        known = self._quiet.get(moment)
        if known is None:
            known = True
            for after in self._after[moment]:
                if after[0] != "end" or not self._is_quiet(after):
                    known = False
                    break
            if moment[0] == "end":
                self._quiet[moment] = known
        return known

    def _reaches(self, start: Moment, wanted: Moment) -> bool:
        waiting, seen = [start], {start}
        while waiting:
            here = waiting.pop()
            if here == wanted:
                return True
            fresh = [moment for moment in self._after[here] if moment not in seen]
            seen.update(fresh)
            waiting += fresh
        return False

    def resources(self) -> tuple[list[str], list[str]]:
        """What is applied, in order, and one cycle in which each waits for the one before, if there is any."""
        waits = dict(self._waits)
        ready = [(self._priority[moment[1]], moment) for moment, count in waits.items() if count == 0]
        heapq.heapify(ready)
        done: list[str] = []
        while ready:
            _, moment = heapq.heappop(ready)
            if moment[0] == "do":
                done.append(moment[1])
            for following in self._after[moment]:
                waits[following] -= 1
                if waits[following] == 0:
                    heapq.heappush(ready, (self._priority[following[1]], following))
        return done, self._cycle({moment for moment, count in waits.items() if count > 0})

    def _cycle(self, stuck: set[Moment]) -> list[str]:
        """Back from one moment that is stuck to another that holds it up, until one comes again."""
        if not stuck:
            return []
        holders: dict[Moment, Moment] = {}
        for moment in self._after:
            if moment in stuck:
                for following in self._after[moment]:
                    holders.setdefault(following, moment)
        here = min(stuck, key=lambda moment: (self._priority[moment[1]], moment))
        path: dict[Moment, None] = {}
        while here not in path:
            path[here] = None
            here = holders[here]
        moments = list(path)
        refs = [moment[1] for moment in reversed(moments[moments.index(here) :])]
        return [ref for index, ref in enumerate(refs) if index == 0 or ref != refs[index - 1]]


def relations(body: Body) -> Iterable[tuple[str, str, bool]]:
    """Who comes before whom by the relationship parameters, and whether a change refreshes."""
    for resource in body.resources:
        for name, backwards in RELATIONS.items():
            given = resource.parameters.get(name)
            if given is None:
                continue
            refreshes = name in REFRESHING
            for target in given if isinstance(given, list | tuple) else (given,):
                yield (target, resource.ref, refreshes) if backwards else (resource.ref, target, refreshes)
