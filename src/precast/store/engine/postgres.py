"""PostgreSQL: a pool of connections, group commit over some of them, snapshots for reading.

Several servers share one database, so a group can meet another's locks: what PostgreSQL ends as a deadlock or a serialisation
failure is run again, and so is a group whose connection was gone before its commit. When it goes *during* the commit nobody can
know, and we say so.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import asyncpg

from precast.store import issues
from precast.store.engine import durability, postgres_errors
from precast.store.engine.interface import DatabaseFailed, Done, Progress, TransactionFactory, TransactionFailed
from precast.store.engine.location import PostgresLocation
from precast.store.engine.query import Dialect, ManyRows, Rows, Statement, Think

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
        self._kept: Connection | None = None  # for whoever commits next

    @classmethod
    async def open(cls, location: PostgresLocation) -> "PostgresEngine":
        """Connect. Raises UnavailableError STORE-003, and InputError where the server could not keep our promises."""
        try:
            # One connection now tells what is wrong; the pool itself makes none before it needs one, and keeps
            # no floor of them: while the server is away, its attempts would only fill the log.
            first = await asyncpg.connect(location.url, timeout=CONNECT_S)
            version = first.get_server_version()
            await first.close(timeout=CONNECT_S)
        except (ValueError, *postgres_errors.DRIVER_ERRORS) as error:
            raise issues.CANNOT_OPEN.error(location=location, reason=postgres_errors.reason(error)) from error
        if version.major < NEEDED_VERSION:
            found = f"{version.major}.{version.minor}"
            raise issues.TOO_OLD_ENGINE.error(engine="PostgreSQL", version=found, needed=NEEDED_VERSION)
        pool = await asyncpg.create_pool(
            location.url,
            min_size=0,
            max_size=COMMITTERS + READERS,
            timeout=CONNECT_S,
            command_timeout=COMMAND_S,
            reset=_keep,
            server_settings={"application_name": "precast", "timezone": "UTC"},
        )
        engine = cls(location, pool)
        try:
            await engine._refuse_forgetful_server()
        except BaseException:
            await engine.close()
            raise
        return engine

    async def transact(self, units: Sequence[TransactionFactory]) -> list[Done]:
        for remaining in reversed(range(TRIES)):
            try:
                return await self._transact(units)
            except DatabaseFailed as failure:
                if not remaining or not postgres_errors.is_worth_another_try(failure):
                    raise
        raise AssertionError("the last try returns or raises")

    async def read(self, unit: TransactionFactory) -> Any:
        try:
            async with self._connection() as connection, self._transaction(connection, is_snapshot=True):
                return (await self._run(connection, unit)).value
        except DatabaseFailed as failure:
            raise failure.error from failure

    def read_at_once(self, statement: Statement) -> Rows | None:
        return None  # there is a network between us

    async def close(self) -> None:
        try:
            async with asyncio.timeout(CONNECT_S):
                if self._kept is not None:
                    await self._give_back(self._kept)
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def _refuse_forgetful_server(self) -> None:
        settings = dict(await self.read(durability.read_settings))
        if unsafe := durability.unsafe_settings(settings):
            raise issues.NOT_DURABLE.error(reason=", ".join(unsafe))

    async def _transact(self, units: Sequence[TransactionFactory]) -> list[Done]:
        done: list[Done] = []
        async with self._committing() as connection, self._transaction(connection, is_snapshot=False):
            for index, unit in enumerate(units):
                try:
                    done.append(await self._run(connection, unit))
                except DatabaseFailed:
                    raise
                except Exception as error:
                    raise TransactionFailed(index) from error
        return done

    @contextlib.asynccontextmanager
    async def _connection(self) -> Any:
        connection = await self._take()
        try:
            yield connection
        except DatabaseFailed:
            _break_off(connection)
            raise
        finally:
            await self._give_back(connection)

    @contextlib.asynccontextmanager
    async def _committing(self) -> Any:
        """The same, but where all went well one is kept for the next group: to take it from the pool and give it back costs as much as a
        statement does. No more than one: that is never idle for so long that somebody on the way forgets it."""
        connection = await self._take_kept()
        try:
            yield connection
        except BaseException as error:
            if isinstance(error, DatabaseFailed):
                _break_off(connection)
            await self._give_back(connection)
            raise
        if self._kept is None:
            self._kept = connection
        else:
            await self._give_back(connection)

    async def _take_kept(self) -> "Connection":
        kept, self._kept = self._kept, None
        if kept is not None:
            if _is_open(kept):
                return kept
            await self._give_back(kept)
        return await self._take()

    async def _take(self) -> "Connection":
        try:
            return await self._pool.acquire(timeout=CONNECT_S)
        except postgres_errors.DRIVER_ERRORS as error:
            raise DatabaseFailed(postgres_errors.lost(error, self.location)) from error

    async def _give_back(self, connection: "Connection") -> None:
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
            raise DatabaseFailed(postgres_errors.lost(error, self.location)) from error
        try:
            yield
        except BaseException:
            with contextlib.suppress(*postgres_errors.DRIVER_ERRORS):
                await transaction.rollback()
            raise
        try:
            await transaction.commit()
        except postgres_errors.DRIVER_ERRORS as error:
            raise DatabaseFailed(postgres_errors.at_commit(error, self.location)) from error

    async def _run(self, connection: "Connection", unit: TransactionFactory) -> Done:
        progress = Progress(unit())
        step = progress.first()
        while step is not None:
            if isinstance(step, Think):
                await asyncio.sleep(0)  # others first: it takes long
                step = progress.next(step.work())
            else:
                step = progress.next(await self._execute(connection, step))
        assert progress.done is not None, "a unit without a next statement has ended"
        return progress.done

    async def _execute(self, connection: "Connection", statement: Statement | ManyRows) -> Rows:
        query = statement.query
        try:
            # Without a limit of its own a statement has that of the pool.
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
            done = await connection.execute(text, *values, timeout=query.limit_s)
            return [(int(done.rpartition(" ")[2]),)]  # such as UPDATE 7
        except postgres_errors.DRIVER_ERRORS as error:
            raise postgres_errors.fault(error, self.location, query.name) from error


def _is_open(connection: "Connection") -> bool:
    """Whether the server has not gone meanwhile. The pool lets go of one that was lost, which then says nothing any more."""
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:
        return False


def _break_off(connection: "Connection") -> None:
    """Whatever state it is in, nobody else should get it; the pool may have found out by itself."""
    with contextlib.suppress(asyncpg.InterfaceError):
        connection.terminate()


async def _keep(connection: object) -> None:
    """Nothing to reset when a connection goes back: units leave no session state, and the question would cost a round trip."""
