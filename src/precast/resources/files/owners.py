"""Names of users and groups, as the node's own files have them; below another root, those of that root.

Looked up once for each name, and anew after a change, unless all names come from files that are as they were. A name that is not found
is looked up again the next time: a resource before may have made it.
"""

import contextlib
import grp
import os
import pwd
from collections.abc import Callable

from precast.resources.contract import Node
from precast.resources.files import issues, places

SNAPSHOT = "owners"
SWITCH = "/etc/nsswitch.conf"
TABLES = ("/etc/passwd", "/etc/group")
# Where names come from that change only with a file of TABLES; anything else (a directory service) may answer otherwise at any time.
FROM_FILES = frozenset({"files", "compat", "systemd"})


class Owners:
    def __init__(self, root: str) -> None:
        self._root = root
        self._ids: dict[tuple[str, str | int], int] = {}
        self._names: dict[tuple[str, int], str | int] = {}
        self._stamps = self._stamp() if not root and _are_from_files() else None

    def is_still_true(self) -> bool:
        """Whether the same would be found now."""
        return self._stamps is not None and self._stamps == self._stamp()

    def _stamp(self) -> list[tuple[int, ...]] | None:
        try:
            found = [os.stat(path) for path in (SWITCH, *TABLES)]
        except OSError:
            return None
        return [(one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for one in found]

    def uid(self, name: str | int) -> int:
        """Raises NotFoundError RESOURCE-107."""
        return self._id("passwd", name)

    def gid(self, name: str | int) -> int:
        """Raises NotFoundError RESOURCE-108."""
        return self._id("group", name)

    def user(self, uid: int) -> str | int:
        """The name of a user, or the number if nobody has it."""
        return self._name("passwd", uid)

    def group(self, gid: int) -> str | int:
        return self._name("group", gid)

    def _id(self, table: str, name: str | int) -> int:
        found = self._ids.get((table, name))
        if found is None:
            found = self._ids[table, name] = self._look_up(table, name)
        return found

    def _look_up(self, table: str, name: str | int) -> int:
        if isinstance(name, int) or name.isdecimal():
            return int(name)
        if self._root:
            for entry, number in self._entries(table):
                if entry == name:
                    return number
        else:
            try:
                return pwd.getpwnam(name).pw_uid if table == "passwd" else grp.getgrnam(name).gr_gid
            except KeyError:
                pass
        raise (issues.NO_USER if table == "passwd" else issues.NO_GROUP).error(name=name)

    def _name(self, table: str, number: int) -> str | int:
        found = self._names.get((table, number))
        if found is None:
            found = self._names[table, number] = self._look_up_name(table, number)
        return found

    def _look_up_name(self, table: str, number: int) -> str | int:
        if self._root:
            return next((entry for entry, other in self._entries(table) if other == number), number)
        try:
            return pwd.getpwuid(number).pw_name if table == "passwd" else grp.getgrgid(number).gr_name
        except KeyError:
            return number

    def _entries(self, table: str) -> list[tuple[str, int]]:
        try:
            with open(places.inside(self._root, f"/etc/{table}", is_followed=True), encoding="utf-8") as file:
                lines = [line.split(":") for line in file]
        except OSError:
            return []
        return [(parts[0], int(parts[2])) for parts in lines if len(parts) > 2 and parts[2].strip().isdecimal()]


def of(node: Node) -> Owners:
    """This run's names."""
    take: Callable[[], Owners] = lambda: Owners(node.root)  # noqa: E731
    return node.snapshot(SNAPSHOT, take, Owners.is_still_true)


def _are_from_files() -> bool:
    """Whether users and groups are looked up in files alone."""
    named: set[str] = set()
    with contextlib.suppress(OSError), open(SWITCH, encoding="utf-8", errors="replace") as file:
        for line in file:
            table, _, sources = line.partition("#")[0].partition(":")
            if table.strip() in ("passwd", "group"):
                named |= {word for word in sources.split() if not word.startswith("[")}
    return bool(named) and named <= FROM_FILES
