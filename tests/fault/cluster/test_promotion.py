"""A standby of PostgreSQL is promoted while the old primary lives on: nodes that have seen the new one get nothing from the old one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest

from lab.postgres import PostgresServer
from lab.standby import Standby
from precast.base.errors import UnavailableError
from precast.store.engine.connect import connect
from precast.store.engine.location import PostgresLocation
from precast.store.schema.schema import Schema
from precast.store.sessions.terms import find_term
from tests.contract.sessions.test_session_service import Site, hello, note

NAME = "site"


@pytest.fixture
def primary() -> Iterator[PostgresServer]:
    with PostgresServer(settings={"wal_level": "replica", "max_wal_senders": "4"}) as server:
        server.create_database(name=NAME)
        yield server


@contextlib.asynccontextmanager
async def opened(server: PostgresServer, name: str) -> AsyncIterator[Site]:
    database = await connect(PostgresLocation(server.url(NAME)))
    try:
        if name == "old":
            await Schema(database).expand()
        yield Site(database, name)
    finally:
        await database.close()


@contextlib.asynccontextmanager
async def following(primary: PostgresServer) -> AsyncIterator[Standby]:
    standby = Standby(primary)
    await asyncio.to_thread(standby.__enter__)
    try:
        yield standby
    finally:
        await asyncio.to_thread(standby.remove)


async def test_node_that_has_seen_the_promoted_database_gets_nothing_from_the_old_one(primary: PostgresServer) -> None:
    async with opened(primary, "old") as old:
        await old.open("web1", "web2")
        first = await old.begin(hello("a"))
        assert await old.take(first.epoch, note(1)) == (1, False)
        async with following(primary) as standby:
            sql = "SELECT received FROM session_stream WHERE node = 'web1'"
            await asyncio.to_thread(lambda: standby.wait_for(sql, "1", database=NAME))
            await asyncio.to_thread(standby.promote)
            async with opened(standby, "new") as new:
                await new.open()
                second = await new.begin(hello("b", "a", term=first.term, epoch=first.epoch, last=1))
                assert second.term > first.term
                assert second.position.received == 1
                # The old primary is alive, and its server has not noticed anything.
                with pytest.raises(UnavailableError, match="is not the newest of the site"):
                    await old.begin(hello("c", "b", term=second.term, epoch=second.epoch, last=1))
                # A node that has not seen the new one is served by the old one until it has; then it sends its records again.
                assert (await old.begin(hello("x"), "web2")).term == first.term
                assert await new.database.write(find_term, new.database.clock.now()) == second.term
