"""Changes owner, group and mode of what is there, in place, and never of something else that somebody put there meanwhile.

The thing itself is opened by its last name without following it, and changed through that handle. A file with several names in a
directory of a stranger may be a hard link to a file that is not theirs: it is left alone.
"""

import contextlib
import os
import stat
from collections.abc import Iterator

from precast.resources.files import issues, places


@contextlib.contextmanager
def opened(root: str, path: str, is_followed: bool) -> Iterator[int]:
    """A handle to what is at a path, or where a link there leads, if it is followed."""
    there = places.end(root, path) if is_followed else places.End(path, None)
    with places.parent(root, there.path) as (directory, name):
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            found, holder = os.fstat(handle), os.fstat(directory).st_uid
            there.check(found)
            is_strange = holder not in (0, os.geteuid(), found.st_uid)
            if is_strange and stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
                raise issues.SHARED_FILE.error(path=path, uid=holder)
            yield handle
        finally:
            os.close(handle)


def change_owner(handle: int, uid: int, gid: int) -> None:
    """Of the thing a handle stands for, be it a link; -1 leaves one as it is."""
    # There is no call in Python that takes such a handle itself; this name of it is never followed further.
    os.chown(f"/proc/self/fd/{handle}", uid, gid)


def change_mode(handle: int, mode: int) -> None:
    """Of the thing a handle stands for; a link has none."""
    if not stat.S_ISLNK(os.fstat(handle).st_mode):
        os.chmod(f"/proc/self/fd/{handle}", mode)
