"""sysctl: a kernel parameter in sysctl.conf, with the parameters of the module duritong-sysctl. Other lines keep their form and order."""

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from precast.resources import properties
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler
from precast.resources.text_files import read_lines, replace_entry

FILE = "/etc/sysctl.conf"
_LINE = re.compile(r"(?!\s*(?:#|$))(.*?)\s*=\s*(.*)", re.ASCII)


class Sysctl(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = ("val",)
    can_be_purged: ClassVar[bool] = True
    locks: ClassVar[tuple[str, ...]] = ("sysctl.conf",)
    invalidates: ClassVar[tuple[str, ...] | None] = ("sysctl",)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._target = str(resource.get("target", FILE))
        if not re.fullmatch(r"[^\s=#][^\s=]*", self.name):
            raise properties.invalid_value(resource, "name", self.name, "it is one word")

    def munge(self, name: str, value: Any) -> str:
        text = properties.format_value(value) if isinstance(value, bool) else str(value)
        if "\n" in text:
            raise properties.invalid_value(self.resource, name, value, "it is one line")
        return text

    def read(self) -> State:
        values = _values(self.node, self._target)
        if self.name not in values:
            return {"ensure": ABSENT}
        return {"ensure": PRESENT, "val": values[self.name] or ABSENT}

    def apply(self, change: Change) -> None:
        file = read_lines(self.node, self._target)
        ours = [at for at, line in enumerate(file.lines) if (match := _LINE.fullmatch(line)) and match[1] == self.name]
        is_gone = change.property == "ensure" and change.desired == ABSENT
        line = None if is_gone else f"{self.name}={self.desired.get('val', '')}"
        file.write(self.node, replace_entry(file.lines, ours, line))

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        for name, value in _values(node, FILE).items():
            yield Instance(name, {"ensure": PRESENT, "val": value, "provider": "parsed", "target": FILE})


def _values(node: ManagedNode, target: str) -> dict[str, str]:
    """The values in a file by name; of several lines the last one counts."""
    files: dict[str, dict[str, str]] = {}
    known = node.snapshot("sysctl", lambda: files)
    if target not in known:
        matches = map(_LINE.fullmatch, read_lines(node, target).lines)
        known[target] = {match[1]: match[2] for match in matches if match is not None}
    return known[target]
