"""The one small interface that hides whether SQLite or PostgreSQL is used: write in a transaction, read on a snapshot, be woken."""

import socket
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from precast.base.clock import Clock
from precast.store.engine.group_commit import GroupCommit
from precast.store.engine.interface import BatchTransaction, Completion, Engine
from precast.store.engine.lookup import Lookup
from precast.store.engine.query import Dialect, Rows, Statement, Transaction
from precast.store.engine.shared_reads import SharedReads
from precast.store.engine.wakeups import Wakeups

Item = TypeVar("Item")
P = ParamSpec("P")
T = TypeVar("T")


class Database:
    """An open database. The caller that opens it closes it."""

    def __init__(
        self, engine: Engine, wakeups: Wakeups, clock: Clock, committers: int, process_name: str | None = None
    ) -> None:
        """`process_name` distinguishes this process from others that write; the default is the name of the host."""
        self.engine = engine
        self.wakeups = wakeups
        self.clock = clock
        self.process_name = process_name or socket.gethostname()
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

    async def write(self, transaction: Callable[P, Transaction[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a transaction and return its value once it is durable.

        Raises what the transaction raises, and then stores nothing of it; UnavailableError if the database is unreachable or full.
        Cancelling is safe: the write either happened or it did not.
        """
        value: T = await self._group_commit.submit(partial(transaction, *args, **kwargs))
        return value

    async def write_alone(self, transaction: Callable[P, Transaction[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """As `write`, for a transaction that locks rows of many nodes: on PostgreSQL it is committed alone, not in a group.

        Each such transaction locks its rows in one order. Two of them in one group would break that order, and could deadlock.
        """
        is_alone = self.dialect is Dialect.POSTGRESQL
        value: T = await self._group_commit.submit(partial(transaction, *args, **kwargs), is_alone=is_alone)
        return value

    async def read(self, transaction: Callable[P, Transaction[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a transaction that only reads, on one snapshot, without waiting for writers."""
        value: T = await self.engine.read(partial(transaction, *args, **kwargs))
        return value

    async def read_item(self, batch: BatchTransaction[Item, T], item: Item) -> T:
        """As `read`, batched with the items that other callers read at the same time. Such a transaction raises nothing."""
        value: T = await self._shared_reads.read(batch, item)
        return value

    def write_item(self, batch: BatchTransaction[Item, T], item: Item, completion: Completion[T]) -> None:
        """As `write`, batched with the items that other callers write at the same time, so that few statements store many items.

        The completion receives the outcome: a caller with thousands of writes under way needs no task for each.
        """
        self._group_commit.submit_item(batch, item, completion)

    def read_immediately(self, statement: Statement) -> Rows | None:
        """Look up a few rows by their key within this call; None where the call could block. Raises PrecastError."""
        return self.engine.read_immediately(statement)

    async def find(self, lookup: Lookup[T], key: str) -> T | None:
        """As `read`, for a row by its key: within this call, or batched with the look-ups of other callers at the same time."""
        rows = self.read_immediately(lookup.statement(key))
        if rows is not None:
            return lookup.convert(rows)
        value: T | None = await self._shared_reads.read(lookup.find_each, key)
        return value

    async def abandon(self) -> None:
        """Drop the writes under way, as when their caller was interrupted: each is stored or it is not. Call `close` afterwards."""
        await self._group_commit.abandon()

    async def close(self) -> None:
        """Commit the writes under way, then release everything."""
        await self._group_commit.close()
        await self.wakeups.close()
        await self.engine.close()
