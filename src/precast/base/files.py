"""Atomic files: written under a temporary name in the same directory, flushed, then renamed."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Replace a file by one that only we may read (0600). A crash leaves the old file or the new one. Raises OSError."""
    _replace(path, data, 0o600)


def write_public(path: Path, data: bytes) -> None:
    """Replace a file of the user and keep its mode; a new file gets the user's default mode."""
    _replace(path, data, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())


def write_owned(path: Path, data: bytes, mode: int, owner: tuple[int, int]) -> None:
    """Replace a file and set its mode and owner (uid, gid). Without root the owner is the current user."""
    _replace(path, data, mode, owner if os.geteuid() == 0 else None)


def make_directories(path: Path) -> None:
    """Create a directory and its missing parents, which only their owner may write (0755), whatever the umask. Raises OSError.

    The names of the new directories are on the disk when this returns.
    """
    for directory in (*reversed(path.parents), path):
        if not directory.is_dir():
            with contextlib.suppress(FileExistsError):  # created meanwhile, or a file: then the next step fails
                directory.mkdir(mode=0o755)
                flush_directory(directory.parent)


def make_private_directory(path: Path) -> None:
    """Create a directory that only its owner may enter (0700), or correct its mode. Missing parents get 0755. Raises OSError.

    The mode of an existing directory is corrected too: another program, or a careless umask, may have created it.
    """
    make_directories(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
        flush_directory(path.parent)
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            os.fchmod(handle, status.st_mode & 0o7700)
    finally:
        os.close(handle)


def _umask() -> int:
    """Read the umask, which is only possible by setting it. A file that another thread creates meanwhile is at most too private."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _replace(path: Path, data: bytes, mode: int, owner: tuple[int, int] | None = None) -> None:
    import tempfile  # imports many modules, which processes that only read files do not need

    handle, name = tempfile.mkstemp(prefix=".precast-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)  # after the owner, because fchown clears set-id bits
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    flush_directory(path.parent)


def rename_flushed(temporary: Path, path: Path) -> None:
    """Flush a temporary file to the disk, then rename it to `path` in the same directory. Raises OSError."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(path)
    flush_directory(path.parent)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """An empty temporary file (0600) for the caller to fill and flush; it is renamed to `path` at the end, and removed on failure.

    Raises FileExistsError if `path` exists by then; the existing file is not changed.
    """
    import tempfile

    handle, name = tempfile.mkstemp(prefix=".precast-", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        os.link(name, path)  # unlike rename, this never replaces a file that was created meanwhile
    finally:
        Path(name).unlink()
    flush_directory(path.parent)


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A temporary directory (0700) for the caller to fill; it is renamed to `path` at the end, and removed on failure.

    Raises FileExistsError if `path` is a non-empty directory by then; the existing directory is not changed.
    """
    import shutil
    import tempfile

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".precast-", dir=path.parent))
    try:
        yield temporary
        flush_directory(temporary)
        try:
            temporary.rename(path)  # replaces an empty directory, and nothing else
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.ENOTDIR):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from error
            raise
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    flush_directory(path.parent)


def flush_directory(path: Path) -> None:
    """Flush the names in a directory to the disk."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
