"""What each error of SQLite becomes, and whose fault it is."""

import os
import sqlite3
from pathlib import Path
from typing import NamedTuple

import pytest

from precast.base.errors import Kind, PrecastError
from precast.store.engine import sqlite_errors
from precast.store.engine.interface import DatabaseFailed

PATH = Path("/srv/precast.db")

# Result code, our code, kind, whether the database is to blame (the whole group fails) rather than the unit (it fails alone).
MEANINGS = [
    (sqlite3.SQLITE_BUSY, "STORE-005", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_BUSY_SNAPSHOT, "STORE-005", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_LOCKED, "STORE-005", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_FULL, "STORE-006", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_IOERR, "STORE-011", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_IOERR_FSYNC, "STORE-011", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_READONLY, "STORE-003", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_READONLY_DBMOVED, "STORE-003", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_CANTOPEN, "STORE-003", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_PERM, "STORE-003", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_CORRUPT, "STORE-010", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_CORRUPT_INDEX, "STORE-010", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_NOTADB, "STORE-010", Kind.UNAVAILABLE, True),
    (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, "STORE-009", Kind.CONFLICT, False),
    (sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY, "STORE-009", Kind.CONFLICT, False),
    (sqlite3.SQLITE_ERROR, "STORE-012", Kind.INTERNAL, False),
    (sqlite3.SQLITE_MISUSE, "STORE-012", Kind.INTERNAL, False),
    (None, "STORE-012", Kind.INTERNAL, False),
]


def make(code: int | None, text: str = "what SQLite says") -> sqlite3.Error:
    error = sqlite3.OperationalError(text)
    if code is not None:
        error.sqlite_errorcode = code
    return error


class Space(NamedTuple):
    f_bavail: int
    f_frsize: int = 4096


@pytest.fixture(autouse=True)
def space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: Space(1_000_000))


@pytest.mark.parametrize(("result", "code", "kind", "is_databases"), MEANINGS)
def test_fault_of_a_result_code_is_the_right_error_of_the_right_one(
    result: int | None, code: str, kind: Kind, is_databases: bool
) -> None:
    found = sqlite_errors.fault(make(result), PATH, "test.query")
    error = found.error if isinstance(found, DatabaseFailed) else found
    assert isinstance(error, PrecastError)
    assert (error.code, error.kind, isinstance(found, DatabaseFailed)) == (code, kind, is_databases)


def test_fault_of_our_own_making_names_the_query() -> None:
    error = sqlite_errors.fault(make(sqlite3.SQLITE_ERROR), PATH, "test.query")
    assert str(error) == "query test.query failed: what SQLite says"


def test_io_error_without_space_is_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: Space(sqlite_errors.ROOM_BYTES // 4096 - 1))
    assert sqlite_errors.translate(make(sqlite3.SQLITE_IOERR), PATH, "test.query").code == "STORE-006"


def test_io_error_on_a_disk_that_is_gone_is_still_an_io_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "statvfs", fail)
    error = sqlite_errors.translate(make(sqlite3.SQLITE_IOERR), PATH, "test.query")
    assert (error.code, error.message) == ("STORE-011", "the disk under /srv/precast.db failed: what SQLite says")


def test_text_that_cannot_be_decoded_is_damage() -> None:
    error = sqlite_errors.translate(make(None, "Could not decode to UTF-8 column 'key' with text '?'"), PATH, "q")
    assert error.code == "STORE-010"


def test_opening_of_what_is_no_database_is_foreign_not_damaged() -> None:
    assert sqlite_errors.opening(make(sqlite3.SQLITE_NOTADB), PATH).code == "STORE-004"
    assert sqlite_errors.opening(make(sqlite3.SQLITE_CORRUPT), PATH).code == "STORE-010"
    assert sqlite_errors.opening(make(sqlite3.SQLITE_CANTOPEN), PATH).code == "STORE-003"
