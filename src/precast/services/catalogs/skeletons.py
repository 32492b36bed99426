"""Caches the documents of catalogs as skeletons that are ready to be filled.

Splitting a document at its holes takes milliseconds, filling it microseconds; and after a release many nodes ask for the same document
at once. So each document is split once, however many requests wait for it. Documents never change, so the cache is never stale.
"""

import asyncio
from collections import OrderedDict
from typing import Any

import msgspec

from precast.catalog.skeleton import Hole, Skeleton
from precast.store.catalogs.documents import Documents

MAX_BYTES = 64 * 1024 * 1024


class Skeletons:
    """A cache of rows, bounded by the bytes of the documents."""

    def __init__(self, documents: Documents, max_bytes: int = MAX_BYTES) -> None:
        self._documents = documents
        self._max_bytes = max_bytes
        self._bytes = 0
        self._cached: OrderedDict[str, Skeleton] = OrderedDict()
        self._splitting = asyncio.Lock()

    async def read(self, digest: str) -> Skeleton:
        """The document of this digest, which must be stored: a document that is referred to is never deleted."""
        skeleton = self._cached.get(digest)
        if skeleton is None:
            async with self._splitting:
                skeleton = self._cached.get(digest) or await self._split(digest)
        self._cached.move_to_end(digest)
        return skeleton

    async def fill(self, digest: str, fill: str) -> bytes:
        """The document of this digest with the values of its holes."""
        values: dict[Hole, Any] = {tuple(hole): value for hole, value in msgspec.json.decode(fill)}
        return (await self.read(digest)).fill(values)

    async def _split(self, digest: str) -> Skeleton:
        body = await self._documents.read(digest)
        assert body is not None, "a document that is referred to is never deleted"
        skeleton = self._cached[digest] = await asyncio.to_thread(Skeleton, body)
        self._bytes += skeleton.size
        while self._bytes > self._max_bytes and len(self._cached) > 1:
            self._bytes -= self._cached.popitem(last=False)[1].size
        return skeleton
