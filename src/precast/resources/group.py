"""group: a local group. Unlike Puppet's provider for Linux, this one manages the members too."""

from collections.abc import Iterable
from typing import Any, ClassVar

from precast.resources import accounts, properties
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler


class Group(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = ("gid", "members")
    can_be_purged: ClassVar[bool] = True
    locks: ClassVar[tuple[str, ...]] = (accounts.KIND,)
    invalidates: ClassVar[tuple[str, ...] | None] = (accounts.KIND, "owners")

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._may_repeat = properties.read_boolean(resource, "allowdupe")
        self._is_system = properties.read_boolean(resource, "system")
        self._is_whole = properties.read_boolean(resource, "auth_membership")
        self._is_local = properties.read_boolean(resource, "forcelocal")
        # A group with only a name must exist, as in Puppet.
        self.ensure = self.ensure or PRESENT

    def munge(self, name: str, value: Any) -> Any:
        if name == "gid":
            return properties.number(self.resource, "gid")
        return sorted({member for text in properties.as_texts(value) for member in text.split(",") if member})

    def read(self) -> State:
        group = accounts.find_group(self.node, self.name, self._is_local)
        if group is None:
            return {"ensure": ABSENT}
        return {"ensure": PRESENT, "gid": group.gid, "members": sorted(group.members)}

    def is_in_sync(self, name: str, previous: Any, desired: Any) -> bool:
        if name == "members" and not self._is_whole:
            return set(desired) <= set(previous)
        return bool(previous == desired)

    def apply(self, change: Change) -> None:
        if change.property != "ensure":
            self._set(change.property, change.desired)
        elif change.desired == ABSENT:
            accounts.run_tool(self.node, ["groupdel", self.name])
        else:
            self._add()

    def _add(self) -> None:
        argv = ["groupadd"]
        if self.desired.get("gid") is not None:
            argv += ["-g", str(self.desired["gid"])]
        argv += ["-o"] if self._may_repeat else []
        argv += ["-r"] if self._is_system else []
        accounts.run_tool(self.node, [*argv, self.name])
        if self.desired.get("members"):
            self._set("members", self.desired["members"])

    def _set(self, name: str, desired: Any) -> None:
        if name == "gid":
            repeat = ["-o"] if self._may_repeat else []
            accounts.run_tool(self.node, ["groupmod", "-g", str(desired), *repeat, self.name])
            return
        present = accounts.accounts(self.node).groups.get(self.name)
        kept = () if self._is_whole or present is None else present.members
        accounts.run_tool(self.node, ["gpasswd", "-M", ",".join(sorted({*kept, *desired})), self.name])

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        for group in accounts.accounts(node).groups.values():
            yield Instance(group.name, {"ensure": PRESENT, "gid": group.gid, "provider": "groupadd"})
