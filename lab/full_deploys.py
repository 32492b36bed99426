"""Deploys to a server's database on a disk that is full at some piece of the way.

    unshare -m python -m lab.full_deploys DIRECTORY FREE_PAGES…

For each number of free pages: a first version, the disk filled but for those pages, a second version tried, the disk freed, the
same tried again. One JSON line each, for the test to judge.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from lab.small_disk import fill, mount, opened, unmount
from precast.base import digests
from precast.base.errors import PrecastError, UnavailableError
from precast.base.ids import TimeOrderedIds
from precast.services.code.content import ContentService
from precast.services.code.environments import EnvironmentService
from precast.services.code.file_trees import TreeFile, FileTree
from precast.services.work_kinds import REDECIDE
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.location import SqliteLocation
from precast.store.identity.audit import AuditLog
from precast.store.queue.queue import WorkQueue
from precast.store.schema.check import Level, inspect
from precast.store.schema.schema import Schema
from precast.wire.code.content_frames import encode_header
from precast.wire.code.environments import DeployBody

MEGABYTES = 8
# More than a chunk: it goes to a file on the same disk first.
LARGE_BYTES = 600_000


async def deploy(database: Database, room: Path, mark: bytes) -> int:
    """Send a version's content and make it current; its number."""
    blobs = Blobs(database)
    content = ContentService(database, blobs, room)
    work, audit = WorkQueue(database, [REDECIDE]), AuditLog(database, TimeOrderedIds(database.clock))
    service = EnvironmentService(database, Environments(database), blobs, content, work, audit)
    large = mark * LARGE_BYTES
    tree = FileTree({"files/large": TreeFile(digests.of_bytes(large), len(large), False)})

    async def frames() -> AsyncIterator[bytes]:
        for data in (large, tree.encode()):
            yield encode_header(digests.of_bytes(data), len(data)) + data

    await content.receive(frames())
    return (await service.deploy("production", DeployBody(tree.version), "person:ann")).current.number


async def try_full(directory: Path, free_pages: int) -> str:
    async with opened(SqliteLocation(directory / "precast.db")) as database:
        await Schema(database).expand()
        await deploy(database, directory, b"1")
        fill(directory / "ballast", free_pages)
        error: PrecastError | None = None
        try:
            await deploy(database, directory, b"2")
        except UnavailableError as caught:
            error = caught
        current = await Environments(database).find_current("production")
        (directory / "ballast").unlink()
        again = await deploy(database, directory, b"2")
        problems = [finding.text for finding in await inspect(database) if finding.level is Level.REFUSED]
    assert current is not None
    found = {"code": error.code if error else None, "current": current.number, "again": again, "problems": problems}
    return json.dumps({"free_pages": free_pages, **found})


def main() -> None:
    directory, *pages = sys.argv[1:]
    for free_pages in map(int, pages):
        mount(Path(directory), MEGABYTES)
        print(asyncio.run(try_full(Path(directory), free_pages)), flush=True)
        unmount(Path(directory))


if __name__ == "__main__":
    main()
