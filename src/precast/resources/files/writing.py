"""Sets files in place so that a run killed at any moment leaves the old one or the new one, never half of either.

New content is written under a temporary name in the same directory, gets its owner and mode, is flushed to the disk and then renamed.
The temporary name follows from the file's own, so what a killed run left behind is swept away by the next that writes there.
Everything is relative to an open directory (see places), which is flushed once, at the end of the run.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable
from typing import BinaryIO

from precast.resources.files import checksums

_NEW_DIRECTORY = 0o755
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def temporary_name(name: str) -> str:
    """Beside `name`, and short whatever its length."""
    return f".precast-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"


def nothing() -> None:
    """What comes before a renaming, unless somebody says otherwise."""


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
    """Put the content in place, replacing a file or link of that name; -1 leaves owner or group as they come. What was made of it.

    `check` is given the temporary name before it is renamed; what it raises leaves everything as it was. `before` is called when only
    the renaming is left: the moment to keep, or remove, what is there.
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
    """A new directory, with its owner and mode from the first moment. Nothing of that name may be there but a file or link.

    `mode` is given the mode a directory has here by itself: where the one above hands its group down, this one does too.
    """
    temporary = temporary_name(name)
    sweep(directory, temporary)
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


def make_link(
    directory: int, name: str, target: str, *, uid: int, gid: int, before: Callable[[], None] = nothing
) -> None:
    """A link, replacing a file or link of that name."""
    temporary = temporary_name(name)
    sweep(directory, temporary)
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


def sweep(directory: int, name: str) -> None:
    """Remove what has this name: a file, a link, or a directory with all it holds. Links in it are removed, not followed."""
    try:
        found = os.lstat(name, dir_fd=directory)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(found.st_mode):
        import shutil  # large, and hardly ever needed

        shutil.rmtree(name, dir_fd=directory)
    else:
        os.unlink(name, dir_fd=directory)


def _create(directory: int, temporary: str) -> int:
    try:
        return os.open(temporary, _NEW, 0o600, dir_fd=directory)
    except FileExistsError:
        sweep(directory, temporary)
        return os.open(temporary, _NEW, 0o600, dir_fd=directory)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _own(handle: int, uid: int, gid: int) -> None:
    """Change what differs: who may not give files away can still keep their own."""
    found = os.fstat(handle)
    uid, gid = (-1 if uid == found.st_uid else uid), (-1 if gid == found.st_gid else gid)
    if uid != -1 or gid != -1:
        os.fchown(handle, uid, gid)
