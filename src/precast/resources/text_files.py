"""System files with a syntax of their own, read and written as text.

Only the lines of a managed entry change; all others keep their bytes. Writing is atomic: a new file replaces the old one and gets its
owner and mode. Where it cannot be replaced (a container mounts /etc/hosts as a file) it is written in place.
"""

import contextlib
import errno
import os
from pathlib import Path

from precast.base import files
from precast.resources import issues_system
from precast.resources.contract import ManagedNode


def read_text(node: ManagedNode, path: str) -> str:
    """The file's text, empty if the file does not exist; bytes that are not UTF-8 survive a later write."""
    try:
        return Path(node.path(path)).read_bytes().decode(errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise issues_system.UNREADABLE.error(path=path, reason=error.strerror) from None


def write_text(node: ManagedNode, path: str, text: str, mode: int = 0o644, owner: tuple[int, int] = (0, 0)) -> None:
    """Replace the file; mode and owner (as uid and gid) apply only to a new file. Raises OSError."""
    place = Path(os.path.realpath(node.path(path))) if not node.root else Path(node.path(path))
    data = text.encode(errors="surrogateescape")
    with contextlib.suppress(FileNotFoundError):
        existing = place.stat()
        mode, owner = existing.st_mode & 0o7777, (existing.st_uid, existing.st_gid)
    try:
        files.write_owned(place, data, mode, owner)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV):
            raise
        place.write_bytes(data)


def split_lines(text: str) -> list[str]:
    """The lines without their ends; the end of the last one may be missing."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def join_lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
