"""Reads managed files, and never a file that another user put in their place.

A run as root that reads in a directory of another user could be made to read any file of the machine, and to show it in a report or to
write it into a file of that user. So the directory is reached as for writing (see `safe_paths`), the entry is opened without following a
link, and only a regular file is read: a pipe or a device would block or have side effects. A file with several names in a directory that
other users can write is not read, because one of them may have linked a file that belongs to another user. Nor is a file that the owner of
its directory could not read: they may have renamed it. Every read has a limit.
"""

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterator
from typing import Final, NamedTuple

from precast.base.errors import NotFoundError
from precast.resources.contract import ManagedNode
from precast.resources.files import issues
from precast.resources.files.safe_paths import LinkTarget, OpenParent, ParentCache, follow_links, parent_cache, resolve

MAX_BYTES: Final = 64 << 20  # of a file that is read as a whole
MAX_STREAM_BYTES: Final = 16 << 30  # of a file that is read in pieces
MAX_ENTRIES: Final = 1_000_000
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


class FileContent(NamedTuple):
    """A file as it was read: its data, its status, and that of its directory."""

    data: bytes
    status: os.stat_result
    directory: os.stat_result

    @property
    def owner(self) -> tuple[int, int]:
        return self.status.st_uid, self.status.st_gid

    @property
    def mode(self) -> int:
        return stat.S_IMODE(self.status.st_mode)

    def check_may_get(self, path: str, uid: int) -> None:
        """Raises DeniedError RESOURCE-126 if this content must not be put into a file of the user `uid`.

        In a directory that several users can write, another user may have renamed it into place.
        """
        if is_writable_by_others(self.directory) and self.status.st_uid != uid and not self.mode & stat.S_IROTH:
            raise issues.FOREIGN_FILE.error(path=path, owner=self.status.st_uid, uid=uid)


def is_readable_by_owner(status: os.stat_result, directory: os.stat_result) -> bool:
    """Whether the owner of a directory may read a file in it, which they may have renamed into place."""
    if directory.st_uid in (0, os.geteuid(), status.st_uid) or status.st_mode & stat.S_IROTH:
        return True
    return bool(status.st_gid == directory.st_gid and status.st_mode & stat.S_IRGRP)


def is_writable_by_others(directory: os.stat_result) -> bool:
    """Whether users other than its owner can create names in a directory; the group of root is trusted."""
    mode = directory.st_mode
    return bool(mode & stat.S_IWOTH or (mode & stat.S_IWGRP and directory.st_gid != 0))


def check_names(path: str, status: os.stat_result, directory: os.stat_result) -> None:
    """Raises DeniedError RESOURCE-117 for a file with several names if another user than its owner may have created one of them here."""
    if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
        return
    if directory.st_uid not in (0, os.geteuid(), status.st_uid) or is_writable_by_others(directory):
        raise issues.SHARED_FILE.error(path=path, uid=directory.st_uid)


def find_distrust(parents: ParentCache, path: str) -> str | None:
    """Why another user than root (or the user who runs us) can change what is at a path, or replace it; None if no other user can.

    A directory in which every user can create files is no danger to what lies in it if only the owner of an entry can rename it. A link on
    the way counts with the directories above it, and with those above the place that it leads to.
    """
    real = resolve(parents.root, path)[len(parents.root) :] if parents.root else os.path.realpath(path or "/")
    return _find_distrust_above(parents, path) or _find_distrust_above(parents, real)


def _find_distrust_above(parents: ParentCache, path: str) -> str | None:
    trusted = (0, os.geteuid())
    while True:
        status = find_status(parents, path or "/", is_followed=True)
        if status is not None and status.st_uid not in trusted:
            return f"{path or '/'} belongs to user {status.st_uid}"
        if status is not None and is_writable_by_others(status) and not status.st_mode & stat.S_ISVTX:
            return f"{path or '/'} can be written by other users"
        if not path.strip("/"):
            return None
        path = path.rstrip("/").rpartition("/")[0]


class FoundEntry:
    """The open directory and the name of an entry, and the links that led to it, for the time of a `with` block."""

    __slots__ = ("_parent", "_there")

    def __init__(self, parent: OpenParent, there: LinkTarget) -> None:
        self._parent = parent
        self._there = there

    def __enter__(self) -> tuple[int, str, LinkTarget]:
        return self._parent.directory, self._parent.name, self._there

    def __exit__(self, *_: object) -> None:
        self._parent.close()


def find_entry(parents: ParentCache, path: str, is_followed: bool) -> FoundEntry:
    """Find the entry at a path, or the target of the links there. Raises as `safe_paths.open_parent` and `follow_links` do."""
    there = follow_links(parents, path) if is_followed else LinkTarget(path, None)
    return FoundEntry(parents.opened(there.path), there)


def find_status(parents: ParentCache, path: str, is_followed: bool = False) -> os.stat_result | None:
    """The status of the entry at a path; None if there is none. Raises DeniedError RESOURCE-109 for an untrusted link."""
    try:
        with find_entry(parents, path, is_followed) as (directory, name, there):
            status = os.lstat(name, dir_fd=directory)
    except NotFoundError:
        return None
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
    there.check(status)
    return status


def exists(parents: ParentCache, path: str) -> bool:
    """Whether a path leads to something. Raises DeniedError RESOURCE-109 for an untrusted link."""
    return find_status(parents, path, is_followed=True) is not None


