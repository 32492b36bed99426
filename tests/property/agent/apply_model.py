"""A model of a sequential run over cells, by brute force: no net, no checks ahead, no handlers. The engine must equal it.

Each step computes everything again: which resource is next, what it depends on, and which value it should have.
"""

from collections.abc import Callable
from typing import Any

from precast.catalog.body import Body, ResourceData
from precast.types.ordering import graph

OrderPoint = tuple[str, str]


class Model:
    """The cells, the operations on them, and the status of each resource."""

    def __init__(self, catalog: Body, cells: dict[str, str], promises: dict[str, str]) -> None:
        self.cells = dict(cells)
        self.operations: list[str] = []
        self.statuses: dict[str, str] = {}
        self._promises = promises
        self._catalog = catalog
        self._resources = {resource.ref: resource for resource in catalog.resources}
        self._graph = graph(catalog)
        self._needs = self._graph.needs()
        self._places = {ref: index for index, ref in enumerate(self._resources)}
        self._done: set[OrderPoint] = set()
        self._blocked: dict[OrderPoint, str] = {}
        self._refreshes: dict[OrderPoint, int] = {}

    def run(self) -> "Model":
        while point := self._next():
            self._done.add(point)
            causes = [self._blocked[need] for need in self._needs[point] if need in self._blocked]
            if causes:
                self._blocked[point] = "failed" if "failed" in causes else "waiting"
                if point[0] == "do":
                    self.statuses[point[1]] = "skipped" if "failed" in causes else "waiting"
            elif point[0] == "do":
                self._apply(point)
            elif self._refreshes.get(point):
                self._send(point, 1)
        return self

    def _next(self) -> OrderPoint | None:
        ready = [
            point
            for point, needs in self._needs.items()
            if point not in self._done and all(need in self._done for need in needs)
        ]
        return min(ready, key=lambda point: (self._places[point[1]], point[0]), default=None)

    def _send(self, point: OrderPoint, events: int) -> None:
        for target in self._graph.refreshed(point):
            self._refreshes[target] = self._refreshes.get(target, 0) + events

    def _apply(self, point: OrderPoint) -> None:
        resource = self._resources[point[1]]
        value = resource.parameters.get("value")
        if isinstance(value, dict):
            if value["__pvalue"] not in self._promises:
                self.statuses[resource.ref] = self._blocked[point] = "waiting"
                return
            value = self._promises[value["__pvalue"]]
        events, has_failed = self._attempt(lambda: self._converge(resource, value))
        if self._refreshes.get(point) and resource.type in ("Command", "Locked"):
            # As with Puppet, a resource that failed is refreshed all the same.
            more, has_failed_again = self._attempt(lambda: self._execute(resource, "refresh"))
            events, has_failed = events + more, has_failed or has_failed_again
        if has_failed:
            self.statuses[resource.ref] = self._blocked[point] = "failed"
            return
        self.statuses[resource.ref] = "changed" if events else "unchanged"
        if events:
            self._send(point, events)

    def _attempt(self, work: Callable[[], int]) -> tuple[int, bool]:
        """Return how many events the work makes, and whether it fails."""
        try:
            return work(), False
        except OSError:
            return 0, True

    def _converge(self, resource: ResourceData, value: Any) -> int:
        """Bring a resource to its desired state. Returns how many events that makes."""
        given = resource.parameters
        if resource.type == "Message":
            return 1
        if resource.type == "Cell":
            if "fails_if" in given and self._cell(given["fails_if"]) == "bad":
                raise OSError
            return self._set(resource.title, self._cell(given["copies"]) if "copies" in given else value, "set", given)
        if resource.type == "Tree":
            return self._tree(resource, value)
        if given.get("refreshonly") or not self._is_wanted(resource):
            return 0
        return self._execute(resource, "run")

    def _tree(self, resource: ResourceData, value: Any) -> int:
        below = [name for name in sorted(self.cells) if name.startswith(f"{resource.title}/")]
        named = {resource.title for resource in self._catalog.resources if resource.type == "Cell"}
        purged = [name for name in below if name not in named and self.cells[name] != "absent"]
        grown = 0
        if value is not None and self._cell(resource.title) != value:
            self.operations.append(f"grow {resource.title}")
            self.cells[resource.title] = value
            grown = 1
        return grown + sum(self._set(name, "absent", "set", {}) for name in purged)

    def _set(self, name: str, value: Any, operation: str, given: dict[str, Any]) -> int:
        desired = "absent" if value is None else value
        if self._cell(name) == desired:
            return 0
        self.operations.append(f"{operation} {name}={desired}")
        if given.get("breaks"):
            raise OSError
        self.cells[name] = desired
        return 1

    def _is_wanted(self, resource: ResourceData) -> bool:
        guard = resource.parameters.get("guard")
        if guard is None:
            return True
        self.operations.append(f"guard {resource.title}: {guard} is {self._cell(guard)}")
        return bool(self._cell(guard) != resource.parameters.get("unless", "absent"))

    def _execute(self, resource: ResourceData, why: str) -> int:
        self.operations.append(f"{why} {resource.title}")
        if resource.parameters.get("breaks"):
            raise OSError
        self.cells |= resource.parameters.get("sets", {})
        return 1

    def _cell(self, name: str) -> str:
        return self.cells.get(name, "absent")
