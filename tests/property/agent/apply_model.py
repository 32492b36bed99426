"""A sequential run over cells in a few lines, by brute force: no net, no checks ahead, no handlers. What the engine must equal.

Everything is looked for anew at each step: whose turn it is, whom it waits for, what is wanted of it.
"""

from collections.abc import Callable
from typing import Any

from precast.catalog.body import Body, ResourceData
from precast.types.ordering import graph

Moment = tuple[str, str]


class Model:
    """Cells, deeds and how each resource ended."""

    def __init__(self, catalog: Body, cells: dict[str, str], promises: dict[str, str]) -> None:
        self.cells = dict(cells)
        self.deeds: list[str] = []
        self.statuses: dict[str, str] = {}
        self._promises = promises
        self._catalog = catalog
        self._resources = {each.ref: each for each in catalog.resources}
        self._graph = graph(catalog)
        self._needs = self._graph.needs()
        self._places = {ref: index for index, ref in enumerate(self._resources)}
        self._done: set[Moment] = set()
        self._blocked: dict[Moment, str] = {}
        self._refreshes: dict[Moment, int] = {}

    def run(self) -> "Model":
        while moment := self._next():
            self._done.add(moment)
            blamed = [self._blocked[need] for need in self._needs[moment] if need in self._blocked]
            if blamed:
                self._blocked[moment] = "failed" if "failed" in blamed else "waiting"
                if moment[0] == "do":
                    self.statuses[moment[1]] = "skipped" if "failed" in blamed else "waiting"
            elif moment[0] == "do":
                self._turn(moment)
            elif self._refreshes.get(moment):
                self._send(moment, 1)
        return self

    def _next(self) -> Moment | None:
        ready = [
            moment
            for moment, needs in self._needs.items()
            if moment not in self._done and all(need in self._done for need in needs)
        ]
        return min(ready, key=lambda moment: (self._places[moment[1]], moment[0]), default=None)

    def _send(self, moment: Moment, events: int) -> None:
        for target in self._graph.refreshed(moment):
            self._refreshes[target] = self._refreshes.get(target, 0) + events

    def _turn(self, moment: Moment) -> None:
        resource = self._resources[moment[1]]
        value = resource.parameters.get("value")
        if isinstance(value, dict):
            if value["__pvalue"] not in self._promises:
                self.statuses[resource.ref] = self._blocked[moment] = "waiting"
                return
            value = self._promises[value["__pvalue"]]
        events, has_failed = self._tried(lambda: self._bring(resource, value))
        if self._refreshes.get(moment) and resource.type in ("Command", "Locked"):
            # As with Puppet, one that failed is refreshed all the same.
            more, fails_again = self._tried(lambda: self._execute(resource, "refresh"))
            events, has_failed = events + more, has_failed or fails_again
        if has_failed:
            self.statuses[resource.ref] = self._blocked[moment] = "failed"
            return
        self.statuses[resource.ref] = "changed" if events else "unchanged"
        if events:
            self._send(moment, events)

    def _tried(self, work: Callable[[], int]) -> tuple[int, bool]:
        """How many events it makes, and whether it fails."""
        try:
            return work(), False
        except OSError:
            return 0, True

    def _bring(self, resource: ResourceData, value: Any) -> int:
        """Do what is wanted; how many events that makes."""
        given = resource.parameters
        if resource.type == "Message":
            return 1
        if resource.type == "Cell":
            if "fails_if" in given and self._cell(given["fails_if"]) == "bad":
                raise OSError
            return self._set(resource.title, self._cell(given["copies"]) if "copies" in given else value, "set", given)
        if resource.type == "Tree":
            return self._tree(resource, value)
        if given.get("refreshonly") or not self._wants(resource):
            return 0
        return self._execute(resource, "run")

    def _tree(self, resource: ResourceData, value: Any) -> int:
        below = [name for name in sorted(self.cells) if name.startswith(f"{resource.title}/")]
        named = {each.title for each in self._catalog.resources if each.type == "Cell"}
        doomed = [name for name in below if name not in named and self.cells[name] != "absent"]
        grown = 0
        if value is not None and self._cell(resource.title) != value:
            self.deeds.append(f"grow {resource.title}")
            self.cells[resource.title] = value
            grown = 1
        return grown + sum(self._set(name, "absent", "set", {}) for name in doomed)

    def _set(self, name: str, value: Any, deed: str, given: dict[str, Any]) -> int:
        wanted = "absent" if value is None else value
        if self._cell(name) == wanted:
            return 0
        self.deeds.append(f"{deed} {name}={wanted}")
        if given.get("breaks"):
            raise OSError
        self.cells[name] = wanted
        return 1

    def _wants(self, resource: ResourceData) -> bool:
        guard = resource.parameters.get("guard")
        if guard is None:
            return True
        self.deeds.append(f"guard {resource.title}: {guard} is {self._cell(guard)}")
        return bool(self._cell(guard) != resource.parameters.get("unless", "absent"))

    def _execute(self, resource: ResourceData, why: str) -> int:
        self.deeds.append(f"{why} {resource.title}")
        if resource.parameters.get("breaks"):
            raise OSError
        self.cells |= resource.parameters.get("sets", {})
        return 1

    def _cell(self, name: str) -> str:
        return self.cells.get(name, "absent")
