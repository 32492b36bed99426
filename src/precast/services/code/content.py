"""Uploaded content: received in bounded memory, stored once for each digest, deleted when nothing refers to it.

Content larger than a chunk is spooled: only content whose digest was verified enters the database.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from precast.base import digests
from precast.services.code import issues
from precast.services.code.spooled_content import CHUNK_BATCH, spooled, store_file
from precast.store.code.blobs import CHUNK_BYTES, Blobs
from precast.store.code.environments import Environments
from precast.store.code.uploads import Uploads
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.wire.code.content_frames import FrameHeader, FrameReader, TruncatedBody

MAX_BYTES = 64 * 1024 * 1024
MAX_DIGESTS = 2_000
# Small contents in one transaction.
SMALL_BATCH = 200

# Content without references is kept this long, because the client that uploaded it is about to refer to it.
GRACE = timedelta(days=1)
# Versions of an environment whose content its callers may name; more than are kept.
MAX_VERSIONS = 500


class ContentScope(NamedTuple):
    """What a caller may know of: the environment they upload for, and the environments that they may read; none means all."""

    environment: str
    readable: tuple[str, ...]


def tree_owner(version: str) -> str:
    """The owner of the references to the files of a tree."""
    return f"tree:{version}"


class ContentService:
    """Receives and reads content.

    Content is visible to a caller if it was uploaded for an environment that they may read, or if a version of such an environment has
    it. Any other content is treated as if it were not stored: the caller uploads it again, which takes the same steps either way.
    """

    def __init__(self, database: Database, blobs: Blobs, spool: Path) -> None:
        self._database = database
        self._blobs = blobs
        self._uploaded = Uploads()
        self._environments = Environments(database)
        self._spool = spool

    async def find_missing(self, wanted: Sequence[str], scope: ContentScope) -> list[str]:
        """Find the digests whose content the caller must upload; the other content is kept long enough to refer to it.

        Raises InputError ENV-014 if a digest is invalid, or if there are too many.
        """
        if len(wanted) > MAX_DIGESTS or not all(map(digests.is_digest, wanted)):
            raise issues.BAD_DIGESTS.error(limit=MAX_DIGESTS)
        return await self._database.write(self._find_missing, sorted(set(wanted)), scope)

    def _find_missing(self, wanted: Sequence[str], scope: ContentScope) -> Transaction[list[str]]:
        visible = yield from self.find_visible(wanted, scope)
        yield from self._keep(list(visible), scope)
        return [digest for digest in wanted if digest not in visible]

    def _keep(self, digests: Sequence[str], scope: ContentScope) -> Transaction[None]:
        """Keep content, and the right to name it, long enough to refer to it."""
        now = self._database.clock.now()
        yield from self._blobs.touch(digests, now - GRACE / 2)
        yield from self._uploaded.touch(scope.readable or (scope.environment,), digests, now - GRACE / 2, now)

    def find_visible(self, wanted: Sequence[str], scope: ContentScope) -> Transaction[dict[str, int]]:
        """Return the sizes of those contents that are stored and visible to the caller."""
        sizes = yield from self._blobs.find_sizes(wanted)
        if not scope.readable:
            return sizes
        owners: list[str] = []
        for environment in scope.readable:
            versions = yield from self._environments.list_versions(environment, MAX_VERSIONS)
            owners += map(tree_owner, versions)
        visible = yield from self._blobs.filter_referenced(owners, wanted)
        for start in range(0, len(wanted), MAX_DIGESTS):
            batch = wanted[start : start + MAX_DIGESTS]
            visible |= yield from self._uploaded.filter_uploaded(scope.readable, batch)
        return {digest: size for digest, size in sizes.items() if digest in visible}

    async def receive(self, parts: AsyncIterator[bytes], scope: ContentScope) -> int:
        """Store the contents of a body in frames; returns how many.

        Raises InputError ENV-010 for content with another digest, ENV-011 for content that is too large, ENV-012 if the body ends
        inside a frame. The contents before that are stored. Cancelling leaves each content stored completely or not at all.
        """
        count = 0
        frames = FrameReader(parts)
        small: dict[str, bytes] = {}
        try:
            while (head := await frames.next_head()) is not None:
                if head.size > MAX_BYTES:
                    raise issues.CONTENT_TOO_LARGE.error(limit=MAX_BYTES)
                if head.size > CHUNK_BYTES:
                    await self._receive_large(head, frames.content(head.size), scope)
                else:
                    small[head.digest] = await _receive_small(head, frames.content(head.size))
                if len(small) >= SMALL_BATCH or sum(map(len, small.values())) >= CHUNK_BATCH * CHUNK_BYTES:
                    await self._database.write(self._put_missing, small, scope)
                    small = {}
                count += 1
        except TruncatedBody:
            raise issues.CONTENT_INCOMPLETE.error(reason="the body ends inside a file") from None
        if small:
            await self._database.write(self._put_missing, small, scope)
        return count

    def _put_missing(self, contents: Mapping[str, bytes], scope: ContentScope) -> Transaction[None]:
        """Store contents that the caller cannot see. One that is stored all the same stays as it is, after the same statements."""
        missing = yield from self._find_missing(list(contents), scope)
        for digest in missing:
            yield from self._blobs.put(digest, contents[digest])
        yield from self._blobs.touch(missing, self._database.clock.now() - GRACE / 2)
        yield from self._uploaded.add(scope.environment, list(contents), self._database.clock.now())

    async def _receive_large(self, head: FrameHeader, parts: AsyncIterator[bytes], scope: ContentScope) -> None:
        async with spooled(parts, head.digest, self._spool) as file:
            if await self._database.write(self._find_missing, [head.digest], scope):
                await store_file(self._database, self._blobs, head.digest, head.size, file)
                await self._database.write(self._record_upload, head.digest, scope)

    def _record_upload(self, digest: str, scope: ContentScope) -> Transaction[None]:
        yield from self._blobs.touch([digest], self._database.clock.now() - GRACE / 2)
        yield from self._uploaded.add(scope.environment, [digest], self._database.clock.now())

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
