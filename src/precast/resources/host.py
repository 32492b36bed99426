"""host: a line in /etc/hosts. Other lines keep their form and order."""

import ipaddress
import re
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from precast.resources import issues, properties
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler
from precast.resources.text_files import read_lines

FILE = "/etc/hosts"
_NAME = re.compile(r"[^\s#]+")


class Entry(NamedTuple):
    ip: str
    name: str
    aliases: list[str]
    comment: str


def parse(line: str) -> Entry | None:
    """The entry on a line; None for a line without one."""
    text, _, comment = line.partition("#")
    fields = text.split()
    return Entry(fields[0], fields[1], fields[2:], comment.strip()) if len(fields) > 1 else None


class Host(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = ("ip", "host_aliases", "comment")
    can_be_purged: ClassVar[bool] = True
    locks: ClassVar[tuple[str, ...]] = ("host",)
    invalidates: ClassVar[tuple[str, ...] | None] = ("host",)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._target = str(resource.get("target", FILE))
        if not _NAME.fullmatch(self.name):
            raise properties.invalid_value(resource, "name", self.name, "it is one word")
        if self.ensure == PRESENT and "ip" not in self.desired:
            raise issues.MISSING_VALUE.error(name="ip", reason="a host has an address", type="host")

    def munge(self, name: str, value: Any) -> Any:
        if name == "host_aliases":
            return self._aliases(value)
        text = str(value)
        if name == "ip":
            try:
                ipaddress.ip_address(text)
            except ValueError:
                raise properties.invalid_value(self.resource, name, value, "it is an IPv4 or IPv6 address") from None
        elif "\n" in text:
            raise properties.invalid_value(self.resource, name, value, "it is one line")
        return text

    def _aliases(self, value: Any) -> Any:
        names = [name for name in properties.as_texts(value) if name]
        for name in names:
            if not _NAME.fullmatch(name):
                raise properties.invalid_value(self.resource, "host_aliases", name, "each is one word")
        return ABSENT if names in ([], [ABSENT]) else names

    def read(self) -> State:
        entry = _entries(self.node, self._target).get(self.name)
        return {"ensure": ABSENT} if entry is None else _properties(entry)

    def change(self, name: str, previous: Any, desired: Any) -> Change:
        if name != "host_aliases":
            return super().change(name, previous, desired)
        text = properties.change_message(
            name, _join_aliases(previous), f"'{_join_aliases(desired)}'", previous == ABSENT, desired == ABSENT
        )
        return Change(name, previous, desired, text)

    def apply(self, change: Change) -> None:
        file = read_lines(self.node, self._target)
        lines = file.lines
        ours = [at for at, line in enumerate(lines) if (entry := parse(line)) is not None and entry.name == self.name]
        if change.property == "ensure" and change.desired == ABSENT:
            lines = [line for at, line in enumerate(lines) if at not in ours]
        elif not ours:
            lines.append(self._line(None))
        else:  # of several lines with the name the last one is used
            lines[ours[-1]] = self._line(parse(lines[ours[-1]]))
        file.write(self.node, lines)

    def _line(self, present: Entry | None) -> str:
        """The desired line; properties that are not managed keep their current values."""
        state = {} if present is None else _properties(present)
        ip, aliases, comment = (self.desired.get(name, state.get(name, ABSENT)) for name in self.order)
        parts = [ip, self.name]
        parts += [" ".join(aliases)] if aliases != ABSENT else []
        parts += [f"# {comment}"] if comment not in (ABSENT, "") else []
        return "\t".join(parts)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        for entry in _entries(node, FILE).values():
            present = {name: value for name, value in _properties(entry).items() if value not in (ABSENT, "")}
            yield Instance(entry.name, {**present, "provider": "parsed", "target": FILE})


def _entries(node: ManagedNode, target: str) -> dict[str, Entry]:
    """The entries of a file by name."""
    files: dict[str, dict[str, Entry]] = {}
    known = node.snapshot("host", lambda: files)
    if target not in known:
        lines = read_lines(node, target).lines
        known[target] = {entry.name: entry for line in lines if (entry := parse(line)) is not None}
    return known[target]


def _properties(entry: Entry) -> dict[str, Any]:
    aliases = entry.aliases or ABSENT
    return {"ensure": PRESENT, "ip": entry.ip, "host_aliases": aliases, "comment": entry.comment}


def _join_aliases(aliases: Any) -> str:
    return str(aliases) if isinstance(aliases, str) else " ".join(aliases)
