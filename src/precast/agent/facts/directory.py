"""Files that people put into a directory, read only if nobody else could have put them there.

What they say becomes facts, and some of them are run, often as root. So the directory and each file must belong to root or to who runs
us, be writable by no one else in the world, and lie in the directory itself: a link out of it is not followed. Names of backups and hidden
files are passed over.
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

_PASSED_OVER = re.compile(r"\..*|.*~|.*\.(bak|orig|swp|rpmsave|rpmnew|rpmorig|dpkg-\w+|ucf-\w+|py[co])|__pycache__")


class TrustedFile(NamedTuple):
    """A file that may be used. `path` is what a person calls it, `place` where it is."""

    path: str
    place: str
    is_executable: bool

    def read(self) -> bytes:
        """Its content. Raises UnavailableError FACT-020, InputError FACT-026."""
        try:
            handle = os.open(self.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            with os.fdopen(handle, "rb", buffering=0):
                data = read_up_to(handle, MAX_FILE_BYTES + 1)
        except OSError as error:
            raise issues.UNREADABLE.error(path=self.path, reason=error.strerror or error) from None
        if len(data) > MAX_FILE_BYTES:
            raise issues.TOO_LARGE.error(path=self.path, limit_bytes=MAX_FILE_BYTES)
        return data


def trusted_files(machine: Machine, path: str) -> tuple[list[TrustedFile], list[PrecastError]]:
    """The files to use, by name, and a warning for each that is left out. None of either if there is no such directory."""
    try:
        place = os.path.realpath(machine.place(path))
        found = Path(place).stat()
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except (OSError, ValueError) as error:
        return [], [_unreadable(path, error)]
    if not stat.S_ISDIR(found.st_mode):
        return [], [issues.UNREADABLE.error(path=path, reason="it is no directory")]
    if (reason := _distrust(found)) is not None:
        return [], [issues.NOT_TRUSTED.error(path=path, reason=reason)]
    try:
        names = sorted(entry.name for entry in Path(place).iterdir())
    except OSError as error:
        return [], [_unreadable(path, error)]
    files: list[TrustedFile] = []
    warnings: list[PrecastError] = []
    for name in names:
        if _PASSED_OVER.fullmatch(name) is None:
            try:
                files += _examined(f"{path}/{name}", place, name)
            except PrecastError as error:
                warnings.append(error)
    return files, warnings


def _examined(path: str, directory: str, name: str) -> Iterator[TrustedFile]:
    """The file, if it may be used; nothing for a directory or a device. Raises the warning if it may not."""
    place = os.path.realpath(f"{directory}/{name}")
    if place.rpartition("/")[0] != directory:
        raise issues.LEADS_OUT.error(path=path)
    try:
        found = Path(place).lstat()
    except OSError as error:
        raise _unreadable(path, error) from None
    if not stat.S_ISREG(found.st_mode):
        return
    if (reason := _distrust(found)) is not None:
        raise issues.NOT_TRUSTED.error(path=path, reason=reason)
    yield TrustedFile(path, place, bool(found.st_mode & 0o111))


def _distrust(found: os.stat_result) -> str | None:
    if found.st_uid not in (0, os.geteuid()):
        return f"it belongs to user {found.st_uid}"
    return "everybody may write it" if found.st_mode & stat.S_IWOTH else None


def _unreadable(path: str, error: OSError | ValueError) -> PrecastError:
    reason = error.strerror if isinstance(error, OSError) else None
    return issues.UNREADABLE.error(path=path, reason=reason or error)
