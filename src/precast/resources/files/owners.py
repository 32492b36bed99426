"""Names of users and groups, as the node's own files have them; below another root, those of that root.

Each name is looked up once, and again after a change, unless all names come from files that have not changed. A name that was not found is
looked up again the next time, because an earlier resource may have created it.
"""

import contextlib
import grp
import os
import pwd
from collections.abc import Callable

from precast.resources.contract import ManagedNode
from precast.resources.files import issues, safe_reads

SNAPSHOT = "owners"
SWITCH = "/etc/nsswitch.conf"
TABLES = ("/etc/passwd", "/etc/group")
# Name services whose answers change only with a file of TABLES; any other (a directory service) may change its answers at any time.
FROM_FILES = frozenset({"files", "compat", "systemd"})


class Owners:
    def __init__(self, root: str) -> None:
        self._root = root
        self._ids: dict[tuple[str, str | int], int] = {}
        self._names: dict[tuple[str, int], str | int] = {}
        self._stamps = self._stamp() if not root and _are_from_files() else None

    def is_still_valid(self) -> bool:
        """Whether a lookup would give the same results now."""
        return self._stamps is not None and self._stamps == self._stamp()

    def _stamp(self) -> list[tuple[int, ...]] | None:
        try:
            stats = [os.stat(path) for path in (SWITCH, *TABLES)]
        except OSError:
            return None
        return [(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for stat in stats]

    def uid(self, name: str | int) -> int:
        """The id of a user. Raises NotFoundError RESOURCE-107."""
        return self._id("passwd", name)

    def gid(self, name: str | int) -> int:
        """The id of a group. Raises NotFoundError RESOURCE-108."""
        return self._id("group", name)

    def user(self, uid: int) -> str | int:
        """The name of a user, or the number if no user has it."""
        return self._name("passwd", uid)

    def group(self, gid: int) -> str | int:
        return self._name("group", gid)

    def _id(self, table: str, name: str | int) -> int:
        number = self._ids.get((table, name))
        if number is None:
            number = self._ids[table, name] = self._look_up(table, name)
        return number

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
        name = self._names.get((table, number))
        if name is None:
            name = self._names[table, number] = self._look_up_name(table, number)
        return name

    def _look_up_name(self, table: str, number: int) -> str | int:
        if self._root:
            return next((entry for entry, entry_id in self._entries(table) if entry_id == number), number)
        try:
            return pwd.getpwuid(number).pw_name if table == "passwd" else grp.getgrgid(number).gr_name
        except KeyError:
            return number

    def _entries(self, table: str) -> list[tuple[str, int]]:
        try:
            content = safe_reads.read_file(safe_reads.root_parents(self._root), f"/etc/{table}")
        except OSError:
            return []
        text = "" if content is None else content.data.decode(errors="surrogateescape")
        lines = [line.split(":") for line in text.split("\n")]
        return [(parts[0], int(parts[2])) for parts in lines if len(parts) > 2 and parts[2].strip().isdecimal()]


def current(node: ManagedNode) -> Owners:
    """The names of this run, cached while they are valid."""
    take: Callable[[], Owners] = lambda: Owners(node.root)  # noqa: E731
    return node.snapshot(SNAPSHOT, take, Owners.is_still_valid)


def _are_from_files() -> bool:
    """Whether users and groups are looked up only in files."""
    named: set[str] = set()
    with contextlib.suppress(OSError), open(SWITCH, encoding="utf-8", errors="replace") as file:
        for line in file:
            table, _, sources = line.partition("#")[0].partition(":")
            if table.strip() in ("passwd", "group"):
                named |= {word for word in sources.split() if not word.startswith("[")}
    return bool(named) and named <= FROM_FILES
