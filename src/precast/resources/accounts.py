"""Users and groups of the local files, read as a whole.

The files are read directly: this takes a millisecond, needs no program, and works below a root. Accounts of a directory service are looked
up one by one, and only on the machine itself.
"""

import contextlib
import grp
import pwd
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from precast.resources import issues_system
from precast.resources.contract import CommandResult, ManagedNode
from precast.resources.files import safe_reads

KIND = "accounts"
_EPOCH = date(1970, 1, 1)
_ENTERING = ("chage", "chpasswd", "gpasswd", "usermod")


class User(NamedTuple):
    name: str
    uid: int
    gid: int
    comment: str
    home: str
    shell: str
    password: str
    min_days: int
    max_days: int
    warn_days: int
    expiry: str | None  # YYYY-MM-DD


class Group(NamedTuple):
    name: str
    gid: int
    members: tuple[str, ...]


class Accounts(NamedTuple):
    users: Mapping[str, User]
    groups: Mapping[str, Group]
    groups_of: Mapping[str, Sequence[str]]  # further groups of each user, in the order of the file


def accounts(node: ManagedNode) -> Accounts:
    """All local accounts now."""
    return node.snapshot(KIND, lambda: _read(node))


def find_user(node: ManagedNode, name: str, is_local: bool) -> User | None:
    """Find a user, also of a directory service unless `is_local`."""
    user = accounts(node).users.get(name)
    if user is not None or is_local or node.root:
        return user
    with contextlib.suppress(KeyError):
        entry = pwd.getpwnam(name)
        return User(
            name, entry.pw_uid, entry.pw_gid, entry.pw_gecos, entry.pw_dir, entry.pw_shell, "*", -1, -1, -1, None
        )
    return None


def find_group(node: ManagedNode, name: str, is_local: bool) -> Group | None:
    group = accounts(node).groups.get(name)
    if group is not None or is_local or node.root:
        return group
    with contextlib.suppress(KeyError):
        entry = grp.getgrnam(name)
        return Group(name, entry.gr_gid, tuple(entry.gr_mem))
    return None


def run_tool(node: ManagedNode, argv: Sequence[str], stdin: bytes = b"") -> CommandResult:
    """Run a program of the shadow suite, on the files of the root. Raises UnavailableError RESOURCE-150 if it fails.

    Programs that create or remove take a prefix; the others enter the root themselves (with a prefix, usermod reads the machine's groups).
    """
    words = list(argv)
    if node.root and not node.is_chroot:
        words[1:1] = ["--root" if argv[0] in _ENTERING else "--prefix", node.root]
    result = node.run(words, stdin=stdin)
    if not result.is_success:
        text = " ".join(result.output.split("\n")).strip()
        raise issues_system.COMMAND_FAILED.error(command=" ".join(words), code=result.exit_code, output=text)
    return result


def _read(node: ManagedNode) -> Accounts:
    shadow = {line[0]: line for line in _lines(node, "/etc/shadow", 8, is_secret=True)}
    users = {
        line[0]: _user(line, shadow.get(line[0])) for line in _lines(node, "/etc/passwd", 7) if line[2].isdecimal()
    }
    groups = {line[0]: _group(line) for line in _lines(node, "/etc/group", 4) if line[2].isdecimal()}
    groups_of: dict[str, list[str]] = defaultdict(list)
    for group in groups.values():
        for member in group.members:
            groups_of[member].append(group.name)
    return Accounts(users, groups, {user: list(dict.fromkeys(names)) for user, names in groups_of.items()})


def _lines(node: ManagedNode, path: str, fields: int, is_secret: bool = False) -> list[list[str]]:
    """The entries of a file without those of a directory service (`+…`); empty if the file does not exist.

    Without root the secret file is unreadable and counts as empty.
    """
    try:
        found = safe_reads.read_file(safe_reads.node_parents(node), path)
    except OSError as error:
        if is_secret and isinstance(error, PermissionError):
            return []
        raise issues_system.UNREADABLE.error(path=path, reason=error.strerror) from None
    text = "" if found is None else found.data.decode(errors="surrogateescape")
    entries = (line.split(":") for line in text.split("\n") if line and line[0] not in "#+-")
    return [entry for entry in entries if len(entry) >= fields]


def _user(line: list[str], shadow: list[str] | None) -> User:
    days = [_number(field) for field in shadow[3:8]] if shadow else [-1] * 5
    expiry = None if days[4] < 0 else (_EPOCH + timedelta(days=days[4])).isoformat()
    password = shadow[1] if shadow else line[1]
    gid = int(line[3]) if line[3].isdecimal() else -1
    return User(line[0], int(line[2]), gid, line[4], line[5], line[6], password, days[0], days[1], days[2], expiry)


def _group(line: list[str]) -> Group:
    return Group(line[0], int(line[2]), tuple(name for name in line[3].strip().split(",") if name))


def _number(field: str) -> int:
    return int(field) if field.isdecimal() else -1
