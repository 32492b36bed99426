"""What an error of PostgreSQL means: whose fault it is, what to say, whether to try again at once."""

import asyncpg

from precast.base.errors import PrecastError
from precast.store import issues
from precast.store.engine.interface import DatabaseFailed

# All that the driver raises.
DRIVER_ERRORS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
# The server ended the transaction for another's sake; the same work may succeed now.
_YIELDED = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError)
_AWAY = (
    OSError,  # TimeoutError and the ConnectionErrors among them
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection used at the moment it is being ended
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # shut down, crashed, starting up, cancelled by an operator
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InsufficientResourcesError,  # too many connections, out of memory
    asyncpg.ReadOnlySQLTransactionError,  # a standby, or a primary that just became one
)
# What the administrator has to grant or set: since PostgreSQL 15 a role may not create tables unless it is told so.
_NOT_ALLOWED = (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidSchemaNameError)
_DAMAGED = (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError)


def reason(error: Exception) -> str:
    """The error in one line."""
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


def fault(error: Exception, location: str, query: str) -> Exception:
    """What to raise for an error of a statement: DatabaseFailed unless it is the unit's own fault."""
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
    # A wrong use of the driver is an InterfaceError too; only a connection that is gone is the database's fault.
    if isinstance(error, _AWAY) and not isinstance(error, asyncpg.DataError):
        return DatabaseFailed(lost(error, location))
    return issues.FAILED.error(query=query, reason=reason(error))


def lost(error: Exception, location: str) -> PrecastError:
    return issues.CONNECTION_LOST.error(location=location, reason=reason(error))


def at_commit(error: Exception, location: str) -> PrecastError:
    """What to say when COMMIT itself failed: a refusal is certain, silence is not."""
    if isinstance(error, _YIELDED):
        return issues.BUSY.error(waited_s=1.0)
    if isinstance(error, asyncpg.DiskFullError):
        return issues.DISK_FULL.error(location=location)
    return issues.OUTCOME_UNKNOWN.error(location=location, reason=reason(error))


def is_worth_another_try(failure: DatabaseFailed) -> bool:
    """Whether nothing was stored for certain and a new connection or a new order of locks may help."""
    return issues.CONNECTION_LOST.matches(failure.error) or issues.BUSY.matches(failure.error)
