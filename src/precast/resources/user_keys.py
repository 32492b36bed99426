"""Keys in a user's authorized_keys that no resource declares: what `purge_ssh_keys` removes."""

from collections.abc import Iterator, Sequence
from typing import Any

from precast.resources.contract import Change, Handler, Node, State, Wanted
from precast.resources.lines import join_lines, read_text, split_lines
from precast.resources.properties import ABSENT, PRESENT, listed
from precast.resources.ssh_authorized_key import SshAuthorizedKey, parse


class UndeclaredKey(SshAuthorizedKey):
    """One line that is to go. Keys without a comment have no name, so it is known by all of its text."""

    def __init__(self, wanted: Wanted, node: Node, line: str) -> None:
        super().__init__(wanted, node)
        self._line_to_go = line
        self._path = str(wanted.get("target"))

    def read(self) -> State:
        lines = split_lines(read_text(self.node, self._path))
        return {"ensure": PRESENT if self._line_to_go in lines else ABSENT}

    def apply(self, change: Change) -> None:
        lines = split_lines(read_text(self.node, self._path))
        self._write(self._path, join_lines([line for line in lines if line != self._line_to_go]))


def files_of(purge: Any, home: str) -> list[str]:
    """Where to look: the usual file, or those that are named, with the home directory as `~` or `%h`."""
    if str(purge).lower() == "false":
        return []
    named = [f"{home}/.ssh/authorized_keys"] if str(purge).lower() == "true" else listed(purge)
    return [path.replace("%h", home).replace("~", home, 1) if path.startswith(("~", "%h")) else path for path in named]


def undeclared(user: Wanted, node: Node, paths: Sequence[str]) -> Iterator[Handler]:
    """The keys in these files that the catalog does not have."""
    declared = node.names("ssh_authorized_key")
    for path in paths:
        unnamed = 0
        for line in split_lines(read_text(node, path)):
            entry = parse(line)
            if entry is None or entry.name in declared:
                continue
            unnamed += not entry.name
            title = entry.name or f"{path}:unnamed-{unnamed}"
            parameters = {"ensure": ABSENT, "user": str(user.get("name", user.title)), "target": path}
            wanted = user._replace(type="ssh_authorized_key", title=title, parameters=parameters)
            yield UndeclaredKey(wanted, node, line)
