"""sshkey: a host's public key in the list that all users of the machine trust."""

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from precast.resources import issues, properties
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler
from precast.resources.ssh_authorized_key import ALIASES
from precast.resources.text_files import read_lines

FILE = "/etc/ssh/ssh_known_hosts"


class Entry(NamedTuple):
    names: list[str]
    type: str
    key: str


def parse(line: str) -> Entry | None:
    """The entry on a line; None for comments, and for lines with a marker (@cert-authority), which are never managed."""
    fields = line.split()
    if len(fields) < 3 or fields[0].startswith(("#", "@")):
        return None
    return Entry(fields[0].split(","), fields[1], fields[2])


class Sshkey(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = ("key", "host_aliases")
    can_be_purged: ClassVar[bool] = True
    locks: ClassVar[tuple[str, ...]] = ("sshkey",)
    invalidates: ClassVar[tuple[str, ...] | None] = ()

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        name, _, kind = resource.title.partition("@")
        self.name = str(resource.get("name", name))
        kind = str(resource.get("type", kind or "ssh-rsa"))
        self._type = ALIASES.get(kind, kind)
        self._target = str(resource.get("target", FILE))
        if any(sign in self.name for sign in ", \t\n"):
            raise properties.invalid_value(resource, "name", self.name, "it is one word; other names are host_aliases")

    def munge(self, name: str, value: Any) -> Any:
        if name == "key":
            return "".join(str(value).split())
        names = [name for name in properties.as_texts(value) if name]
        return ABSENT if names in ([], [ABSENT]) else names

    def _is_own_line(self, line: str) -> bool:
        entry = parse(line)
        return entry is not None and entry.names[0] == self.name and entry.type == self._type

    def read(self) -> State:
        lines = read_lines(self.node, self._target).lines
        entry = next((parse(line) for line in lines if self._is_own_line(line)), None)
        return {"ensure": ABSENT} if entry is None else _properties(entry)

    def apply(self, change: Change) -> None:
        file = read_lines(self.node, self._target)
        lines = file.lines
        ours = [at for at, line in enumerate(lines) if self._is_own_line(line)]
        if change.property == "ensure" and change.desired == ABSENT:
            lines = [line for at, line in enumerate(lines) if at not in ours]
        elif not ours:
            lines.append(self._line(None))
        else:
            lines[ours[0]] = self._line(parse(lines[ours[0]]))
        file.write(self.node, lines)

    def _line(self, present: Entry | None) -> str:
        state = {} if present is None else _properties(present)
        key, aliases = (self.desired.get(name, state.get(name, ABSENT)) for name in self.order)
        if key == ABSENT:
            raise issues.MISSING_VALUE.error(name="key", reason="it is what the line says", type="sshkey")
        return f"{','.join([self.name, *([] if aliases == ABSENT else aliases)])} {self._type} {key}"

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        for line in read_lines(node, FILE).lines:
            entry = parse(line)
            if entry is not None:
                present = {key: value for key, value in _properties(entry).items() if value != ABSENT}
                more = {"name": entry.names[0], "provider": "parsed", "target": FILE, "type": entry.type}
                yield Instance(f"{entry.names[0]}@{entry.type}", {**present, **more})


def _properties(entry: Entry) -> dict[str, Any]:
    return {"ensure": PRESENT, "key": entry.key, "host_aliases": entry.names[1:] or ABSENT}
