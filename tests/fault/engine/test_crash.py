"""Kill -9 under load: acknowledged writes are stored, and others are stored completely or not at all."""

import asyncio
import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.postgres import PostgresServer
from lab.writer_process import WriteLog, read_pairs, write_until
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
    """Crash repeatedly on one database; after each crash the database has every write acknowledged so far."""
    seed = int.from_bytes(os.urandom(4))
    chance = random.Random(seed)
    asyncio.run(migrate(location))
    acked: set[int] = set()
    unacknowledged: list[int] = []
    for number in range(rounds):
        log = write_until(location, 1 + number * 1_000_000, chance.randint(1, 2_000), kill)
        acked |= log.acked
        unacknowledged.append(len(log.unacknowledged))
        verify(location, acked, log, seed)
    print(
        f"\n{name}: {rounds} kills, seed {seed}; {len(acked)} acknowledged, all there;"
        f" unacknowledged at each kill: {unacknowledged}"
    )


def verify(location: Location, acked: set[int], log: WriteLog, seed: int) -> None:
    found = asyncio.run(read_pairs(location))
    assert log.unacknowledged, f"no write was in flight at the kill, so it proves nothing (seed {seed})"
    assert acked <= found.records, f"lost: {sorted(acked - found.records)[:10]} (seed {seed})"
    assert found.halves == set(), f"half written: {sorted(found.halves)[:10]} (seed {seed})"
    refused = {number for number, code in log.failed.items() if code != "STORE-008"}
    assert refused & found.records == set(), f"refused but stored (seed {seed})"


def kill_server(server: PostgresServer) -> Kill:
    """Kill the database instead, start it again, and kill the writer while it writes to the restarted database."""

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
