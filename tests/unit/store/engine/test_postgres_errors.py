"""The issue that each error of PostgreSQL is translated to, who is at fault, and whether it is retried."""

import asyncpg
import pytest

from precast.base.errors import Kind, PrecastError
from precast.store import issues
from precast.store.engine import postgres_errors
from precast.store.engine.interface import DatabaseFailed

WHERE = "postgresql://db/precast"

# The error, our code, kind, whether the database is at fault (the whole group fails) or the transaction (it fails alone).
MEANINGS: list[tuple[Exception, str, Kind, bool]] = [
    (asyncpg.SerializationError("x"), "STORE-005", Kind.UNAVAILABLE, True),
    (asyncpg.DeadlockDetectedError("x"), "STORE-005", Kind.UNAVAILABLE, True),
    (asyncpg.LockNotAvailableError("canceling statement due to lock timeout"), "STORE-005", Kind.UNAVAILABLE, True),
    (asyncpg.DiskFullError("x"), "STORE-006", Kind.UNAVAILABLE, True),
    (asyncpg.PostgresIOError("could not read block 0"), "STORE-011", Kind.UNAVAILABLE, True),
    (asyncpg.DataCorruptedError("invalid page in block 0"), "STORE-010", Kind.UNAVAILABLE, True),
    (asyncpg.IndexCorruptedError("x"), "STORE-010", Kind.UNAVAILABLE, True),
    (asyncpg.InsufficientPrivilegeError("permission denied for schema public"), "STORE-003", Kind.UNAVAILABLE, True),
    (asyncpg.InvalidSchemaNameError("no schema has been selected to create in"), "STORE-003", Kind.UNAVAILABLE, True),
    (asyncpg.UniqueViolationError("x"), "STORE-009", Kind.CONFLICT, False),
    (asyncpg.ForeignKeyViolationError("x"), "STORE-009", Kind.CONFLICT, False),
    (asyncpg.NotNullViolationError("x"), "STORE-009", Kind.CONFLICT, False),
    (ConnectionResetError(104, "Connection reset by peer"), "STORE-007", Kind.UNAVAILABLE, True),
    (TimeoutError(), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.ConnectionDoesNotExistError("x"), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.InterfaceError("connection is closed"), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.InternalClientError("x"), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.AdminShutdownError("x"), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.CrashShutdownError("x"), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.CannotConnectNowError("x"), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.QueryCanceledError("x"), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.IdleInTransactionSessionTimeoutError("x"), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.TooManyConnectionsError("x"), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.OutOfMemoryError("x"), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.ReadOnlySQLTransactionError("x"), "STORE-007", Kind.UNAVAILABLE, True),
    (asyncpg.UndefinedTableError("x"), "STORE-012", Kind.INTERNAL, False),
    (asyncpg.PostgresSyntaxError("x"), "STORE-012", Kind.INTERNAL, False),
    (asyncpg.DataError("x"), "STORE-012", Kind.INTERNAL, False),
    (asyncpg.InternalServerError("x"), "STORE-012", Kind.INTERNAL, False),
]


@pytest.mark.parametrize(
    ("error", "code", "kind", "is_databases"), MEANINGS, ids=[type(row[0]).__name__ for row in MEANINGS]
)
def test_driver_error_is_translated_to_its_issue_and_fault(
    error: Exception, code: str, kind: Kind, is_databases: bool
) -> None:
    assert isinstance(error, postgres_errors.DRIVER_ERRORS)
    translated = postgres_errors.translate_statement_error(error, WHERE, "test.query")
    ours = translated.error if isinstance(translated, DatabaseFailed) else translated
    assert isinstance(ours, PrecastError)
    assert (ours.code, ours.kind, isinstance(translated, DatabaseFailed)) == (code, kind, is_databases)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (asyncpg.SerializationError("x"), "STORE-005"),
        (asyncpg.DeadlockDetectedError("x"), "STORE-005"),
        (asyncpg.DiskFullError("x"), "STORE-006"),
        (ConnectionResetError(104, "Connection reset by peer"), "STORE-008"),
        (TimeoutError(), "STORE-008"),
        (asyncpg.AdminShutdownError("x"), "STORE-008"),
        (asyncpg.InterfaceError("connection is closed"), "STORE-008"),
    ],
)
def test_failed_commit_is_certain_only_if_the_server_refused_it(error: Exception, code: str) -> None:
    assert postgres_errors.translate_commit_error(error, WHERE).code == code


def test_retry_is_only_for_transient_errors_before_the_commit() -> None:
    codes = {
        issue.code
        for issue, failure in (
            (issues.BUSY, issues.BUSY.error(waited_s=1)),
            (issues.CONNECTION_LOST, issues.CONNECTION_LOST.error(location=WHERE, reason="x")),
            (issues.OUTCOME_UNKNOWN, issues.OUTCOME_UNKNOWN.error(location=WHERE, reason="x")),
            (issues.DISK_FULL, issues.DISK_FULL.error(location=WHERE)),
            (issues.CANNOT_OPEN, issues.CANNOT_OPEN.error(location=WHERE, reason="x")),
        )
        if postgres_errors.is_worth_another_try(DatabaseFailed(failure))
    }
    assert codes == {"STORE-005", "STORE-007"}


def test_reason_is_one_line_whatever_the_driver_says() -> None:
    assert postgres_errors.reason(asyncpg.PostgresError("first\nDETAIL: second")) == "first"
    assert postgres_errors.reason(TimeoutError()) == "TimeoutError"
    assert postgres_errors.reason(TimeoutError(" \n")) == "TimeoutError"
