"""Translates errors of PostgreSQL: who is at fault, which issue to raise, and whether to retry at once."""

import asyncpg

from precast.base.errors import PrecastError
from precast.store import issues
from precast.store.engine.interface import DatabaseFailed

# Every exception class that the driver raises.
DRIVER_ERRORS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
# The server ended the transaction in favour of another one; the same work may succeed now.
_YIELDED = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError)
_AWAY = (
    OSError,  # TimeoutError and the ConnectionErrors among them
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection used while it is being closed
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # shut down, crashed, starting up, cancelled by an operator
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InsufficientResourcesError,  # too many connections, out of memory
    asyncpg.ReadOnlySQLTransactionError,  # a standby, or a primary that just became one
)
# The administrator has to grant something: since PostgreSQL 15 a role may not create tables by default.
_NOT_ALLOWED = (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidSchemaNameError)
_DAMAGED = (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError)


def reason(error: Exception) -> str:
    """Return the error in one line."""
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


def translate_statement_error(error: Exception, location: str, query: str) -> Exception:
    """Return what to raise for an error of a statement: DatabaseFailed unless the transaction itself is at fault."""
    if isinstance(error, _YIELDED):
        return DatabaseFailed(issues.BUSY.error(waited_s=1.0))
    if isinstance(error, asyncpg.DiskFullError):
        return DatabaseFailed(issues.DISK_FULL.error(location=location))
    if isinstance(error, asyncpg.PostgresIOError):
        return DatabaseFailed(issues.IO_FAILED.error(location=location, reason=reason(error)))
    if isinstance(error, _DAMAGED):
        return DatabaseFailed(issues.DAMAGED.error(location=location, reason=reason(error)))
    if isinstance(error, _NOT_ALLOWED):
        return DatabaseFailed(issues.CANNOT_OPEN.error(location=location, reason=reason(error)))
    if isinstance(error, asyncpg.IntegrityConstraintViolationError):
        return issues.CONSTRAINT.error(reason=reason(error))
    # Wrong use of the driver is an InterfaceError too; only a lost connection is the database's fault.
    if isinstance(error, _AWAY) and not isinstance(error, asyncpg.DataError):
        return DatabaseFailed(connection_lost(error, location))
    return issues.FAILED.error(query=query, reason=reason(error))


def connection_lost(error: Exception, location: str) -> PrecastError:
    return issues.CONNECTION_LOST.error(location=location, reason=reason(error))


def translate_commit_error(error: Exception, location: str) -> PrecastError:
    """Return what to raise when COMMIT itself failed: after a refusal nothing is stored, after a lost connection that is unknown."""
    if isinstance(error, _YIELDED):
        return issues.BUSY.error(waited_s=1.0)
    if isinstance(error, asyncpg.DiskFullError):
        return issues.DISK_FULL.error(location=location)
    return issues.OUTCOME_UNKNOWN.error(location=location, reason=reason(error))


def is_worth_another_try(failure: DatabaseFailed) -> bool:
    """Whether certainly nothing was stored, and a new connection or another order of locks may help."""
    return issues.CONNECTION_LOST.matches(failure.error) or issues.BUSY.matches(failure.error)
