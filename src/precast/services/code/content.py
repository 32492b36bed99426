"""Uploaded content: received in bounded memory, stored once for each digest, deleted when nothing refers to it.

Content larger than a chunk is first written to an unnamed temporary file: only content whose digest was verified enters the database,
so no client can store wrong content under a digest. The temporary file disappears with its process.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO

from precast.base import digests
from precast.services.code import issues
from precast.store.code.blobs import CHUNK_BYTES, Blobs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.wire.code.content_frames import FrameHeader, FrameReader, TruncatedBody

MAX_BYTES = 64 * 1024 * 1024
MAX_DIGESTS = 2_000
# Chunks in one transaction: few enough that other writers do not wait long.
CHUNK_BATCH = 4
# Small contents in one transaction.
SMALL_BATCH = 200
# Concurrent uploads of a process.
MAX_UPLOADS = 16
# Content without references is kept this long, because the client that uploaded it is about to refer to it.
GRACE = timedelta(days=1)


def tree_owner(version: str) -> str:
    """The owner of the references to the files of a tree."""
    return f"tree:{version}"


class ContentService:
    """Receives and reads content."""

    def __init__(self, database: Database, blobs: Blobs, spool: Path) -> None:
        self._database = database
        self._blobs = blobs
        self._spool = spool
        self._uploads = asyncio.Semaphore(MAX_UPLOADS)

    async def find_missing(self, wanted: Sequence[str]) -> list[str]:
        """Find the digests whose content is not stored; the other content is kept long enough to refer to it.

        Raises InputError ENV-014 if a digest is invalid, or if there are too many.
        """
        if len(wanted) > MAX_DIGESTS or not all(map(digests.is_digest, wanted)):
            raise issues.BAD_DIGESTS.error(limit=MAX_DIGESTS)
        return await self._database.write(self._find_missing, sorted(set(wanted)))

    def _find_missing(self, wanted: Sequence[str]) -> Transaction[list[str]]:
        known = yield from self._blobs.find_sizes(wanted)
        yield from self._blobs.touch(list(known), self._database.clock.now() - GRACE / 2)
        return [digest for digest in wanted if digest not in known]

    async def receive(self, parts: AsyncIterator[bytes]) -> int:
        """Store the contents of a body in frames; returns how many.

        Raises InputError ENV-010 for content with another digest, ENV-011 for content that is too large, ENV-012 if the body ends
        inside a frame. The contents before that are stored. Cancelling leaves each content stored completely or not at all.
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
                    if len(small) >= SMALL_BATCH or sum(map(len, small.values())) >= CHUNK_BATCH * CHUNK_BYTES:
                        await self._database.write(self._put_missing, small)
                        small = {}
                    count += 1
            except TruncatedBody:
                raise issues.CONTENT_INCOMPLETE.error(reason="the body ends inside a file") from None
            if small:
                await self._database.write(self._put_missing, small)
        return count

    def _put_missing(self, contents: Mapping[str, bytes]) -> Transaction[None]:
        missing = yield from self._find_missing(list(contents))
        for digest in missing:
            yield from self._blobs.put(digest, contents[digest])

    async def _receive_large(self, head: FrameHeader, parts: AsyncIterator[bytes]) -> None:
        try:
            with tempfile.TemporaryFile(dir=self._spool) as file:
                digest = hashlib.sha256()
                async for part in parts:
                    digest.update(part)
                    file.write(part)
                if digest.hexdigest() != head.digest:
                    raise issues.WRONG_CONTENT.error(digest=head.digest)
                await self._store(head, file)
        except OSError as error:
            raise issues.NO_DISK_SPACE.error(place=self._spool, reason=error.strerror or error) from None

    async def _store(self, head: FrameHeader, file: IO[bytes]) -> None:
        if not await self._database.write(self._find_missing, [head.digest]):
            return
        file.seek(0)
        await self._database.write(self._blobs.begin, head.digest, head.size)
        count = 0
        while chunks := [chunk for _ in range(CHUNK_BATCH) if (chunk := file.read(CHUNK_BYTES))]:
            await self._database.write(self._blobs.add_chunks, head.digest, count, chunks)
            count += len(chunks)
        if not await self._database.write(self._blobs.finish, head.digest, count):
            raise issues.CONTENT_INCOMPLETE.error(reason="a part of it was deleted as unreferenced in the meantime")

    async def read(self, digest: str) -> bytes:
        """Read small content whole. Raises NotFoundError ENV-013."""
        data = await self._blobs.read(digest) if digests.is_digest(digest) else None
        if data is None:
            raise issues.NO_CONTENT.error()
        return data


async def _receive_small(head: FrameHeader, parts: AsyncIterator[bytes]) -> bytes:
    data = b"".join([part async for part in parts])
    if digests.of_bytes(data) != head.digest:
        raise issues.WRONG_CONTENT.error(digest=head.digest)
    return data
