"""The one small interface behind which SQLite and PostgreSQL are alike: write a unit, read a unit, be woken."""

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from precast.base.clock import Clock
from precast.store.engine.group_commit import GroupCommit
from precast.store.engine.interface import BatchUnit, Engine
from precast.store.engine.lookup import Lookup
from precast.store.engine.promise import Promise
from precast.store.engine.query import Dialect, Rows, Statement, Transaction
from precast.store.engine.shared_reads import SharedReads
from precast.store.engine.wakeups import Wakeups

Item = TypeVar("Item")
P = ParamSpec("P")
T = TypeVar("T")


class Database:
    """An open database. Whoever opens it closes it."""

    def __init__(self, engine: Engine, wakeups: Wakeups, clock: Clock, committers: int) -> None:
        self.engine = engine
        self.wakeups = wakeups
        self.clock = clock
        self._group_commit = GroupCommit(engine, wakeups.publish, committers)
        self._group_commit.start()
        self._shared_reads = SharedReads(engine)

    @property
    def dialect(self) -> Dialect:
        return self.engine.dialect

    @property
    def location(self) -> str:
        """Where the database is, without any password."""
        return self.engine.location

    async def write(self, unit: Callable[P, Transaction[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a unit in a transaction; its value once that is durable.

        Raises what the unit raises, then nothing of it is stored; UnavailableError if the database is away or full.
        Cancelling is safe: the write either happened or it did not.
        """
        value: T = await self._group_commit.submit(partial(unit, *args, **kwargs))
        return value

    async def write_apart(self, unit: Callable[P, Transaction[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """As `write`, for a unit that holds rows of many nodes: it shares its transaction with nobody where writers wait for rows.

        So no transaction has two such units, and the order that each keeps is the order of all.
        """
        is_apart = self.dialect is Dialect.POSTGRESQL
        value: T = await self._group_commit.submit(partial(unit, *args, **kwargs), is_apart=is_apart)
        return value

    async def read(self, unit: Callable[P, Transaction[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a unit that only reads, on one snapshot, without waiting for writers."""
        value: T = await self.engine.read(partial(unit, *args, **kwargs))
        return value

    def write_item(self, batch: BatchUnit[Item, T], item: Item, promise: Promise[T]) -> None:
        """As `write`, in one unit with everybody who writes such an item at this moment: few statements do for many.

        What came of it is told to the promise: whoever has thousands of these under way need not have a task for each.
        """
        self._group_commit.submit_item(batch, item, promise)

    def read_at_once(self, statement: Statement) -> Rows | None:
        """A few rows by their key, within this call; None where that could mean to wait. Raises PrecastError."""
        return self.engine.read_at_once(statement)

    async def find(self, lookup: Lookup[T], key: str) -> T | None:
        """As `read`, for a row by its key: here and now, or in one statement with everybody who looks such a row up at this moment."""
        rows = self.read_at_once(lookup.statement(key))
        if rows is not None:
            return lookup.take(rows)
        value: T | None = await self._shared_reads.read(lookup.finding_each, key)
        return value

    async def abandon(self) -> None:
        """Drop the writes under way, as when their caller was interrupted: each is stored or it is not. Then close as ever."""
        await self._group_commit.abandon()

    async def close(self) -> None:
        """Store what is under way, then let go of everything."""
        await self._group_commit.close()
        await self.wakeups.close()
        await self.engine.close()
