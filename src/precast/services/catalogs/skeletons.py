"""Catalogs' documents, ready to be filled: those that were used last.

Cutting a document at its holes takes milliseconds, filling it microseconds; and like nodes ask for the same one, all at once after a
release. So each is cut once, however many wait for it. Documents never change, so what is kept is always right.
"""

import asyncio
from collections import OrderedDict

from precast.catalog.skeleton import Skeleton
from precast.store.catalogs import Catalogs

MAX_BYTES = 64 * 1024 * 1024


class Skeletons:
    """A cache of rows, bounded by the bytes of the documents."""

    def __init__(self, catalogs: Catalogs, max_bytes: int = MAX_BYTES) -> None:
        self._catalogs = catalogs
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, Skeleton] = OrderedDict()
        self._cutting = asyncio.Lock()

    async def read(self, digest: str) -> Skeleton:
        """The document of this digest, which must be stored: one that something names is never removed."""
        found = self._kept.get(digest)
        if found is None:
            async with self._cutting:
                found = self._kept.get(digest) or await self._cut(digest)
        self._kept.move_to_end(digest)
        return found

    async def _cut(self, digest: str) -> Skeleton:
        body = await self._catalogs.read_document(digest)
        assert body is not None, "a document that is named is never removed"
        made = self._kept[digest] = await asyncio.to_thread(Skeleton, body)
        self._bytes += made.size
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].size
        return made
