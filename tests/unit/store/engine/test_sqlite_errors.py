"""The issue that each error of SQLite is translated to, and whether the database or the transaction is at fault."""

import os
import sqlite3
from pathlib import Path
from typing import NamedTuple

import pytest

from precast.base.errors import Kind, PrecastError
from precast.store.engine import sqlite_errors
from precast.store.engine.interface import DatabaseFailed

PATH = Path("/srv/precast.db")

# Result code, our code, kind, whether the database is at fault (the whole group fails) or the transaction (it fails alone).
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
def test_result_code_is_translated_to_its_issue_and_fault(
    result: int | None, code: str, kind: Kind, is_databases: bool
) -> None:
    translated = sqlite_errors.translate_statement_error(make(result), PATH, "test.query")
    error = translated.error if isinstance(translated, DatabaseFailed) else translated
    assert isinstance(error, PrecastError)
    assert (error.code, error.kind, isinstance(translated, DatabaseFailed)) == (code, kind, is_databases)


def test_internal_error_names_the_query() -> None:
    error = sqlite_errors.translate_statement_error(make(sqlite3.SQLITE_ERROR), PATH, "test.query")
    assert str(error) == "query test.query failed: what SQLite says"


def test_io_error_without_space_is_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: Space(sqlite_errors.MIN_FREE_BYTES // 4096 - 1))
    assert sqlite_errors.translate(make(sqlite3.SQLITE_IOERR), PATH, "test.query").code == "STORE-006"


def test_io_error_on_a_missing_disk_is_still_an_io_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "statvfs", fail)
    error = sqlite_errors.translate(make(sqlite3.SQLITE_IOERR), PATH, "test.query")
    assert (error.code, error.message) == ("STORE-011", "the disk under /srv/precast.db failed: what SQLite says")


def test_text_that_cannot_be_decoded_is_damage() -> None:
    error = sqlite_errors.translate(make(None, "Could not decode to UTF-8 column 'key' with text '?'"), PATH, "q")
    assert error.code == "STORE-010"


def test_opening_a_file_that_is_not_a_database_is_reported_as_foreign() -> None:
    assert sqlite_errors.translate_open_error(make(sqlite3.SQLITE_NOTADB), PATH).code == "STORE-004"
    assert sqlite_errors.translate_open_error(make(sqlite3.SQLITE_CORRUPT), PATH).code == "STORE-010"
    assert sqlite_errors.translate_open_error(make(sqlite3.SQLITE_CANTOPEN), PATH).code == "STORE-003"
