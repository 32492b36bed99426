"""Keys in a user's authorized_keys that no resource declares, for `purge_ssh_keys`."""

from collections.abc import Iterator, Sequence
from typing import Any

from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.properties import ABSENT, PRESENT, as_texts
from precast.resources.ssh_authorized_key import SshAuthorizedKey, parse
from precast.resources.text_files import read_lines


class UndeclaredKey(SshAuthorizedKey):
    """One line to remove. Keys without a comment have no name, so the whole line identifies it."""

    def __init__(self, resource: DesiredResource, node: ManagedNode, line: str) -> None:
        super().__init__(resource, node)
        self._line_to_remove = line
        self._path = str(resource.get("target"))

    def read(self) -> State:
        lines = self._read_file(self._path).lines
        return {"ensure": PRESENT if self._line_to_remove in lines else ABSENT}

    def apply(self, change: Change) -> None:
        file = self._read_file(self._path)
        self._write(file, [line for line in file.lines if line != self._line_to_remove])


def authorized_keys_files(purge: Any, home: str) -> list[str]:
    """The files to search: the default file, or the named files, with the home directory as `~` or `%h`."""
    if str(purge).lower() == "false":
        return []
    named = [f"{home}/.ssh/authorized_keys"] if str(purge).lower() == "true" else as_texts(purge)
    return [path.replace("%h", home).replace("~", home, 1) if path.startswith(("~", "%h")) else path for path in named]


def find_undeclared_keys(user: DesiredResource, node: ManagedNode, paths: Sequence[str]) -> Iterator[Handler]:
    """Handlers that remove the keys in these files that the catalog does not have."""
    declared = node.names("ssh_authorized_key")
    for path in paths:
        unnamed = 0
        for line in read_lines(node, path).lines:
            entry = parse(line)
            if entry is None or entry.name in declared:
                continue
            unnamed += not entry.name
            title = entry.name or f"{path}:unnamed-{unnamed}"
            parameters = {"ensure": ABSENT, "user": str(user.get("name", user.title)), "target": path}
            resource = user._replace(type="ssh_authorized_key", title=title, parameters=parameters)
            yield UndeclaredKey(resource, node, line)
