"""Reads and writes the files that are named on a command line. `-` is standard input or output.

An output file is either complete or unchanged: it is written under another name in the same directory, synced, and renamed.
"""

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from precast.base.errors import PrecastError
from precast.base.files import write_private, write_public
from precast.base.spans import Source, visible
from precast.cli import issues
from precast.cli.console.output import OutputFailed

LIMIT_BYTES = 64 * 1024 * 1024
SECRET_BYTES = 64 * 1024
# The rights of the group and of everybody else.
OTHERS = 0o077


def read_source(path: str, keeps_mark: bool = False) -> Source:
    """The text of a file, without its byte order mark unless `keeps_mark`.

    Raises NotFoundError CLI-010, or InputError CLI-011 or CLI-012.
    """
    return decode_source(path, read_bytes(path), keeps_mark)


def decode_source(path: str, data: bytes, keeps_mark: bool = False) -> Source:
    """The text that the content of a file is. Raises InputError CLI-011."""
    name = _display_name(path)
    if b"\0" in data:
        raise issues.NOT_TEXT.error(path=name, reason="it contains a NUL byte")
    try:
        return Source(name, data.decode("utf-8" if keeps_mark else "utf-8-sig"))
    except UnicodeDecodeError as error:
        raise issues.NOT_TEXT.error(path=name, reason=f"byte {error.start} is invalid") from None


def read_bytes(path: str) -> bytes:
    """The content of a file. Raises NotFoundError CLI-010, or InputError CLI-012."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(LIMIT_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(LIMIT_BYTES + 1)
    except (OSError, ValueError) as error:  # a ValueError is a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise issues.NO_FILE.error(path=path, reason=reason) from None
    if len(data) > LIMIT_BYTES:
        raise issues.TOO_LARGE.error(path=_display_name(path), limit_bytes=LIMIT_BYTES)
    return data


def read_secret(path: str) -> str:
    """The secret in a file, or with `-` on standard input, without blanks around it.

    Raises NotFoundError CLI-010, InputError CLI-011 or CLI-012, DeniedError CLI-014 if other users can read the file.
    """
    try:
        with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
            status = os.fstat(file.fileno())
            # A pipe belongs to the two processes at its ends, whatever its mode.
            if path != "-" and stat.S_ISREG(status.st_mode) and status.st_mode & OTHERS:
                raise issues.READABLE_SECRET.error(path=path)
            data = file.read(SECRET_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise issues.NO_FILE.error(path=path, reason=reason) from None
    if len(data) > SECRET_BYTES:
        raise issues.TOO_LARGE.error(path=_display_name(path), limit_bytes=SECRET_BYTES)
    try:
        return data.decode().strip()
    except UnicodeDecodeError:
        raise issues.NOT_TEXT.error(path=_display_name(path), reason="it is no token") from None


def write_text(path: str, text: str) -> None:
    """Write a text to a file, or with `-` to standard output.

    Raises UnavailableError CLI-013, NotFoundError CLI-059; the file is unchanged then.
    """
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        _replace(Path(path), text.encode(), write_public)
    except (OSError, ValueError) as error:
        raise _not_written(path, error) from None


def write_content(path: str, data: bytes) -> None:
    """Write bytes of a node to a file that only its owner may read, or with `-` to standard output: on a terminal without characters that
    control it. Raises UnavailableError CLI-013, NotFoundError CLI-059; the file is unchanged then."""
    if path != "-":
        try:
            _replace(Path(path), data, write_private)
        except (OSError, ValueError) as error:
            raise _not_written(path, error) from None
    elif sys.stdout.isatty():
        for line in data.decode(errors="replace").splitlines():
            print(visible(line))
    else:
        sys.stdout.flush()
        try:
            sys.stdout.buffer.write(data)
        except OSError as error:
            raise OutputFailed(error) from error


def _not_written(path: str, error: OSError | ValueError) -> PrecastError:
    """The error of a file that cannot be written: at this place never, or not now, as on a full disk."""
    never = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError, ValueError)
    issue = issues.NO_PLACE if isinstance(error, never) else issues.NOT_WRITTEN
    return issue.error(path=path, reason=getattr(error, "strerror", None) or error)


def _replace(target: Path, data: bytes, write: Callable[[Path, bytes], None]) -> None:
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        target.write_bytes(data)  # a device or a pipe has no earlier content, and must not be replaced by a file
        return
    write(target.resolve(), data)


def _display_name(path: str) -> str:
    return "standard input" if path == "-" else path
