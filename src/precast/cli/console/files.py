"""Reads and writes the files that are named on a command line. `-` is standard input or output.

What cannot be read is one clear error. An output file is complete or untouched: it is written beside its place, synced, and
moved there.
"""

import stat
import sys
from pathlib import Path

from precast.base.files import write_public
from precast.base.spans import Source
from precast.cli import issues

LIMIT_BYTES = 64 * 1024 * 1024


def read_source(path: str, keeps_mark: bool = False) -> Source:
    """The text of a file; a byte order mark is dropped unless kept. Raises NotFoundError CLI-010, or InputError CLI-011 or CLI-012."""
    data = read_bytes(path)
    name = _shown(path)
    if b"\0" in data:
        raise issues.NOT_TEXT.error(path=name, reason="it holds a NUL byte")
    try:
        return Source(name, data.decode("utf-8" if keeps_mark else "utf-8-sig"))
    except UnicodeDecodeError as error:
        raise issues.NOT_TEXT.error(path=name, reason=f"byte {error.start} does not fit") from None


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
        raise issues.TOO_LARGE.error(path=_shown(path), limit_bytes=LIMIT_BYTES)
    return data


def write_text(path: str, text: str) -> None:
    """Put a text in a file, or with `-` on standard output. Raises UnavailableError CLI-013; then the file is as it was."""
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        _replace(Path(path), text.encode())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise issues.NOT_WRITTEN.error(path=path, reason=reason) from None


def _replace(target: Path, data: bytes) -> None:
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        target.write_bytes(data)  # a device or a pipe has no earlier content to keep, and must not be replaced
        return
    write_public(target.resolve(), data)


def _shown(path: str) -> str:
    return "standard input" if path == "-" else path
