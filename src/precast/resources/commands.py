"""Runs programs for handlers with `base.programs`: in locale C, and inside the root if that is a whole system.

Output is parsed and shown, so the locale is always C. Processes that a program left running (a service it started) live on, except past
the deadline. Of too much output the last part is kept.
"""

import grp
import os
import pwd
from collections.abc import Mapping, Sequence
from pathlib import Path

from precast.base import programs
from precast.resources import issues
from precast.resources.contract import CommandResult

SEARCH_PATH = programs.SEARCH_PATH
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
) -> CommandResult:
    """Run a program to its end. Raises UnavailableError RESOURCE-001 if it cannot be started, RESOURCE-002 after the deadline.

    With `is_chroot` the program, its directory, user and group are those of `root`.
    """
    inside = root if is_chroot else ""
    variables = {**ENVIRONMENT, **(environment or {})}
    program = _require(argv[0], variables["PATH"], inside)
    words = [program, *argv[1:]]
    try:
        if inside:
            words = _chroot_argv(inside, words, directory, user, group)
            identity: _Identity = (None, None, None)
        else:
            identity = _identity(user, group)
        options = programs.StartOptions(
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
        result = programs.run(words, deadline_s, MAX_BYTES, options)
    except TimeoutError:
        raise issues.TOO_SLOW.error(program=argv[0], seconds=deadline_s) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise issues.CANNOT_START.error(program=argv[0], reason=reason) from None
    return CommandResult(result.code, _text(result.out), _text(result.error))


def has_program(program: str, root: str = "", search_path: str = programs.SEARCH_PATH) -> bool:
    """Whether a program exists on a search path (or at its absolute path) of the system at `root`."""
    return _find(program, search_path, root) is not None


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _require(program: str, search_path: str, root: str) -> str:
    path = _find(program, search_path, root)
    if path is None:
        raise issues.CANNOT_START.error(program=program, reason="there is no such program")
    return path


def _find(program: str, search_path: str, root: str) -> str | None:
    """The program's absolute path inside the root. An absolute link is accepted without following it, because its target is in the root."""
    directories = [directory for directory in search_path.split(":") if directory]
    candidates = [program] if "/" in program else [f"{directory}/{program}" for directory in directories]
    return next((candidate for candidate in candidates if os.path.lexists(root + candidate)), None)


_Identity = tuple[int | None, int | None, list[int] | None]


def _identity(user: str | None, group: str | None) -> _Identity:
    """The ids of a user and a group given by name or number, and the user's further groups. Raises ValueError if unknown."""
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


def _chroot_argv(root: str, words: list[str], directory: str | None, user: str | None, group: str | None) -> list[str]:
    """The command line that runs a program inside a root; chroot looks up names of users and groups there."""
    if directory is not None:
        if not Path(f"{root}{directory}").is_dir():
            raise ValueError(f"there is no directory {directory}")
        words = [_require("env", SEARCH_PATH, root), "-C", directory, *words]
    identity = [f"--userspec={user or ''}:{group or ''}"] if user is not None or group is not None else []
    # Found by us: the search path of the command is for the command alone.
    return [_require("chroot", SEARCH_PATH, ""), *identity, root, *words]
