"""Edits small files: they are read and written as a whole, and keep their owner and mode."""

import io
import os
import stat

from precast.resources.contract import ManagedNode
from precast.resources.files import atomic_writes, issues, safe_paths

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def read_content(node: ManagedNode, path: str) -> bytes | None:
    """Read a file; None if it does not exist. A link is followed, as editors do."""
    try:
        handle = os.open(safe_paths.resolve(node.root, path, is_followed=True), _READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(handle, "rb", closefd=True) as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise issues.NO_FILE.error(path=path)
        return file.read()


def replace_content(node: ManagedNode, path: str, data: bytes, new_mode: int | None = None) -> None:
    """Replace the content of a file. A missing file is created with `new_mode`; without it NotFoundError RESOURCE-122 is raised.

    A link stays: its target is replaced, if the link may be followed (see `safe_paths`).
    """
    there = safe_paths.follow_links(node.root, path)
    with safe_paths.open_parent(node.root, there.path) as (directory, name):
        try:
            stat_result = os.lstat(name, dir_fd=directory)
        except FileNotFoundError:
            if new_mode is None or there.answerable is not None:
                raise issues.NO_FILE.error(path=path) from None
            atomic_writes.write(directory, name, io.BytesIO(data), mode=new_mode, uid=-1, gid=-1)
        else:
            if not stat.S_ISREG(stat_result.st_mode):
                raise issues.NO_FILE.error(path=path)
            there.check(stat_result)
            mode = stat.S_IMODE(stat_result.st_mode)
            atomic_writes.write(
                directory, name, io.BytesIO(data), mode=mode, uid=stat_result.st_uid, gid=stat_result.st_gid
            )
    safe_paths.flush_later(node, there.path)
