"""Deploys to a server's database on a disk that runs full during the deploy.

    unshare -m python -m lab.deploy_disk DIRECTORY FREE_PAGES…

For each number of free pages it deploys a first version, fills the disk except for those pages, tries to deploy a second version, frees
the disk, and deploys the second version again. It prints one JSON line each, which the test checks.
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
from precast.services.code.content import ContentScope, ContentService
from precast.services.code.environments import EnvironmentService
from precast.services.code.file_trees import FileTree, TreeFile
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
# Larger than a chunk, so that the service writes it to a file on the same disk first.
LARGE_BYTES = 600_000


async def deploy(database: Database, room: Path, mark: bytes) -> int:
    """Upload a version's content, make it the current version, and return its number."""
    blobs = Blobs(database)
    content = ContentService(database, blobs, room)
    work, audit = WorkQueue(database, [REDECIDE]), AuditLog(database, TimeOrderedIds(database.clock))
    service = EnvironmentService(database, Environments(database), blobs, content, work, audit)
    large = mark * LARGE_BYTES
    tree = FileTree({"files/large": TreeFile(digests.of_bytes(large), len(large), False)})

    async def frames() -> AsyncIterator[bytes]:
        for data in (large, tree.encode()):
            yield encode_header(digests.of_bytes(data), len(data)) + data

    await content.receive(frames(), ContentScope("production", ()))
    return (await service.deploy("production", DeployBody(tree.version), "person:ann", ())).current.number


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
    outcome = {"code": error.code if error else None, "current": current.number, "again": again, "problems": problems}
    return json.dumps({"free_pages": free_pages, **outcome})


def main() -> None:
    directory, *pages = sys.argv[1:]
    for free_pages in map(int, pages):
        mount(Path(directory), MEGABYTES)
        print(asyncio.run(try_full(Path(directory), free_pages)), flush=True)
        unmount(Path(directory))


if __name__ == "__main__":
    main()
