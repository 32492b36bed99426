"""Abandoning the writes under way: no writer is left waiting, and nothing is stored partially."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator

import asyncpg
import pytest

from precast.base.errors import UnavailableError
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location, SqliteLocation
from precast.store.sessions.streams import Streams

# Shorter than any wait for a lock.
SOON_S = 5


@contextlib.asynccontextmanager
async def locked(location: Location) -> AsyncIterator[None]:
    """Another program holds the lock that every write of these tests needs."""
    if isinstance(location, SqliteLocation):
        with contextlib.closing(sqlite3.connect(location.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
        return
    connection = await asyncpg.connect(location.url)
    await connection.execute("BEGIN; LOCK TABLE stream IN EXCLUSIVE MODE")
    yield
    await connection.close()


async def test_abandoned_writes_fail_and_are_not_stored(location: Location, database: Database) -> None:
    leaving = await connect(location)
    names = [f"s{number}" for number in range(300)]
    async with locked(location):
        writes = [asyncio.create_task(Streams(leaving).append(name, [b"x"])) for name in names]
        await asyncio.wait(writes, timeout=0.1)
        async with asyncio.timeout(SOON_S):
            await leaving.abandon()
            await leaving.close()
        for write in writes:
            with pytest.raises(UnavailableError) as caught:
                await write
            assert caught.value.code == "STORE-013"
    assert [(await Streams(database).read(name, 0)).last for name in names] == [0] * len(names)


async def test_write_after_abandoning_is_refused(database: Database) -> None:
    await database.abandon()
    with pytest.raises(UnavailableError) as caught:
        await Streams(database).append("a", [b"x"])
    assert caught.value.code == "STORE-013"
    assert (await Streams(database).read("a", 0)).records == []
