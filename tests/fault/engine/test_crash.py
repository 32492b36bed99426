"""Kill -9 under load: what was acknowledged is there, what was not is there whole or not at all."""

import asyncio
import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.killing import Books, read_pairs, write_until
from lab.postgres import PostgresServer
from precast.store.engine.connect import connect
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.schema.schema import Schema

Kill = Callable[["subprocess.Popen[str]"], None]


async def migrate(location: Location) -> None:
    database = await connect(location, may_create=True)
    await Schema(database).expand()
    await database.close()


def kill_writer(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)


def run_rounds(location: Location, rounds: int, name: str, kill: Kill = kill_writer) -> None:
    """Crash after crash on one database; after each, every promise so far is kept."""
    seed = int.from_bytes(os.urandom(4))
    chance = random.Random(seed)
    asyncio.run(migrate(location))
    acked: set[int] = set()
    unacknowledged: list[int] = []
    for number in range(rounds):
        books = write_until(location, 1 + number * 1_000_000, chance.randint(1, 2_000), kill)
        acked |= books.acked
        unacknowledged.append(len(books.unacknowledged))
        verify(location, acked, books, seed)
    print(
        f"\n{name}: {rounds} kills, seed {seed}; {len(acked)} acknowledged, all there;"
        f" unacknowledged at each kill: {unacknowledged}"
    )


def verify(location: Location, acked: set[int], books: Books, seed: int) -> None:
    found = asyncio.run(read_pairs(location))
    assert books.unacknowledged, f"nothing was under way at the kill, it proves nothing (seed {seed})"
    assert acked <= found.records, f"lost: {sorted(acked - found.records)[:10]} (seed {seed})"
    assert found.halves == set(), f"half written: {sorted(found.halves)[:10]} (seed {seed})"
    refused = {number for number, code in books.failed.items() if code != "STORE-008"}
    assert refused & found.records == set(), f"refused but stored (seed {seed})"


def kill_server(server: PostgresServer) -> Kill:
    """The database dies instead; it is started again, and the writer is ended while it writes to the new one."""

    def kill(process: "subprocess.Popen[str]") -> None:
        server.kill()
        server.start()
        kill_writer(process)

    return kill


@pytest.fixture
def sqlite(tmp_path: Path) -> SqliteLocation:
    return SqliteLocation(tmp_path / "precast.db")


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.mark.timeout(300)
def test_killed_writer_on_sqlite_keeps_every_acknowledged_pair(sqlite: SqliteLocation) -> None:
    run_rounds(sqlite, 3, "kill -9 of the writer, SQLite")


@pytest.mark.timeout(300)
def test_killed_writer_on_postgresql_keeps_every_acknowledged_pair(own_server: PostgresServer) -> None:
    run_rounds(PostgresLocation(own_server.url()), 3, "kill -9 of the writer, PostgreSQL")


@pytest.mark.timeout(300)
def test_killed_postgresql_keeps_every_acknowledged_pair(own_server: PostgresServer) -> None:
    run_rounds(PostgresLocation(own_server.url()), 3, "kill -9 of PostgreSQL", kill_server(own_server))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_kills_on_sqlite_keep_every_acknowledged_pair(sqlite: SqliteLocation) -> None:
    run_rounds(sqlite, 50, "kill -9 of the writer, SQLite")


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_kills_on_postgresql_keep_every_acknowledged_pair(own_server: PostgresServer) -> None:
    run_rounds(PostgresLocation(own_server.url()), 50, "kill -9 of the writer, PostgreSQL")


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_kills_of_postgresql_keep_every_acknowledged_pair(own_server: PostgresServer) -> None:
    run_rounds(PostgresLocation(own_server.url()), 50, "kill -9 of PostgreSQL", kill_server(own_server))
