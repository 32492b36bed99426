"""Lists the files in a directory that may be used as facts: only those that no other user could have put there.

Their content becomes facts, and some of them are executed, often as root. So each file, its directory and all directories above it must
belong to root or to the user that runs Precast, and neither their group nor all users may write them; a directory above may be sticky, as
/tmp is. A file must be in the directory itself: a link out of it is not followed. Hidden files and backups are ignored.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from precast.agent import issues
from precast.agent.facts.machine import Machine, read_up_to
from precast.base.errors import PrecastError

MAX_FILE_BYTES = 1_000_000

_IGNORED = re.compile(r"\..*|.*~|.*\.(bak|orig|swp|rpmsave|rpmnew|rpmorig|dpkg-\w+|ucf-\w+|py[co])|__pycache__")


class TrustedFile(NamedTuple):
    """A file that may be used. `path` is its path on the machine, `real_path` the one for a system call."""

    path: str
    real_path: str
    is_executable: bool

    def read(self) -> bytes:
        """Read the file. Raises UnavailableError FACT-020, InputError FACT-026."""
        try:
            handle = os.open(self.real_path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            with os.fdopen(handle, "rb", buffering=0):
                if (reason := _distrust_reason(os.fstat(handle))) is not None:
                    raise issues.NOT_TRUSTED.error(path=self.path, reason=reason)
                data = read_up_to(handle, MAX_FILE_BYTES + 1)
        except OSError as error:
            raise issues.UNREADABLE.error(path=self.path, reason=error.strerror or error) from None
        if len(data) > MAX_FILE_BYTES:
            raise issues.TOO_LARGE.error(path=self.path, limit_bytes=MAX_FILE_BYTES)
        return data


def trusted_files(machine: Machine, path: str) -> tuple[list[TrustedFile], list[PrecastError]]:
    """List the files to use, by name, with a warning for each that is not trusted. Both are empty if there is no such directory."""
    try:
        directory = os.path.realpath(machine.resolve(path))
        status = Path(directory).stat()
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except (OSError, ValueError) as error:
        return [], [_unreadable(path, error)]
    if not stat.S_ISDIR(status.st_mode):
        return [], [issues.UNREADABLE.error(path=path, reason="it is not a directory")]
    if (reason := _distrust_reason(status) or _distrust_above(directory)) is not None:
        return [], [issues.NOT_TRUSTED.error(path=path, reason=reason)]
    try:
        names = sorted(entry.name for entry in Path(directory).iterdir())
    except OSError as error:
        return [], [_unreadable(path, error)]
    files: list[TrustedFile] = []
    warnings: list[PrecastError] = []
    for name in names:
        if _IGNORED.fullmatch(name) is None:
            try:
                files += _examine(f"{path}/{name}", directory, name)
            except PrecastError as error:
                warnings.append(error)
    return files, warnings


def _examine(path: str, directory: str, name: str) -> Iterator[TrustedFile]:
    """Yield the file if it is trusted; nothing for a directory or a device. Raises the warning if it is not trusted."""
    real_path = os.path.realpath(f"{directory}/{name}")
    if real_path.rpartition("/")[0] != directory:
        raise issues.LEADS_OUT.error(path=path)
    try:
        status = Path(real_path).lstat()
    except OSError as error:
        raise _unreadable(path, error) from None
    if not stat.S_ISREG(status.st_mode):
        return
    if (reason := _distrust_reason(status)) is not None:
        raise issues.NOT_TRUSTED.error(path=path, reason=reason)
    yield TrustedFile(path, real_path, bool(status.st_mode & 0o111))


def _distrust_reason(status: os.stat_result) -> str | None:
    if status.st_uid not in (0, os.geteuid()):
        return f"it belongs to user {status.st_uid}"
    if status.st_mode & stat.S_IWOTH:
        return "it is world-writable"
    return f"its group {status.st_gid} may write it" if status.st_mode & stat.S_IWGRP else None


def _distrust_above(directory: str) -> str | None:
    """Why another user could replace the directory: one above it is not trusted. In a sticky one only the owner of an entry can."""
    for above in Path(directory).parents:
        status = above.stat()
        is_sticky = status.st_mode & stat.S_ISVTX and status.st_uid in (0, os.geteuid())
        if not is_sticky and (reason := _distrust_reason(status)) is not None:
            return f"{above} is not safe: {reason}"
    return None


def _unreadable(path: str, error: OSError | ValueError) -> PrecastError:
    reason = error.strerror if isinstance(error, OSError) else None
    return issues.UNREADABLE.error(path=path, reason=reason or error)
