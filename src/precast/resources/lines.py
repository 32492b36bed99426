"""Files of the system that have a form of their own, read and written as text.

Only the lines of a managed entry are touched; all others keep their bytes. Writing is all or nothing: a new file takes the old one's
name, owner and mode. Where the name cannot be taken (a container mounts /etc/hosts as a file) it is written in place.
"""

import contextlib
import errno
import os
from pathlib import Path

from precast.base import files
from precast.resources import issues_system
from precast.resources.contract import Node


def read_text(node: Node, path: str) -> str:
    """The file's text, empty if there is none; bytes that are no UTF-8 come back as they were when it is written."""
    try:
        return Path(node.path(path)).read_bytes().decode(errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise issues_system.UNREADABLE.error(path=path, reason=error.strerror) from None


def write_text(node: Node, path: str, text: str, mode: int = 0o644, owner: tuple[int, int] = (0, 0)) -> None:
    """Replace the file; mode and owner (as uid and gid) are for one that is new. Raises OSError."""
    place = Path(os.path.realpath(node.path(path))) if not node.root else Path(node.path(path))
    data = text.encode(errors="surrogateescape")
    with contextlib.suppress(FileNotFoundError):
        found = place.stat()
        mode, owner = found.st_mode & 0o7777, (found.st_uid, found.st_gid)
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
