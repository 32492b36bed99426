"""How fast the store writes rows, with group commit and singly, on both databases, and how fast the work queue is; with peers.

    .venv/bin/python bench/store.py [--quick]

Rows have 20 KB and are durable (WAL and synchronous=FULL, fsync=on). "Single" is Precast's store with one row per transaction;
"stdlib sqlite3" and "asyncpg" are the bare drivers with the same work. `make peers` installs the peers.
"""

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg

from bench.report import finish, parse_quick, print_rows
from lab.postgres import PostgresServer
from precast.store.engine import group_commit
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.queue.kinds import WorkKind
from precast.store.queue.queue import WorkQueue
from precast.store.schema.schema import Schema

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".venv-peers" / "bin" / "python"
BODY = os.urandom(20_000)
WRITERS = 64
KIND = WorkKind("bench", max_items=10_000_000)

Rate = dict[str, float]

CREATE = {
    Dialect.SQLITE: ["CREATE TABLE row (id INTEGER PRIMARY KEY, body BLOB)"],
    Dialect.POSTGRESQL: [
        "CREATE TABLE row (id BIGSERIAL PRIMARY KEY, body BYTEA)",
        "ALTER TABLE row ALTER COLUMN body SET STORAGE EXTERNAL",
    ],
}
INSERT = Query("bench.insert", "INSERT INTO row (body) VALUES (:body)")


def create_table(dialect: Dialect) -> Transaction[None]:
    for statement in CREATE[dialect]:
        yield Query("bench.create", statement)()


def insert_row() -> Transaction[None]:
    yield INSERT(body=BODY)


@contextlib.asynccontextmanager
async def opened(location: Location) -> AsyncIterator[Database]:
    database = await connect(location, may_create=True)
    await Schema(database).expand()
    try:
        yield database
    finally:
        await database.close()


async def timed(count: int, workers: int, work: Callable[[int], Awaitable[object]]) -> Rate:
    """Run the work `count` times with some workers, and return the rate per second and the CPU time for each."""
    numbers = iter(range(count))

    async def run_worker() -> None:
        for number in numbers:
            await work(number)

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(run_worker() for _ in range(workers)))
    return {"per_s": count / (time.perf_counter() - started), "cpu_us": (time.process_time() - cpu) / count * 1e6}


async def rows(location: Location, count: int, *, max_group: int, workers: int) -> Rate:
    """Write rows with the store, in groups of at most this size, into the same table as the bare drivers and the peers."""
    before, group_commit.MAX_GROUP = group_commit.MAX_GROUP, max_group
    try:
        async with opened(location) as database:
            await database.write(create_table, database.dialect)
            return await timed(count, workers, lambda _: database.write(insert_row))
    finally:
        group_commit.MAX_GROUP = before


