"""The order in which a catalog is applied: relationships first, then the order of declaration.

The order is a graph of points. A resource is one point; a container (class, define, stage) is two, before and after all it contains, and a
resource that waits for the container waits for its end. Of the points that are ready, the resource declared first comes first. Points that
never become ready form a cycle. Some edges also carry refreshes: those of notify and subscribe, and containment both ways, so that a class
passes a refresh on to all it contains, and a change inside it to the resources that subscribe to it.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator

from precast.catalog.body import Body, ResourceData

OrderPoint = tuple[str, str]  # "start", "end" or "do", and the reference
RELATIONS = {"before": False, "notify": False, "require": True, "subscribe": True}
REFRESHING = ("notify", "subscribe")


class Order:
    """The graph of the points of one catalog."""

    def __init__(self, body: Body, is_container: Callable[[ResourceData], bool]) -> None:
        # The points after each point, and whether the edge carries refreshes.
        self._after: dict[OrderPoint, dict[OrderPoint, bool]] = {}
        self._waits: dict[OrderPoint, int] = {}
        # Ends of containers, and whether only such ends come after them.
        self._quiet: dict[OrderPoint, bool] = {}
        self._priority: dict[str, int] = {}
        # The first and the last point of each reference; they are the same for a resource that is not a container.
        self._starts: dict[str, OrderPoint] = {}
        self._ends: dict[str, OrderPoint] = {}
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

    def _edge(self, before: OrderPoint, after: OrderPoint, refreshes: bool) -> None:
        if before[0] == "end":
            self._quiet.clear()
        following = self._after[before]
        if after not in following:
            following[after] = refreshes
            self._waits[after] += 1
        elif refreshes:
            following[after] = True

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
        """Let `after` wait for `before`; a reference that the catalog does not have is ignored."""
        if before in self._priority and after in self._priority:
            self._edge(self._ends[before], self._starts[after], refreshes)

    def __contains__(self, ref: str) -> bool:
        return ref in self._priority

    def points(self) -> Iterator[OrderPoint]:
        """All points, in the order of declaration."""
        return iter(self._after)

    def needs(self) -> dict[OrderPoint, list[OrderPoint]]:
        """The points that each point waits for."""
        needs: dict[OrderPoint, list[OrderPoint]] = {point: [] for point in self._after}
        for point, following in self._after.items():
            for after in following:
                needs[after].append(point)
        return needs

    def refreshed(self, point: OrderPoint) -> list[OrderPoint]:
        """The points to which a refresh of this point is passed on."""
        return [after for after, refreshes in self._after[point].items() if refreshes]

    def is_container(self, ref: str) -> bool:
        return ref in self._containers

    def follow(self, before: str, after: str, refreshes: bool = False) -> None:
        """As `wait`, unless the two already wait the other way round: explicit relationships override automatic ones."""
        if before not in self._priority or after not in self._priority:
            return
        end = self._ends[after]
        if self._is_quiet(end) or not self._reaches(end, self._starts[before]):
            self._edge(self._ends[before], self._starts[after], refreshes)

    def _is_quiet(self, point: OrderPoint) -> bool:
        """Whether only ends of containers come after the point: true for nearly all points, and found without a search."""
        known = self._quiet.get(point)
        if known is None:
            known = True
            for after in self._after[point]:
                if after[0] != "end" or not self._is_quiet(after):
                    known = False
                    break
            if point[0] == "end":
                self._quiet[point] = known
        return known

    def _reaches(self, start: OrderPoint, wanted: OrderPoint) -> bool:
        waiting, seen = [start], {start}
        while waiting:
            here = waiting.pop()
            if here == wanted:
                return True
            unseen = [point for point in self._after[here] if point not in seen]
            seen.update(unseen)
            waiting += unseen
        return False

    def resources(self) -> tuple[list[str], list[str]]:
        """The resources in the order in which they are applied, and one cycle in which each waits for the one before, if there is any."""
        waits = dict(self._waits)
        ready = [(self._priority[point[1]], point) for point, count in waits.items() if count == 0]
        heapq.heapify(ready)
        done: list[str] = []
        while ready:
            _, point = heapq.heappop(ready)
            if point[0] == "do":
                done.append(point[1])
            for following in self._after[point]:
                waits[following] -= 1
                if waits[following] == 0:
                    heapq.heappush(ready, (self._priority[following[1]], following))
        return done, self._cycle({point for point, count in waits.items() if count > 0})

    def find_cycle(self) -> list[str]:
        """One cycle in which each resource waits for the one before; empty if there is none."""
        waits = dict(self._waits)
        ready = [point for point, count in waits.items() if count == 0]
        while ready:
            for following in self._after[ready.pop()]:
                waits[following] -= 1
                if waits[following] == 0:
                    ready.append(following)
        return self._cycle({point for point, count in waits.items() if count > 0})

    def _cycle(self, stuck: set[OrderPoint]) -> list[str]:
        """Go back from a stuck point to a stuck point before it, until a point repeats."""
        if not stuck:
            return []
        predecessors: dict[OrderPoint, OrderPoint] = {}
        for point in self._after:
            if point in stuck:
                for following in self._after[point]:
                    predecessors.setdefault(following, point)
        here = min(stuck, key=lambda point: (self._priority[point[1]], point))
        path: dict[OrderPoint, None] = {}
        while here not in path:
            path[here] = None
            here = predecessors[here]
        points = list(path)
        cycle = list(reversed(points[points.index(here) :]))
        # The path begins with the resource that is declared first.
        first = min(range(len(cycle)), key=lambda at: (cycle[at][0] != "do", self._priority[cycle[at][1]]))
        refs = [point[1] for point in (*cycle[first:], *cycle[:first])]
        return [ref for index, ref in enumerate(refs) if index == 0 or ref != refs[index - 1]]


def relations(body: Body) -> Iterable[tuple[str, str, bool]]:
    """Each relationship of the catalog as the reference before, the reference after, and whether a change refreshes."""
    for resource in body.resources:
        for name, backwards in RELATIONS.items():
            given = resource.parameters.get(name)
            if given is None:
                continue
            refreshes = name in REFRESHING
            for target in given if isinstance(given, list | tuple) else (given,):
                yield (target, resource.ref, refreshes) if backwards else (resource.ref, target, refreshes)
