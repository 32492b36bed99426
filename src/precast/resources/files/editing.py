"""Small files that are changed in part: read whole, written whole, owner and mode as they were."""

import io
import os
import stat

from precast.resources.contract import Node
from precast.resources.files import issues, places, writing

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def content(node: Node, path: str) -> bytes | None:
    """What a file holds; None if there is none. A link is followed, as editors do."""
    try:
        handle = os.open(places.inside(node.root, path, is_followed=True), _READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(handle, "rb", closefd=True) as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise issues.NO_FILE.error(path=path)
        return file.read()


def replace(node: Node, path: str, data: bytes, new_mode: int | None = None) -> None:
    """Put other content in place. A file that is not there is made with `new_mode`, or NotFoundError RESOURCE-122 is raised.

    A link stays: what it leads to is replaced, if it may be followed (see places).
    """
    there = places.end(node.root, path)
    with places.parent(node.root, there.path) as (directory, name):
        try:
            found = os.lstat(name, dir_fd=directory)
        except FileNotFoundError:
            if new_mode is None or there.answerable is not None:
                raise issues.NO_FILE.error(path=path) from None
            writing.write(directory, name, io.BytesIO(data), mode=new_mode, uid=-1, gid=-1)
        else:
            if not stat.S_ISREG(found.st_mode):
                raise issues.NO_FILE.error(path=path)
            there.check(found)
            mode = stat.S_IMODE(found.st_mode)
            writing.write(directory, name, io.BytesIO(data), mode=mode, uid=found.st_uid, gid=found.st_gid)
    places.flush_later(node, there.path)
