"""Translates errors of SQLite: whether the transaction or the database is at fault, and which issue to raise."""

import os
import sqlite3
from pathlib import Path

from precast.base.errors import PrecastError
from precast.store import issues
from precast.store.engine.interface import DatabaseFailed

BUSY_S = 10.0
# The log and its index grow in pieces of at most this size; with less free space, SQLite may report an I/O error.
MIN_FREE_BYTES = 64 * 1024

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


def translate_statement_error(error: sqlite3.Error, path: Path, query: str) -> Exception:
    """Return what to raise for an error of a statement: DatabaseFailed unless the transaction itself is at fault."""
    translated = translate(error, path, query)
    is_transactions_fault = issues.CONSTRAINT.matches(translated) or issues.FAILED.matches(translated)
    return translated if is_transactions_fault else DatabaseFailed(translated)


def translate_open_error(error: sqlite3.Error, path: Path) -> PrecastError:
    """Return what to raise for an error while opening the file."""
    if _code(error) == sqlite3.SQLITE_NOTADB:
        return issues.NOT_OURS.error(location=path)
    return translate(error, path, "opening")


def translate(error: sqlite3.Error, path: Path, query: str) -> PrecastError:
    """Return the issue that an error stands for, whether the transaction or the database is at fault."""
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


def translate_commit_error(error: sqlite3.Error, path: Path) -> PrecastError:
    """Return what to raise when COMMIT itself failed: after a failed flush, recovery might still find the commit in the log."""
    translated = translate(error, path, "COMMIT")
    if issues.IO_FAILED.matches(translated):
        return issues.OUTCOME_UNKNOWN.error(location=path, reason=error)
    return translated


def _code(error: sqlite3.Error) -> int:
    """Return the primary result code; errors that Python's module raises by itself have none and count as SQLITE_ERROR."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _is_broken_text(error: sqlite3.Error) -> bool:
    """Whether a text in the file is not UTF-8. Python detects that, not SQLite, so the error has no result code."""
    return not hasattr(error, "sqlite_errorcode") and str(error).startswith("Could not decode to UTF-8")


def _is_disk_full(path: Path) -> bool:
    try:
        space = os.statvfs(path.parent)
    except OSError:  # the disk is no longer there
        return False
    return space.f_bavail * space.f_frsize < MIN_FREE_BYTES
