"""mailalias: a line in the mail system's aliases. Other lines keep their form and order."""

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from precast.resources import issues, properties
from precast.resources.contract import Change, DesiredResource, Instance, ManagedNode, State
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler
from precast.resources.text_files import read_lines, replace_entry

FILE = "/etc/aliases"
# Commas outside of double quotes.
_COMMA = re.compile(r'\s*,\s*(?=(?:[^"]*"[^"]*")*[^"]*$)')
_PLAIN = re.compile(r"[-+\w@.]*", re.ASCII)


class Entry(dict[str, Any]):
    """The properties of one line, and the name of its alias."""

    name: str


def parse(line: str) -> Entry | None:
    """The entry on a line; None for a comment, a blank line, or a line that is none."""
    name, colon, rest = line.partition(":")
    if not colon or line.startswith("#"):
        return None
    entry = Entry(ensure=PRESENT, recipient=ABSENT, file=ABSENT)
    entry.name = name.strip()
    parts = rest.split(":", 2)
    if len(parts) == 3 and parts[1].strip() == "include":
        entry["file"] = parts[2].strip()
    else:
        entry["recipient"] = [_unquote(text) for text in _COMMA.split(rest.strip())]
    return entry


def _unquote(text: str) -> str:
    return re.sub(r"^['\"]|['\"]$", "", text)


class Mailalias(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = ("recipient", "file")
    can_be_purged: ClassVar[bool] = True
    locks: ClassVar[tuple[str, ...]] = ("mailalias",)
    invalidates: ClassVar[tuple[str, ...] | None] = ("mailalias",)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._target = str(resource.get("target", FILE))
        if "\n" in self.name or ":" in self.name or not self.name.strip():
            raise properties.invalid_value(resource, "name", self.name, "it is a word without a colon")
        if "recipient" in self.desired and "file" in self.desired:
            raise properties.invalid_value(resource, "file", self.desired["file"], "there are recipients already")
        if self.ensure == PRESENT and not self.desired:
            reason = "an alias has recipients, or a file with them"
            raise issues.MISSING_VALUE.error(name="recipient", reason=reason, type="mailalias")

    def munge(self, name: str, value: Any) -> Any:
        texts = properties.as_texts(value)
        for text in texts:
            if "\n" in text or '"' in text:
                raise properties.invalid_value(self.resource, name, value, "it is one line without quotes")
        if name == "recipient":
            return texts
        if not texts[0].startswith("/"):
            raise properties.invalid_value(self.resource, name, value, "it is an absolute path")
        return texts[0]

    def read(self) -> State:
        entry = _entries(self.node, self._target).get(self.name)
        return {"ensure": ABSENT} if entry is None else entry

    def apply(self, change: Change) -> None:
        file = read_lines(self.node, self._target)
        ours = [
            at for at, line in enumerate(file.lines) if (entry := parse(line)) is not None and entry.name == self.name
        ]
        is_gone = change.property == "ensure" and change.desired == ABSENT
        file.write(self.node, replace_entry(file.lines, ours, None if is_gone else self._line()))

    def _line(self) -> str:
        if "file" in self.desired:
            return f"{self.name}: :include: {self.desired['file']}"
        recipients = (text if _PLAIN.fullmatch(text) else f'"{text}"' for text in self.desired["recipient"])
        return f"{self.name}: {','.join(recipients)}"

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        for entry in _entries(node, FILE).values():
            present = {name: value for name, value in entry.items() if value != ABSENT}
            yield Instance(entry.name, {**present, "provider": "aliases", "target": FILE})


def _entries(node: ManagedNode, target: str) -> dict[str, Entry]:
    """The entries of a file by name."""
    files: dict[str, dict[str, Entry]] = {}
    known = node.snapshot("mailalias", lambda: files)
    if target not in known:
        lines = read_lines(node, target).lines
        known[target] = {entry.name: entry for line in lines if (entry := parse(line)) is not None}
    return known[target]
