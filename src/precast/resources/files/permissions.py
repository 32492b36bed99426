"""Changes owner, group and mode of an existing file in place, and never of another file that a user put there meanwhile.

The file is opened by its last name without following links, and changed through that handle. A file with several names in a directory of
another user may be a hard link to a file that the user does not own: it is not changed.
"""

import contextlib
import os
import stat
from collections.abc import Iterator

from precast.resources.files import issues, safe_paths


@contextlib.contextmanager
def open_entry(root: str, path: str, is_followed: bool) -> Iterator[int]:
    """A handle to the entry at a path, or to the target of a link there, if it is followed."""
    there = safe_paths.follow_links(root, path) if is_followed else safe_paths.LinkTarget(path, None)
    with safe_paths.open_parent(root, there.path) as (directory, name):
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            entry_stat, directory_uid = os.fstat(handle), os.fstat(directory).st_uid
            there.check(entry_stat)
            is_foreign = directory_uid not in (0, os.geteuid(), entry_stat.st_uid)
            if is_foreign and stat.S_ISREG(entry_stat.st_mode) and entry_stat.st_nlink > 1:
                raise issues.SHARED_FILE.error(path=path, uid=directory_uid)
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
