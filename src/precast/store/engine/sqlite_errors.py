"""What an error of SQLite means: whose fault it is, and what to say."""

import os
import sqlite3
from pathlib import Path

from precast.base.errors import PrecastError
from precast.store import issues
from precast.store.engine.interface import DatabaseFailed

BUSY_S = 10.0
# The log and its index grow by pieces of at most this size; without room for one, SQLite may report an I/O error.
ROOM_BYTES = 64 * 1024

_MEANING = {
    sqlite3.SQLITE_BUSY: issues.BUSY,
    sqlite3.SQLITE_LOCKED: issues.BUSY,
    sqlite3.SQLITE_FULL: issues.DISK_FULL,
    sqlite3.SQLITE_IOERR: issues.IO_FAILED,
    sqlite3.SQLITE_READONLY: issues.CANNOT_OPEN,
    sqlite3.SQLITE_CANTOPEN: issues.CANNOT_OPEN,
    sqlite3.SQLITE_PERM: issues.CANNOT_OPEN,
    sqlite3.SQLITE_CORRUPT: issues.DAMAGED,
    sqlite3.SQLITE_NOTADB: issues.DAMAGED,
    sqlite3.SQLITE_CONSTRAINT: issues.CONSTRAINT,
}


def fault(error: sqlite3.Error, path: Path, query: str) -> Exception:
    """What to raise for an error of a statement: DatabaseFailed unless it is the unit's own fault."""
    translated = translate(error, path, query)
    is_units_fault = issues.CONSTRAINT.matches(translated) or issues.FAILED.matches(translated)
    return translated if is_units_fault else DatabaseFailed(translated)


def opening(error: sqlite3.Error, path: Path) -> PrecastError:
    """What to raise for an error while opening the file."""
    if _code(error) == sqlite3.SQLITE_NOTADB:
        return issues.NOT_OURS.error(location=path)
    return translate(error, path, "opening")


def translate(error: sqlite3.Error, path: Path, query: str) -> PrecastError:
    """What an error means, whoever's fault it is."""
    meaning = issues.DAMAGED if _is_broken_text(error) else _MEANING.get(_code(error))
    if meaning is issues.IO_FAILED and _is_disk_full(path):
        meaning = issues.DISK_FULL
    if meaning is issues.BUSY:
        return meaning.error(waited_s=BUSY_S)
    if meaning is issues.DISK_FULL:
        return meaning.error(location=path)
    if meaning is issues.CONSTRAINT:
        return meaning.error(reason=error)
    if meaning is not None:
        return meaning.error(location=path, reason=error)
    return issues.FAILED.error(query=query, reason=error)


def at_commit(error: sqlite3.Error, path: Path) -> PrecastError:
    """What to say when COMMIT itself failed: after a flush that failed, a crash might still find the commit in the log."""
    translated = translate(error, path, "COMMIT")
    if issues.IO_FAILED.matches(translated):
        return issues.OUTCOME_UNKNOWN.error(location=path, reason=error)
    return translated


def _code(error: sqlite3.Error) -> int:
    """The primary result code; errors that Python's module raises by itself have none and count as a plain error."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _is_broken_text(error: sqlite3.Error) -> bool:
    """Whether a text in the file is no UTF-8. Python finds that out, not SQLite, so there is no code to know it by."""
    return not hasattr(error, "sqlite_errorcode") and str(error).startswith("Could not decode to UTF-8")


def _is_disk_full(path: Path) -> bool:
    try:
        space = os.statvfs(path.parent)
    except OSError:  # the disk is gone altogether
        return False
    return space.f_bavail * space.f_frsize < ROOM_BYTES
