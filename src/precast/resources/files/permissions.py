"""Changes owner, group and mode of an existing file in place, and never of another file that a user put there meanwhile.

The file is opened by its last name without following links, and changed through that handle. A file with several names in a directory of
another user may be a hard link to a file that the user does not own: it is not changed.
"""

import contextlib
import os
import stat
from collections.abc import Iterator

from precast.resources.files import safe_reads


@contextlib.contextmanager
def open_entry(root: str, path: str, is_followed: bool) -> Iterator[int]:
    """A handle to the entry at a path, or to the target of a link there, if it is followed."""
    with safe_reads.find_entry(safe_reads.root_parents(root), path, is_followed) as (directory, name, there):
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            entry_stat = os.fstat(handle)
            there.check(entry_stat)
            safe_reads.check_names(path, entry_stat, os.fstat(directory))
            yield handle
        finally:
            os.close(handle)


def change_owner(handle: int, uid: int, gid: int) -> None:
    """Change owner and group of an open entry, also of a link; -1 keeps the current one."""
    # No Python function takes an O_PATH handle; the kernel does not follow a link behind this name of it.
    os.chown(f"/proc/self/fd/{handle}", uid, gid)


def change_mode(handle: int, mode: int) -> None:
    """Change the mode of an open entry; a link has no mode."""
    if not stat.S_ISLNK(os.fstat(handle).st_mode):
        os.chmod(f"/proc/self/fd/{handle}", mode)
