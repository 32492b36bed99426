"""The signer's log of everything that it signed or refused: JSON lines, each with the hash of the one before it.

The server cannot write it. A line that is changed, removed or inserted breaks the chain, which `verify` reports. A file that has reached
its size is renamed to the next number, and the first line of the new one continues the chain. Lines are flushed to the disk before the
answers that they describe leave the signer.
"""

import hashlib
import os
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.services.identity import issues

# The hash before the first line.
START = "0" * 64
# Of the renamed files, the newest are kept.
KEEP = 20
_TAIL_BYTES = 64 * 1024


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the signer did for whom. `before` is the hash of the previous line."""

    at: datetime
    verb: str
    outcome: str  # signed or refused
    subject: str
    uid: int
    before: str
    by: str = ""
    reason: str = ""
    detail: dict[str, str] = {}


class SignerLog:
    """The log of one directory. Every method needs the lock of the directory."""

    def __init__(self, path: Path, size_bytes: int) -> None:
        self._path, self._size_bytes = path, size_bytes
        self._pending: list[LogLine] = []

    def add(self, line: LogLine) -> None:
        """Add a line; `flush` sets its `before`."""
        self._pending.append(line)

    def flush(self) -> None:
        """Write the added lines, and flush them to the disk. Raises OSError."""
        if not self._pending:
            return
        lines, self._pending = self._pending, []
        if self._path.exists() and self._path.stat().st_size >= self._size_bytes:
            self._rename()
            before = _last_hash(self._numbered(1))
        else:
            before = _last_hash(self._path) if self._path.exists() else START
        handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "ab") as file:
            for line in lines:
                data = msgspec.json.encode(msgspec.structs.replace(line, before=before))
                before = hash_line(data)
                file.write(data + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _rename(self) -> None:
        for number in range(KEEP, 0, -1):
            source = self._numbered(number - 1) if number > 1 else self._path
            if source.exists():
                source.replace(self._numbered(number))


class LogState(NamedTuple):
    """The result of checking a log: how many lines, and the hash of the last."""

    lines: int
    head: str


def verify(path: Path) -> LogState:
    """Check the chain of a log through all its files.

    Raises ConflictError CA-036 at the first line that breaks it, and UnavailableError CA-041 if the log cannot be read.
    """
    paths = [path.with_name(f"{path.name}.{number}") for number in range(KEEP, 0, -1)]
    before, count = "", 0
    for file in [*paths, path]:
        for number, data in enumerate(_whole_lines(file, is_needed=file == path), start=1):
            try:
                line = msgspec.json.decode(data, type=LogLine)
            except msgspec.MsgspecError:
                raise issues.LOG_BROKEN.error(place=f"{file}:{number}", reason="it is not a line of the log") from None
            # The oldest files may be deleted: the chain is checked from the first line that exists.
            if before and line.before != before:
                raise issues.LOG_BROKEN.error(place=f"{file}:{number}", reason="it does not follow the line before it")
            before, count = hash_line(data), count + 1
    return LogState(count, before or START)


def hash_line(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _whole_lines(path: Path, *, is_needed: bool) -> list[bytes]:
    """The lines of a file, without one at its end that is not complete: it is being written, or the signer could not write all of it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        if not is_needed:
            return []
        raise issues.LOG_UNREADABLE.error(path=str(path), reason=error.strerror) from None
    except OSError as error:
        raise issues.LOG_UNREADABLE.error(path=str(path), reason=error.strerror) from None
    return data[: data.rfind(b"\n") + 1].splitlines()


def _last_hash(path: Path) -> str:
    """The hash of the last line. A torn line of a crash, which described nothing that left the signer, is cut off."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read()
        whole = tail.rfind(b"\n") + 1
        if whole < len(tail):
            file.truncate(size - len(tail) + whole)
        lines = tail[:whole].splitlines()
    return hash_line(lines[-1]) if lines else START