async def queue(location: Location, count: int) -> tuple[Rate, Rate]:
    """Enqueue items, then claim them in batches of 16 with four workers, and complete each in its own transaction."""
    async with opened(location) as database:
        work = WorkQueue(database, [KIND])
        enqueued = await timed(count, WRITERS, lambda number: work.enqueue("bench", str(number), b"x"))

        async def batch(number: int) -> None:
            claims = await work.claim("bench", f"worker{number}", limit=16, lease_s=60)
            await asyncio.gather(*(work.complete(claim) for claim in claims))

        done = await timed(count // 16 + 1, 4, batch)
        assert await work.list_waiting(limit=1) == []
    return enqueued, {"per_s": done["per_s"] * 16, "cpu_us": done["cpu_us"] / 16}


def bare_sqlite(path: Path, count: int) -> Rate:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(CREATE[Dialect.SQLITE][0])
    started, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        connection.execute("INSERT INTO row (body) VALUES (?)", (BODY,))
    rate = {"per_s": count / (time.perf_counter() - started), "cpu_us": (time.process_time() - cpu) / count * 1e6}
    connection.close()
    return rate


async def bare_asyncpg(url: str, count: int, connections: int) -> Rate:
    async with asyncpg.create_pool(url, min_size=connections, max_size=connections) as pool:
        for statement in CREATE[Dialect.POSTGRESQL]:
            await pool.execute(statement)
        return await timed(count, connections, lambda _: pool.execute("INSERT INTO row (body) VALUES ($1)", BODY))


def peer(script: str, *args: str) -> dict[str, Any] | None:
    if not PEERS.exists():
        return None
    done = subprocess.run(
        [PEERS, ROOT / "bench" / "peers" / script, *args], capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        print(f"{script}: {done.stderr.strip().splitlines()[-1]}")
        return None
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def measure_rows(directory: Path, server: PostgresServer, count: int) -> Iterator[tuple[str, str, Rate | None]]:
    """Engine, what, rate."""
    files = (SqliteLocation(directory / f"{number}.db") for number in range(100))
    few = count // 4

    def fresh() -> PostgresLocation:
        return PostgresLocation(server.url(server.create_database()))

    yield "SQLite", "grouped, 64 writers", asyncio.run(rows(next(files), count, max_group=256, workers=WRITERS))
    yield "SQLite", "single, 64 writers", asyncio.run(rows(next(files), few, max_group=1, workers=WRITERS))
    yield "SQLite", "single, 1 writer", asyncio.run(rows(next(files), few, max_group=1, workers=1))
    yield "SQLite", "stdlib sqlite3, a row a transaction", bare_sqlite(next(files).path, few)
    for group in (1, 64):
        rate = peer("rows_sqlalchemy.py", str(next(files).path), str(few // 64 * 64), str(group))
        yield "SQLite", f"SQLAlchemy, {group} a transaction", rate
    yield "PostgreSQL", "grouped, 64 writers", asyncio.run(rows(fresh(), count, max_group=256, workers=WRITERS))
    yield "PostgreSQL", "single, 64 writers", asyncio.run(rows(fresh(), few, max_group=1, workers=WRITERS))
    yield "PostgreSQL", "single, 1 writer", asyncio.run(rows(fresh(), few, max_group=1, workers=1))
    yield "PostgreSQL", "asyncpg, 1 connection", asyncio.run(bare_asyncpg(fresh().url, few, 1))
    yield "PostgreSQL", "asyncpg, 16 connections", asyncio.run(bare_asyncpg(fresh().url, few, 16))


def measure_queue(
    directory: Path, server: PostgresServer, count: int
) -> Iterator[tuple[str, str, Rate | None, Rate | None]]:
    """Engine, whose, enqueue rate, work rate."""
    yield "SQLite", "precast", *asyncio.run(queue(SqliteLocation(directory / "queue.db"), count))
    url = server.url(server.create_database())
    yield "PostgreSQL", "precast", *asyncio.run(queue(PostgresLocation(url), count))
    answer = peer("queue_procrastinate.py", server.url(server.create_database()), str(count // 4), "16")
    rates = (
        [{"per_s": answer[name]} if answer else None for name in ("enqueue_per_s", "work_per_s")]
        if answer
        else [None, None]
    )
    yield "PostgreSQL", "procrastinate", rates[0], rates[1]


def main() -> None:
    is_quick = parse_quick(__doc__)
    count = 2_000 if is_quick else 10_000
    with tempfile.TemporaryDirectory() as name, PostgresServer() as server:
        row_rates = list(measure_rows(Path(name), server, count))
        queue_rates = list(measure_queue(Path(name), server, count))
    print_rows(
        ["20 KB rows", "how", "rows/s", "CPU µs/row"],
        [(engine, what, rate and rate["per_s"], rate and rate["cpu_us"]) for engine, what, rate in row_rates],
    )
    print()
    print_rows(
        ["work queue", "whose", "enqueued/s", "claimed and completed/s"],
        [(engine, whose, into and into["per_s"], out and out["per_s"]) for engine, whose, into, out in queue_rates],
    )
    by_name = {(engine, what): rate for engine, what, rate in row_rates if rate}
    ratios = {
        f"{engine}: grouped against {what}": round(
            by_name[engine, "grouped, 64 writers"]["per_s"] / by_name[engine, what]["per_s"], 1
        )
        for engine in ("SQLite", "PostgreSQL")
        for what in ("single, 64 writers", "single, 1 writer")
    }
    print()
    print_rows(["ratio", "times"], list(ratios.items()))
    figures = {
        "rows": {f"{engine}, {what}": rate for engine, what, rate in row_rates},
        "queue": {f"{engine}, {whose}": {"enqueue": into, "work": out} for engine, whose, into, out in queue_rates},
        "ratios": ratios,
    }
    finish("store", is_quick, figures, [])


if __name__ == "__main__":
    main()
