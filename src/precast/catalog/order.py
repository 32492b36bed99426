"""The order in which a catalog is applied: relationships first, then the order of declaration.

A container (class, define, stage) is two moments, before and after all it contains; whoever waits for it waits for the second. Of
what is ready, the resource declared first comes first. A cycle is found by what never becomes ready.
"""

import heapq
from collections.abc import Callable, Iterable

from precast.catalog.body import Body

Moment = tuple[str, str]  # start, end or do; and the reference
RELATIONS = {"before": False, "notify": False, "require": True, "subscribe": True}


class Order:
    """The graph of one catalog's moments."""

    def __init__(self, body: Body, is_container: Callable[[str], bool]) -> None:
        self._after: dict[Moment, dict[Moment, None]] = {}
        self._waits: dict[Moment, int] = {}
        self._priority: dict[str, int] = {}
        self._containers = {each.ref: None for each in body.resources if is_container(each.type)}
        for index, resource in enumerate(body.resources):
            self._priority[resource.ref] = index
            self._add(self._start(resource.ref))
            self._add(self._end(resource.ref))
        self._contain(body)
        for before, after in relations(body):
            self.wait(before, after)

    def _start(self, ref: str) -> Moment:
        return ("start" if ref in self._containers else "do", ref)

    def _end(self, ref: str) -> Moment:
        return ("end" if ref in self._containers else "do", ref)

    def _add(self, moment: Moment) -> None:
        self._after.setdefault(moment, {})
        self._waits.setdefault(moment, 0)

    def _edge(self, one: Moment, other: Moment) -> None:
        if other not in self._after[one]:
            self._after[one][other] = None
            self._waits[other] += 1

    def _contain(self, body: Body) -> None:
        for ref in self._containers:
            self._edge(("start", ref), ("end", ref))
        for edge in body.edges:
            if edge.source in self._containers and edge.target in self._priority:
                self._edge(("start", edge.source), self._start(edge.target))
                self._edge(self._end(edge.target), ("end", edge.source))

    def wait(self, before: str, after: str) -> None:
        """The second waits for the first; what is not in the catalog waits for nothing."""
        if before in self._priority and after in self._priority:
            self._edge(self._end(before), self._start(after))

    def follow(self, before: str, after: str) -> None:
        """As wait, unless the two already wait the other way round: what is said by hand goes before what follows by itself."""
        if not self._reaches(self._end(after), self._start(before)):
            self.wait(before, after)

    def _reaches(self, start: Moment, wanted: Moment) -> bool:
        if start not in self._after:
            return False
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


def relations(body: Body) -> Iterable[tuple[str, str]]:
    """Who comes before whom, by the relationship parameters."""
    for resource in body.resources:
        for name, backwards in RELATIONS.items():
            given = resource.parameters.get(name)
            if given is None:
                continue
            for target in given if isinstance(given, list | tuple) else (given,):
                yield (target, resource.ref) if backwards else (resource.ref, target)
