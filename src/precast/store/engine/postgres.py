"""PostgreSQL: a pool of connections, group commit over some of them, snapshots for reading.

Several servers share one database, so a group can meet the locks of another server. A group that PostgreSQL ends with a deadlock or a
serialisation failure is retried, and so is one that lost its connection before the commit. If the connection is lost *during* the
commit, the outcome is unknown, and the error says so.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import asyncpg

from precast.store import issues
from precast.store.engine import durability, postgres_errors, postgres_tls
from precast.store.engine.interface import (
    DatabaseFailed,
    TransactionFactory,
    TransactionFailed,
    TransactionResult,
    TransactionStepper,
)
from precast.store.engine.location import PostgresLocation
from precast.store.engine.query import Computation, Dialect, ManyRows, Rows, Statement

if TYPE_CHECKING:  # generic in its stubs only
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

NEEDED_VERSION = 14
COMMITTERS = 2
READERS = 6
COMMAND_S = 30.0
CONNECT_S = 10.0
TRIES = 3


class PostgresEngine:
    """A pool on one database. Reads beyond the pool's size wait for a connection, at most `CONNECT_S`."""

    dialect = Dialect.POSTGRESQL
    gather_s = 0.0

    def __init__(self, location: PostgresLocation, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self.location = str(location)
        self._pool = pool
        self._idle_committer: Connection | None = None  # cached for the next group

    @classmethod
    async def open(cls, location: PostgresLocation) -> "PostgresEngine":
        """Connect. Raises UnavailableError STORE-003 or STORE-017, and InputError if the server is too old or not durable."""
        try:
            # One connection now shows what is wrong. The pool itself connects on demand and has no minimum size: while the
            # server is unreachable, its attempts would only fill the log.
            context = postgres_tls.make_context(location)
            first = await asyncpg.connect(location.url, ssl=context, timeout=CONNECT_S)
            version = first.get_server_version()
            await first.close(timeout=CONNECT_S)
        except (ValueError, *postgres_errors.DRIVER_ERRORS) as error:
            if (untrusted := postgres_tls.explain(location, error)) is not None:
                raise untrusted from error
            raise issues.CANNOT_OPEN.error(location=location, reason=postgres_errors.reason(error)) from error
        if version.major < NEEDED_VERSION:
            installed = f"{version.major}.{version.minor}"
            raise issues.TOO_OLD_ENGINE.error(engine="PostgreSQL", version=installed, needed=NEEDED_VERSION)
        pool = await asyncpg.create_pool(
            location.url,
            ssl=context,
            min_size=0,
            max_size=COMMITTERS + READERS,
            timeout=CONNECT_S,
            command_timeout=COMMAND_S,
            reset=_skip_reset,
            server_settings={"application_name": "precast", "timezone": "UTC"},
        )
        engine = cls(location, pool)
        try:
            await engine._refuse_unsafe_server()
        except BaseException:
            await engine.close()
            raise
        return engine

    async def transact(self, factories: Sequence[TransactionFactory]) -> list[TransactionResult]:
        for remaining in reversed(range(TRIES)):
            try:
                return await self._transact(factories)
            except DatabaseFailed as failure:
                if not remaining or not postgres_errors.is_worth_another_try(failure):
                    raise
        raise AssertionError("the last try returns or raises")

    async def read(self, factory: TransactionFactory) -> Any:
        try:
            async with self._connection() as connection, self._transaction(connection, is_snapshot=True):
                return (await self._run(connection, factory)).value
        except DatabaseFailed as failure:
            raise failure.error from failure

    def read_immediately(self, statement: Statement) -> Rows | None:
        return None  # the network could block

    async def close(self) -> None:
        try:
            async with asyncio.timeout(CONNECT_S):
                if self._idle_committer is not None:
                    await self._release(self._idle_committer)
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def _refuse_unsafe_server(self) -> None:
        settings = dict(await self.read(durability.read_settings))
        if unsafe := durability.list_unsafe_settings(settings):
            raise issues.NOT_DURABLE.error(reason=", ".join(unsafe))

    async def _transact(self, factories: Sequence[TransactionFactory]) -> list[TransactionResult]:
        results: list[TransactionResult] = []
        async with self._commit_connection() as connection, self._transaction(connection, is_snapshot=False):
            for index, factory in enumerate(factories):
                try:
                    results.append(await self._run(connection, factory))
                except DatabaseFailed:
                    raise
                except Exception as error:
                    raise TransactionFailed(index) from error
        return results

    @contextlib.asynccontextmanager
    async def _connection(self) -> Any:
        connection = await self._acquire()
        try:
            yield connection
        except DatabaseFailed:
            _terminate(connection)
            raise
        finally:
            await self._release(connection)

    @contextlib.asynccontextmanager
    async def _commit_connection(self) -> Any:
        """As `_connection`, but a connection that worked is cached for the next group: acquiring and releasing one costs as much as a
        statement. At most one is cached: it is never idle for so long that a firewall would drop it."""
        connection = await self._acquire_for_commit()
        try:
            yield connection
        except BaseException as error:
            if isinstance(error, DatabaseFailed):
                _terminate(connection)
            await self._release(connection)
            raise
        if self._idle_committer is None:
            self._idle_committer = connection
        else:
            await self._release(connection)

    async def _acquire_for_commit(self) -> "Connection":
        cached, self._idle_committer = self._idle_committer, None
        if cached is not None:
            if _is_open(cached):
                return cached
            await self._release(cached)
        return await self._acquire()

    async def _acquire(self) -> "Connection":
        try:
            return await self._pool.acquire(timeout=CONNECT_S)
        except postgres_errors.DRIVER_ERRORS as error:
            raise DatabaseFailed(postgres_errors.connection_lost(error, self.location)) from error

    async def _release(self, connection: "Connection") -> None:
        # The pool replaces a connection that was terminated.
        with contextlib.suppress(*postgres_errors.DRIVER_ERRORS):
            await self._pool.release(connection, timeout=CONNECT_S)

    @contextlib.asynccontextmanager
    async def _transaction(self, connection: "Connection", *, is_snapshot: bool) -> Any:
        try:
            transaction = (
                connection.transaction(isolation="repeatable_read", readonly=True)
                if is_snapshot
                else connection.transaction()
            )
            await transaction.start()
        except postgres_errors.DRIVER_ERRORS as error:
            raise DatabaseFailed(postgres_errors.connection_lost(error, self.location)) from error
        try:
            yield
        except BaseException:
            with contextlib.suppress(*postgres_errors.DRIVER_ERRORS):
                await transaction.rollback()
            raise
        try:
            await transaction.commit()
        except postgres_errors.DRIVER_ERRORS as error:
            raise DatabaseFailed(postgres_errors.translate_commit_error(error, self.location)) from error

    async def _run(self, connection: "Connection", factory: TransactionFactory) -> TransactionResult:
        stepper = TransactionStepper(factory())
        step = stepper.first()
        while step is not None:
            if isinstance(step, Computation):
                await asyncio.sleep(0)  # lets other tasks run before this long computation
                step = stepper.next(step.work())
            else:
                step = stepper.next(await self._execute(connection, step))
        assert stepper.result is not None, "a transaction without a next step has ended"
        return stepper.result

    async def _execute(self, connection: "Connection", statement: Statement | ManyRows) -> Rows:
        query = statement.query
        try:
            # A statement without a limit of its own has that of the pool.
            if isinstance(statement, Statement):
                return await connection.fetch(query.postgresql, *statement.positional(), timeout=query.limit_s)
            values: Sequence[object]
            if len(statement.rows) == 1:
                text, values = query.postgresql, statement.rows[0]
            elif query.columns is not None and statement.rows:
                text, values = query.columns.sql, statement.by_column(query.columns)
            else:
                await connection.executemany(query.postgresql, statement.rows, timeout=query.limit_s)
                return ()
            if not statement.is_counted:
                return await connection.fetch(text, *values, timeout=query.limit_s)
            tag = await connection.execute(text, *values, timeout=query.limit_s)
            return [(int(tag.rpartition(" ")[2]),)]  # such as UPDATE 7
        except postgres_errors.DRIVER_ERRORS as error:
            raise postgres_errors.translate_statement_error(error, self.location, query.name) from error


def _is_open(connection: "Connection") -> bool:
    """Whether the connection is still open. A connection that the pool has already discarded raises instead of answering."""
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:
        return False


def _terminate(connection: "Connection") -> None:
    """Close a connection in an unknown state, so that it is not used again; the pool may have discarded it already."""
    with contextlib.suppress(asyncpg.InterfaceError):
        connection.terminate()


async def _skip_reset(connection: object) -> None:
    """Reset nothing when a connection is released: transactions leave no session state, and the reset would cost a round trip."""
