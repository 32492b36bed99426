"""alternative_entry: a program that a generic name may lead to, with its priority."""

import re
from typing import Any, ClassVar

from precast.resources import issues, properties
from precast.resources.contract import Change, DesiredResource, ManagedNode, State
from precast.resources.dpkg_alternatives.database import NAME, DpkgHandler, absolute, read_group
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler


class AlternativeEntry(DpkgHandler, PropertyHandler):
    order: ClassVar[tuple[str, ...]] = ("altname", "priority")

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        absolute(resource, "name", self.name)
        for name in ("altlink", "altname"):
            if resource.get(name) is None:
                raise issues.MISSING_VALUE.error(name=name, reason="an entry belongs to one", type="alternative_entry")
        self._link = absolute(resource, "altlink", resource.get("altlink"))
        self._altname = str(resource.get("altname"))
        if not NAME.fullmatch(self._altname):
            raise properties.invalid_value(resource, "altname", self._altname, "it is one word without a slash")
        if self.ensure == PRESENT and "priority" not in self.desired:
            raise issues.MISSING_VALUE.error(name="priority", reason="an entry has one", type="alternative_entry")

    def munge(self, name: str, value: Any) -> Any:
        if name == "priority" and not re.fullmatch(r"[+-]?[0-9]+", str(value)):
            raise properties.invalid_value(self.resource, name, value, "it is a whole number")
        return value

    def read(self) -> State:
        self.check_database()
        group = read_group(self.node, self._altname)
        if group is None or self.name not in group.priorities:
            return {"ensure": ABSENT}
        if group.link != self._link:
            return {"ensure": PRESENT}
        return {"ensure": PRESENT, "altname": self._altname, "priority": group.priorities[self.name]}

    def is_in_sync(self, name: str, previous: Any, desired: Any) -> bool:
        return str(previous) == str(desired)

    def apply(self, change: Change) -> None:
        if change.property != "ensure" or change.desired == ABSENT:
            self.update("--remove", self._altname, self.name)
        if change.desired != ABSENT:
            self.update("--install", self._link, self._altname, self.name, str(self.desired["priority"]))
