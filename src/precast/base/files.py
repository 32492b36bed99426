"""Files that are whole or not there: written beside their place, flushed, then named."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Replace a file by one that only we may read (0600). A crash leaves the old one or the new one. Raises OSError."""
    _replace(path, data, 0o600)


def write_public(path: Path, data: bytes) -> None:
    """The same for a file of the user's: with the mode that it has, or that the user's new files have."""
    _replace(path, data, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())


def write_owned(path: Path, data: bytes, mode: int, owner: tuple[int, int]) -> None:
    """The same with a mode and an owner (uid, gid) of its own; who is not root can only give it to himself."""
    _replace(path, data, mode, owner if os.geteuid() == 0 else None)


def _umask() -> int:
    """There is no other way to read it than to set it. Files that another thread makes at this moment are too private at most."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _replace(path: Path, data: bytes, mode: int, owner: tuple[int, int] | None = None) -> None:
    import tempfile  # brings much along, and whoever only reads has no need of it

    handle, name = tempfile.mkstemp(prefix=".precast-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)  # after the owner: that takes set-id bits away
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _flush_directory(path.parent)


def name_flushed(beside: Path, path: Path) -> None:
    """Give a file that lies beside its place its name, when all of it is on the disk. Raises OSError."""
    with beside.open("rb") as file:
        os.fsync(file.fileno())
    beside.replace(path)
    _flush_directory(path.parent)


@contextlib.contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """An empty file (0600) beside `path` to be filled and flushed; it gets its name at the end, and is removed if that fails.

    Raises FileExistsError if there is something of that name by then, which stays as it is.
    """
    import tempfile

    handle, name = tempfile.mkstemp(prefix=".precast-", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        os.link(name, path)  # unlike rename, this never replaces a file that came into being meanwhile
    finally:
        Path(name).unlink()
    _flush_directory(path.parent)


@contextlib.contextmanager
def appearing_directory(path: Path) -> Iterator[Path]:
    """A directory (0700) beside `path` to be filled; it gets its name, whole, at the end, and is removed if that fails.

    Raises FileExistsError if there is something in a directory of that name by then, which stays as it is.
    """
    import shutil
    import tempfile

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=".precast-", dir=path.parent))
    try:
        yield beside
        _flush_directory(beside)
        try:
            beside.rename(path)  # replaces an empty directory, and nothing else
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.ENOTDIR):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from error
            raise
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    _flush_directory(path.parent)


def _flush_directory(path: Path) -> None:
    """A name is on the disk when its directory is."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
