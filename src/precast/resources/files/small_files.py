"""Edits small files: they are read and written as a whole, and keep their owner and mode.

The owner and mode are those of the file that was read, not of the file that is there when it is written: the owner of its directory may
have put another file there meanwhile, to get the content of the first.
"""

import errno
import io
import os
import stat

from precast.resources.contract import ManagedNode
from precast.resources.files import atomic_writes, issues, safe_paths, safe_reads
from precast.resources.files.safe_reads import FileContent


def read_content(node: ManagedNode, path: str) -> FileContent | None:
    """Read a file; None if it does not exist. A link at its end is followed if it may be (see `safe_paths`)."""
    return safe_reads.read_file(safe_reads.node_parents(node), path)


def replace_content(
    node: ManagedNode,
    path: str,
    data: bytes,
    former: FileContent | None,
    new_mode: int | None = None,
    new_owner: tuple[int, int] = (-1, -1),
) -> None:
    """Replace the content of a file; `former` is the file as it was read. A link that may be followed stays: its target is replaced.

    A missing file is created with `new_mode` and `new_owner`; without a mode NotFoundError RESOURCE-122 is raised.
    """
    parents = safe_reads.node_parents(node)
    with safe_reads.find_entry(parents, path, is_followed=True) as (directory, name, there):
        try:
            present: os.stat_result | None = os.lstat(name, dir_fd=directory)
        except FileNotFoundError:
            present = None
        if present is not None:
            there.check(present)
            if not stat.S_ISREG(present.st_mode):
                raise issues.NO_FILE.error(path=path)
        if former is None and (new_mode is None or there.answerable is not None):
            raise issues.NO_FILE.error(path=path)
        mode, owner = (new_mode or 0, new_owner) if former is None else (former.mode, former.owner)
        try:
            atomic_writes.write(directory, name, io.BytesIO(data), mode=mode, uid=owner[0], gid=owner[1])
        except OSError as error:
            if error.errno != errno.EBUSY or former is None:
                raise
            _write_in_place(directory, name, path, data, former)  # a container mounts the file itself
    safe_paths.flush_later(node, there.path)


def remove_file(node: ManagedNode, path: str) -> None:
    """Remove a file, or the link at its path. Raises as `safe_paths.open_parent` does; a file that does not exist is removed already."""
    with safe_paths.parent_cache(node).opened(path) as (directory, name):
        atomic_writes.remove(directory, name)
    safe_paths.flush_later(node, path)


def _write_in_place(directory: int, name: str, path: str, data: bytes, former: FileContent) -> None:
    """Write into the file itself. Raises NotFoundError RESOURCE-122 if it is not the file that was read."""
    handle = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    with os.fdopen(handle, "wb") as file:
        if not os.path.samestat(os.fstat(handle), former.status):
            raise issues.NO_FILE.error(path=path)
        file.truncate(0)
        file.write(data)
        file.flush()
        os.fsync(handle)
