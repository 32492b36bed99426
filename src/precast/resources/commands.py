"""Runs programs for handlers: argv only, a deadline, locale C, and inside the root if that is a whole system.

Messages are parsed and shown, so the locale is always C. What a program left running (a service it started) lives on; past the deadline
nothing of it does. Of endless output the last part is kept.
"""

import grp
import os
import pwd
from collections.abc import Mapping, Sequence
from pathlib import Path

from precast.base import commands
from precast.resources import issues
from precast.resources.contract import Completed

SEARCH_PATH = commands.SEARCH_PATH
ENVIRONMENT: Mapping[str, str] = {"PATH": SEARCH_PATH, "LANG": "C", "LC_ALL": "C"}
MAX_BYTES = 16 << 20


def run(
    argv: Sequence[str],
    *,
    root: str = "",
    is_chroot: bool = False,
    deadline_s: float | None = 300.0,
    environment: Mapping[str, str] | None = None,
    directory: str | None = None,
    user: str | None = None,
    group: str | None = None,
    umask: int | None = None,
    stdin: bytes = b"",
    is_split: bool = False,
) -> Completed:
    """Run to the end. Raises UnavailableError RESOURCE-001 if it cannot be started, RESOURCE-002 after the deadline.

    With `is_chroot` the program is one of `root`, and so are its directory, user and group.
    """
    inside = root if is_chroot else ""
    variables = {**ENVIRONMENT, **(environment or {})}
    program = _found(argv[0], variables["PATH"], inside)
    words = [program, *argv[1:]]
    try:
        if inside:
            words = _entering(inside, words, directory, user, group)
            identity: _Identity = (None, None, None)
        else:
            identity = _identity(user, group)
        start = commands.Start(
            environment=variables,
            directory="/" if inside else directory or "/",
            user=identity[0],
            group=identity[1],
            groups=identity[2],
            umask=-1 if umask is None else umask,
            stdin=stdin,
            is_joined=not is_split,
            keeps_children=True,
            keeps_last=True,
            max_error_bytes=MAX_BYTES,
        )
        ended = commands.run(words, deadline_s, MAX_BYTES, start)
    except TimeoutError:
        raise issues.TOO_SLOW.error(program=argv[0], seconds=deadline_s) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise issues.CANNOT_START.error(program=argv[0], reason=reason) from None
    return Completed(ended.code, _text(ended.out), _text(ended.error))


def is_there(program: str, root: str = "", search_path: str = commands.SEARCH_PATH) -> bool:
    """Whether a program can be found on a search path (or at its absolute place) of the system at `root`."""
    return _find(program, search_path, root) is not None


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _found(program: str, search_path: str, root: str) -> str:
    found = _find(program, search_path, root)
    if found is None:
        raise issues.CANNOT_START.error(program=program, reason="there is no such program")
    return found


def _find(program: str, search_path: str, root: str) -> str | None:
    """Its absolute path inside the root. Links there may be absolute, and then lead elsewhere from out here: they count."""
    candidates = [program] if "/" in program else [f"{place}/{program}" for place in search_path.split(":") if place]
    return next((each for each in candidates if os.path.lexists(root + each)), None)


_Identity = tuple[int | None, int | None, list[int] | None]


def _identity(user: str | None, group: str | None) -> _Identity:
    """Numbers of a user and a group given by name or number, with the user's further groups. Raises ValueError if unknown."""
    if user is None and group is None:
        return None, None, None
    account = None if user is None else _account(user)
    group_id = _group_id(group) if group is not None else account.pw_gid if account else None
    groups = os.getgrouplist(account.pw_name, account.pw_gid) if account else None
    return account.pw_uid if account else None, group_id, groups


def _account(user: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
    except KeyError:
        raise ValueError(f"there is no user {user}") from None


def _group_id(group: str) -> int:
    try:
        return int(group) if group.isdecimal() else grp.getgrnam(group).gr_gid
    except KeyError:
        raise ValueError(f"there is no group {group}") from None


def _entering(root: str, words: list[str], directory: str | None, user: str | None, group: str | None) -> list[str]:
    """The command line that does it inside a root: names are looked up there."""
    if directory is not None:
        if not Path(f"{root}{directory}").is_dir():
            raise ValueError(f"there is no directory {directory}")
        words = ["env", "-C", directory, *words]
    who = [f"--userspec={user or ''}:{group or ''}"] if user is not None or group is not None else []
    return ["chroot", *who, root, *words]
