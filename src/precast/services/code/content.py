"""Content that people send: received in bounded memory, kept once, collected when nobody names it.

What is larger than a chunk first goes to a file without a name: only content whose digest was checked gets into the database,
so nobody can put something false in the place of a digest. A file is gone with its process.
"""

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO

from precast.base import digests
from precast.base.errors import PrecastError
from precast.services.code import issues as issues
from precast.store import issues as store_issues
from precast.store.code.blobs import CHUNK_BYTES, Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.wire.code.content_frames import CutOff, FrameReader, Head

log = logging.getLogger("precast.content")

MAX_BYTES = 64 * 1024 * 1024
MAX_ASKED = 2_000
# Chunks in one transaction: a writer beside us never waits long.
BITE = 4
# Small contents in one transaction.
SMALL = 200
# Uploads at once, of a process.
UPLOADS = 16
# Content that nobody names yet stays this long: whoever has sent it is about to name it.
GRACE = timedelta(days=1)
KEEP_VERSIONS = 30
PAGE = 500
EVERY_S = 6 * 3600.0


def owner_of_tree(version: str) -> str:
    """Who names the files of a tree."""
    return f"tree:{version}"


class ContentService:
    """Takes content in and gives it out."""

    def __init__(self, database: Database, blobs: Blobs, room: Path) -> None:
        self._database = database
        self._blobs = blobs
        self._room = room
        self._uploads = asyncio.Semaphore(UPLOADS)

    async def missing(self, asked: Sequence[str]) -> list[str]:
        """Which of these are not there; the others stay for as long as it takes to name them.

        Raises InputError ENV-014 for what are no digests, or too many.
        """
        if len(asked) > MAX_ASKED or not all(map(digests.is_digest, asked)):
            raise issues.BAD_DIGESTS.error(limit=MAX_ASKED)
        return await self._database.write(self._answering, sorted(set(asked)))

    def _answering(self, asked: Sequence[str]) -> Transaction[list[str]]:
        known = yield from self._blobs.sizes(asked)
        yield from self._blobs.touching(list(known), self._database.clock.now() - GRACE / 2)
        return [digest for digest in asked if digest not in known]

    async def receive(self, parts: AsyncIterator[bytes]) -> int:
        """Keep the contents that come in frames; how many.

        Raises InputError ENV-010 for one that has not its digest, ENV-011 for one that is too large, ENV-012 if the body ends inside a
        frame. Those before it are kept. Cancelling leaves nothing that can be read, or all of it.
        """
        count = 0
        frames = FrameReader(parts)
        small: dict[str, bytes] = {}
        async with self._uploads:
            try:
                while (head := await frames.next_head()) is not None:
                    if head.size > MAX_BYTES:
                        raise issues.CONTENT_TOO_LARGE.error(limit=MAX_BYTES)
                    if head.size > CHUNK_BYTES:
                        await self._receive_large(head, frames.content(head.size))
                    else:
                        small[head.digest] = await _receive_small(head, frames.content(head.size))
                    if len(small) >= SMALL or sum(map(len, small.values())) >= BITE * CHUNK_BYTES:
                        await self._database.write(self._putting, small)
                        small = {}
                    count += 1
            except CutOff:
                raise issues.CONTENT_CUT_OFF.error(reason="it ends inside a file") from None
            if small:
                await self._database.write(self._putting, small)
        return count

    def _putting(self, contents: Mapping[str, bytes]) -> Transaction[None]:
        missing = yield from self._answering(list(contents))
        for digest in missing:
            yield from self._blobs.putting(digest, contents[digest])

    async def _receive_large(self, head: Head, parts: AsyncIterator[bytes]) -> None:
        try:
            with tempfile.TemporaryFile(dir=self._room) as file:
                running = hashlib.sha256()
                async for part in parts:
                    running.update(part)
                    file.write(part)
                if running.hexdigest() != head.digest:
                    raise issues.WRONG_CONTENT.error(digest=head.digest)
                await self._store(head, file)
        except OSError as error:
            raise issues.NO_ROOM.error(place=self._room, reason=error.strerror or error) from None

    async def _store(self, head: Head, file: IO[bytes]) -> None:
        if not await self._database.write(self._answering, [head.digest]):
            return
        file.seek(0)
        await self._database.write(self._blobs.beginning, head.digest, head.size)
        count = 0
        while bite := [chunk for _ in range(BITE) if (chunk := file.read(CHUNK_BYTES))]:
            await self._database.write(self._blobs.adding, head.digest, count, bite)
            count += len(bite)
        if not await self._database.write(self._blobs.finishing, head.digest, count):
            raise issues.CONTENT_CUT_OFF.error(reason="a part of it was collected meanwhile")

    async def read(self, digest: str) -> bytes:
        """Content that is small. Raises NotFoundError ENV-013."""
        found = await self._blobs.read(digest) if digests.is_digest(digest) else None
        if found is None:
            raise issues.NO_CONTENT.error()
        return found


async def _receive_small(head: Head, parts: AsyncIterator[bytes]) -> bytes:
    data = b"".join([part async for part in parts])
    if digests.of_bytes(data) != head.digest:
        raise issues.WRONG_CONTENT.error(digest=head.digest)
    return data


class Collection:
    """Forgets old versions of environments, then content that nobody names. Several servers may do so at once.

    Whoever else names content (catalogs) does so by references of their own: nothing here needs to know of them.
    """

    def __init__(self, database: Database, blobs: Blobs, environments: Environments) -> None:
        self._database = database
        self._blobs = blobs
        self._environments = environments

    async def collect(self) -> int:
        """How many blobs are gone. Cancelling leaves the rest for the next time."""
        after = ""
        while page := await self._environments.list(after, PAGE):
            for one in page:
                await self._trim(one.name)
            after = page[-1].name
        return await self._sweep()

    async def _trim(self, environment: str) -> None:
        for number in await self._database.read(self._environments.oldest, environment, KEEP_VERSIONS, PAGE):
            version = await self._database.write(self._forgetting, environment, number)
            while version is not None and await self._database.write(self._unnaming, version):
                pass

    def _forgetting(self, environment: str, number: int) -> Transaction[str | None]:
        return (yield from self._environments.forgetting(environment, number))

    def _unnaming(self, version: str) -> Transaction[bool]:
        """Some references of a tree that no environment has any more are gone; False if there are none, or one has it again by now."""
        if (yield from self._environments.is_retained(version)):
            return False
        return (yield from self._blobs.forgetting(owner_of_tree(version), PAGE)) > 0

    async def _sweep(self) -> int:
        count = 0
        before = self._database.clock.now() - GRACE
        after: str | None = ""
        while after is not None:
            page = await self._blobs.unnamed(before, after, PAGE)
            for digest in page.unnamed:
                try:
                    count += await self._database.write(self._blobs.removing, digest, before)
                except PrecastError as error:
                    if not store_issues.CONSTRAINT.matches(error):  # somebody has just named it
                        raise
            after = page.after
        return count

    async def run(self) -> None:
        """Collect some times a day, for ever; a database that is away is asked again the next time."""
        while True:
            try:
                if count := await self.collect():
                    log.info("%d blobs that nobody names are removed", count)
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
                log.warning("nothing is collected: %s", error.message)
            await asyncio.sleep(EVERY_S)
