"""Writes to a disk of a few megabytes that runs full at the Nth page of a write.

    unshare -m python -m lab.small_disk sqlite|postgresql|agent DIRECTORY FREE_PAGES…

It runs in its own mount namespace, so the disk disappears with the process. For each number of free pages it writes some pairs, fills the
disk except for those pages, tries a large pair, frees the disk, and compares the stored pairs with the acknowledged ones. It prints one
JSON line each, which the test checks.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from lab.pairs import Pairs, StoredPairs
from lab.postgres import PostgresServer
from precast.agent.state.spool import Importance, Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.base.errors import PrecastError, UnavailableError
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import PostgresLocation, SqliteLocation
from precast.store.schema.check import Level, inspect
from precast.store.schema.schema import Schema

PAGE_BYTES = 4096
# More than twenty-five pages, so that a write can fail at any of its pages.
LARGE_BYTES = 100_000


def mount(directory: Path, megabytes: int) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(directory)], check=True)


def unmount(directory: Path) -> None:
    subprocess.run(["umount", "--lazy", str(directory)], check=True)


def fill(path: Path, free_pages: int) -> None:
    """Leave exactly this many pages free."""
    space = os.statvfs(path.parent)
    size_bytes = space.f_bavail * space.f_frsize - free_pages * PAGE_BYTES
    with path.open("wb") as file, contextlib.suppress(OSError):
        file.write(b"\0" * max(size_bytes, 0))


@contextlib.asynccontextmanager
async def opened(location: SqliteLocation | PostgresLocation) -> AsyncIterator[Database]:
    database = await connect(location, may_create=True)
    try:
        yield database
    finally:
        await database.close()


async def try_large(pairs: Pairs, number: int) -> PrecastError | None:
    try:
        await pairs.write(number, LARGE_BYTES)
    except UnavailableError as error:
        return error
    return None


def line(
    free_pages: int,
    earlier: int,
    error: PrecastError | None,
    found: StoredPairs,
    after: StoredPairs,
    problems: list[str],
) -> str:
    return json.dumps(
        {
            "free_pages": free_pages,
            "earlier": earlier,
            "code": error.code if error else None,
            "message": error.render() if error else None,
            "found_when_full": sorted(found.records),
            "halves_when_full": sorted(found.halves),
            "found_after": sorted(after.records),
            "halves_after": sorted(after.halves),
            "problems": problems,
        }
    )


async def on_sqlite(directory: Path, free_pages: int) -> str:
    earlier = 3
    async with opened(SqliteLocation(directory / "precast.db")) as database:
        await Schema(database).expand()
        pairs = Pairs(database)
        for number in range(1, earlier + 1):
            await pairs.write(number)
        await pairs.read()
        fill(directory / "ballast", free_pages)
        error = await try_large(pairs, earlier + 1)
        found = await pairs.read()
        (directory / "ballast").unlink()
        await pairs.write(earlier + 2)
        after = await pairs.read()
        problems = [finding.text for finding in await inspect(database) if finding.level is Level.REFUSED]
    return line(free_pages, earlier, error, found, after, problems)


async def on_postgres(directory: Path, free_pages: int, server: PostgresServer, first: int) -> str:
    location = PostgresLocation(server.url())
    async with opened(location) as database:
        await Schema(database).expand()
        pairs = Pairs(database)
        await pairs.write(first)
        fill(directory / "ballast", free_pages)
        # Bodies are stored uncompressed, so some of these writes need a new page of the table or of the log.
        error = None
        earlier = first
        while error is None and earlier < first + 50:
            error = await try_large(pairs, earlier + 1)
            earlier += error is None
        (directory / "ballast").unlink()
    # PostgreSQL stops if it cannot write its log: then it is started again, as an operator would do.
    if not server.is_running():
        server.start()
    server.wait_until_ready()
    async with opened(location) as database:
        found = await Pairs(database).read()
        await Pairs(database).write(earlier + 2)
        after = await Pairs(database).read()
        problems = [finding.text for finding in await inspect(database) if finding.level is Level.REFUSED]
    return line(free_pages, earlier, error, found, after, problems)


def on_agent(directory: Path, free_pages: int) -> str:
    """Do the same with an agent's local store: three records, a large one that may not fit, and one more when space is free again."""
    root = directory / "root"
    store = LocalStore.open(root, lambda: "one")
    spool = Spool(store, SpoolLimits())
    for number in (1, 2, 3):
        spool.put("event", json.dumps([number]).encode(), Importance.EVENT)
    fill(directory / "ballast", free_pages)
    error: PrecastError | None = None
    try:
        spool.put("event", json.dumps([4, "x" * LARGE_BYTES]).encode(), Importance.EVENT)
    except UnavailableError as caught:
        error = caught
    store.close()
    (directory / "ballast").unlink()
    store = LocalStore.open(root, lambda: "two")
    Spool(store, SpoolLimits()).put("event", b"[5]", Importance.EVENT)
    damage: str | None = None
    try:
        store.check()
    except UnavailableError as caught:
        damage = caught.message
    kept = [json.loads(body)[0] for (body,) in store.read("SELECT body FROM record ORDER BY id")]
    store.close()
    return json.dumps(
        {
            "free_pages": free_pages,
            "code": error.code if error else None,
            "message": error.render() if error else None,
            "kept": kept,
            "damage": damage,
        }
    )


def main() -> None:
    engine, directory, *pages = sys.argv[1:]
    place = Path(directory)
    if engine == "agent":
        for free_pages in map(int, pages):
            mount(place, 2)
            print(on_agent(place, free_pages), flush=True)
            unmount(place)
        return
    if engine == "sqlite":
        for free_pages in map(int, pages):
            mount(place, 2)
            print(asyncio.run(on_sqlite(place, free_pages)), flush=True)
            unmount(place)
        return
    mount(place, 160)
    with PostgresServer(
        directory=place, wal_segment_mb=1, settings={"min_wal_size": "2MB", "max_wal_size": "8MB"}
    ) as server:
        for number, free_pages in enumerate(map(int, pages)):
            print(asyncio.run(on_postgres(place, free_pages, server, 1 + number * 1000)), flush=True)


if __name__ == "__main__":
    main()
