"""Writes files, directories and links atomically: a run killed at any time leaves the old one or the new one.

New content is written under a temporary name in the same directory, gets its owner and mode, is flushed to the disk and then renamed.
The temporary name is derived from the file's name, so the next run that writes the file removes what a killed run left behind.
Everything is relative to an open directory (see `safe_paths`), which is flushed once, at the end of the run.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable
from typing import BinaryIO

from precast.resources.files import checksums, safe_reads
from precast.resources.files.safe_paths import ParentCache

_NEW_DIRECTORY = 0o755
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def temporary_name(name: str) -> str:
    """The temporary name for `name`; it is short whatever the length of the name."""
    return f".precast-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"


def nothing() -> None:
    """The default for `before`: do nothing."""


def write(
    directory: int,
    name: str,
    content: BinaryIO,
    *,
    mode: int,
    uid: int,
    gid: int,
    check: Callable[[str], None] | None = None,
    before: Callable[[], None] = nothing,
) -> os.stat_result:
    """Write a file, replacing a file or link of that name; -1 keeps the default owner or group. Returns the stat of the new file.

    `check` gets the temporary name before the rename; if it raises, nothing has changed. `before` is called when only the rename is left:
    it may back up or remove the existing entry.
    """
    temporary = temporary_name(name)
    handle = _create(directory, temporary)
    try:
        try:
            while piece := content.read(checksums.PIECE_BYTES):
                _write_all(handle, piece)
            _own(handle, uid, gid)
            os.fchmod(handle, mode)
            made = os.fstat(handle)
            os.fsync(handle)
        finally:
            os.close(handle)
        if check is not None:
            check(temporary)
        before()
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise
    return made


def make_directory(
    directory: int,
    name: str,
    *,
    mode: Callable[[int], int],
    uid: int,
    gid: int,
    before: Callable[[], None] = nothing,
) -> None:
    """Create a directory, which has its owner and mode from the start. Only a file or link of that name may exist.

    `mode` gets the default mode of a directory here: it includes set-gid if the parent directory passes on its group.
    """
    temporary = temporary_name(name)
    remove(directory, temporary)
    os.mkdir(temporary, 0o700, dir_fd=directory)
    try:
        handle = os.open(temporary, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            inherited = stat.S_IMODE(os.fstat(handle).st_mode) & stat.S_ISGID
            _own(handle, uid, gid)
            os.fchmod(handle, mode(_NEW_DIRECTORY | inherited))
        finally:
            os.close(handle)
        before()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)  # a rename does not replace a file by a directory
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.rmdir(temporary, dir_fd=directory)
        raise


def make_directories(parents: ParentCache, path: str, mode: int, owner: tuple[int, int] = (-1, -1)) -> None:
    """Create a directory and its missing parents, unless they exist. Raises as `safe_paths.open_parent` does."""
    if not path.strip("/") or safe_reads.exists(parents, path):
        return
    make_directories(parents, path.rstrip("/").rpartition("/")[0], _NEW_DIRECTORY)
    with parents.opened(path.rstrip("/")) as (directory, name):
        make_directory(directory, name, mode=lambda _: mode, uid=owner[0], gid=owner[1])


def make_link(
    directory: int, name: str, target: str, *, uid: int, gid: int, before: Callable[[], None] = nothing
) -> None:
    """Create a link, replacing a file or link of that name."""
    temporary = temporary_name(name)
    remove(directory, temporary)
    os.symlink(target, temporary, dir_fd=directory)
    try:
        if uid != -1 or gid != -1:
            os.chown(temporary, uid, gid, dir_fd=directory, follow_symlinks=False)
        before()
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


def remove(directory: int, name: str) -> None:
    """Remove the entry of this name: a file, a link, or a directory with its contents. Links in it are removed, not followed."""
    try:
        stat_result = os.lstat(name, dir_fd=directory)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(stat_result.st_mode):
        import shutil  # large, and rarely needed

        shutil.rmtree(name, dir_fd=directory)
    else:
        os.unlink(name, dir_fd=directory)


def _create(directory: int, temporary: str) -> int:
    try:
        return os.open(temporary, _NEW, 0o600, dir_fd=directory)
    except FileExistsError:
        remove(directory, temporary)
        return os.open(temporary, _NEW, 0o600, dir_fd=directory)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _own(handle: int, uid: int, gid: int) -> None:
    """Change owner and group only if they differ: without root only a file's own owner and group can be set."""
    stat_result = os.fstat(handle)
    uid, gid = (-1 if uid == stat_result.st_uid else uid), (-1 if gid == stat_result.st_gid else gid)
    if uid != -1 or gid != -1:
        os.fchown(handle, uid, gid)
