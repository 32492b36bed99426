"""Reads files that have secrets: only those that their owner alone, and perhaps a group, may read, and nobody else may change."""

import os
import stat
from pathlib import Path


class PrivateFileError(Exception):
    """The reason why a file is not used."""


def read_private(path: Path, most_bytes: int) -> bytes | None:
    """The content of a file; None if there is no such file. Raises PrivateFileError."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PrivateFileError(f"{path}: {error.strerror}") from None
    with os.fdopen(handle, "rb") as file:
        _check(path, os.fstat(handle))
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise PrivateFileError(f"{path} has more than {most_bytes} bytes")
    return data


def is_directory(path: Path) -> bool:
    """Whether there is such a directory. Raises PrivateFileError if other users could add or replace files in it."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise PrivateFileError(f"{path}: {error.strerror}") from None
    if stat.S_ISDIR(found.st_mode):
        _check_owner(path, found)
        return True
    return False


def check_directory(path: Path) -> None:
    """Raises PrivateFileError if other users could add or replace files here."""
    try:
        found = path.stat()
    except OSError as error:
        raise PrivateFileError(f"{path}: {error.strerror}") from None
    _check_owner(path, found)


def _check_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PrivateFileError(f"{path}: other users could change it; it must belong to root or to the server's user")


def _check(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise PrivateFileError(f"{path} is not a file")
    if found.st_uid not in (0, os.geteuid()):
        raise PrivateFileError(f"{path} belongs neither to root nor to the server's user")
    if found.st_mode & (stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP):
        raise PrivateFileError(f"{path}: its mode must be 0600 or 0640, so that other users cannot read it")