def is_directory(parents: ParentCache, path: str) -> bool:
    status = find_status(parents, path, is_followed=True)
    return status is not None and stat.S_ISDIR(status.st_mode)


def open_at(directory: int, name: str, path: str, seen: os.stat_result | None = None) -> tuple[int, os.stat_result]:
    """Open a regular file in an open directory; the caller closes the handle. `seen` is its status, if the caller knows it.

    Raises OSError, NotFoundError RESOURCE-122 if it is not a regular file, DeniedError RESOURCE-117 for a hard link that another user may
    have created.
    """
    if not stat.S_ISREG((seen or os.lstat(name, dir_fd=directory)).st_mode):
        raise issues.NO_FILE.error(path=path)  # opening a device may have side effects
    handle = os.open(name, _READ, dir_fd=directory)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise issues.NO_FILE.error(path=path)
        if status.st_nlink > 1:
            check_names(path, status, os.fstat(directory))
    except BaseException:
        os.close(handle)
        raise
    return handle, status


@contextlib.contextmanager
def open_file(parents: ParentCache, path: str, is_followed: bool) -> Iterator[tuple[int, os.stat_result]]:
    """A handle to the regular file at a path, and its status.

    Raises as `open_at` and `find_entry` do, DeniedError RESOURCE-126 if the owner of its directory could not read the file.
    """
    with find_entry(parents, path, is_followed) as (directory, name, there):
        handle, status = open_at(directory, name, path)
        try:
            there.check(status)
            _check_reader(path, status, os.fstat(directory))
            yield handle, status
        finally:
            os.close(handle)


def _check_reader(path: str, status: os.stat_result, directory: os.stat_result) -> None:
    if not is_readable_by_owner(status, directory):
        raise issues.FOREIGN_FILE.error(path=path, owner=status.st_uid, uid=directory.st_uid)


class BoundedFile(io.FileIO):
    """A file that is read in pieces. Raises InputError RESOURCE-127 if it has, or grows to, more than the limit."""

    def __init__(self, handle: int, path: str, max_bytes: int = MAX_STREAM_BYTES) -> None:
        super().__init__(handle, "rb")
        self._path = path
        self._left = self._max_bytes = max_bytes
        if os.fstat(handle).st_size > max_bytes:  # a sparse file of any size costs its owner nothing
            self.close()
            raise issues.TOO_LARGE.error(path=path, limit_bytes=max_bytes)

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return read_handle(self.fileno(), self._path, MAX_BYTES)
        data = super().read(size) or b""
        self._left -= len(data)
        if self._left < 0:
            raise issues.TOO_LARGE.error(path=self._path, limit_bytes=self._max_bytes)
        return data


def open_stream(parents: ParentCache, path: str, is_followed: bool) -> BoundedFile:
    """Open a file to read it in pieces; the caller closes it. Raises as `open_file` does."""
    with open_file(parents, path, is_followed) as (handle, _):
        return BoundedFile(os.dup(handle), path)


def read_file(
    parents: ParentCache, path: str, *, is_followed: bool = True, max_bytes: int = MAX_BYTES
) -> FileContent | None:
    """Read a file as a whole; None if it does not exist. Raises as `open_file` does, InputError RESOURCE-127 if it is too large."""
    try:
        with find_entry(parents, path, is_followed) as (directory, name, there):
            handle, status = open_at(directory, name, path)
            try:
                there.check(status)
                parent = os.fstat(directory)
                _check_reader(path, status, parent)
                return FileContent(read_handle(handle, path, max_bytes), status, parent)
            finally:
                os.close(handle)
    except NotFoundError as error:
        if issues.NO_PARENT.matches(error):
            return None
        raise
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise


def read_handle(handle: int, path: str, max_bytes: int) -> bytes:
    """Read an open file to its end; files of /proc tell no size. Raises InputError RESOURCE-127 if it is too large."""
    pieces: list[bytes] = []
    left = max_bytes
    while piece := os.read(handle, min(left + 1, 1 << 20)):
        left -= len(piece)
        if left < 0:
            raise issues.TOO_LARGE.error(path=path, limit_bytes=max_bytes)
        pieces.append(piece)
    return b"".join(pieces)


def list_names(parents: ParentCache, path: str, is_followed: bool = True) -> list[str]:
    """The names in a directory, sorted; empty if there is no directory. Raises DeniedError RESOURCE-109, InputError RESOURCE-115."""
    try:
        with find_entry(parents, path, is_followed) as (directory, name, there):
            handle = os.open(name, _LIST, dir_fd=directory)
            try:
                there.check(os.fstat(handle))
                return list_handle(handle, path)
            finally:
                os.close(handle)
    except NotFoundError:
        return []
    except OSError as error:
        if error.errno in _ABSENT:
            return []
        raise


def list_handle(handle: int, path: str) -> list[str]:
    """The names in an open directory, sorted."""
    names: list[str] = []
    with os.scandir(handle) as entries:
        for entry in entries:
            names.append(entry.name)
            if len(names) > MAX_ENTRIES:
                raise issues.TOO_MANY_FILES.error(path=path, count=len(names), limit=MAX_ENTRIES)
    return sorted(names)


def node_parents(node: ManagedNode) -> ParentCache:
    """The open directories of this run."""
    return parent_cache(node)


def root_parents(root: str) -> ParentCache:
    """Directories below a root that are reached for a single read."""
    return ParentCache("" if root == "/" else root, max_cached=0)
