"""alternatives: the program that a generic name leads to, of those that are registered for it."""

from collections.abc import Iterable, Sequence

from precast.resources import issues_system, properties
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.dpkg_alternatives.database import DATABASE, DpkgHandler, absolute, read_group, target
from precast.resources.files import safe_reads
from precast.resources.properties import ABSENT


class Alternatives(DpkgHandler):
    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self.name = str(resource.get("name", resource.title))
        path = resource.get("path")
        self._path = None if path is None else absolute(resource, "path", path)
        self._mode = properties.one_of(resource, "mode", ("auto", "manual"))

    def read(self) -> State:
        self.check_database()
        group = read_group(self.node, self.name)
        if group is None and self._mode is not None:
            raise issues_system.NOT_OFFERED.error(provider="dpkg", name=f"alternative {self.name}")
        path = None if group is None else target(self.node, self.name)
        return {"path": path or ABSENT, "mode": ABSENT if group is None else group.mode}

    def compare(self, state: State) -> Sequence[Change]:
        wanted = {"path": self._path, "mode": self._mode}
        return tuple(
            properties.make_change(name, state[name], value)
            for name, value in wanted.items()
            if value is not None and state[name] != value
        )

    def apply(self, change: Change) -> None:
        if change.property == "path":
            self.update("--set", self.name, change.desired)
        elif change.desired == "auto":
            self.update("--auto", self.name)
        else:
            self.update("--set", self.name, target(self.node, self.name) or "")

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        for name in safe_reads.list_names(safe_reads.node_parents(node), DATABASE):
            group = read_group(node, name)
            if group is not None:
                yield Instance(name, {"path": target(node, name) or ABSENT, "mode": group.mode})
