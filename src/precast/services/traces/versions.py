"""Reads the versions of environments for walks and compiles: the files of a tree by path, and contents by digest."""

import asyncio

from precast.base.digests import Digest
from precast.services.code.file_trees import FileTree
from precast.services.traces import issues
from precast.store.code.blobs import Blobs


class Versions:
    """Versions of environments, read from the stored content."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def files(self, version: str) -> dict[str, Digest]:
        """The files of a version by path. Raises UnavailableError COMPILE-004 if it no longer exists."""
        # Decoding a large tree takes a good part of a second, so it runs in a thread.
        tree = await asyncio.to_thread(FileTree.decode, await self.content(Digest(version)))
        return {path: file.digest for path, file in tree.files.items()}

    async def content(self, digest: Digest) -> bytes:
        """A file of an environment. Raises UnavailableError COMPILE-004 if it no longer exists."""
        content = await self._blobs.read(digest)
        if content is None:
            raise issues.CONTENT_GONE.error(digest=digest)
        return content
