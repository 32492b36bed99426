"""Gives a node its served catalog, and the contents that this catalog names."""

from typing import NamedTuple

from precast.base import digests
from precast.services.catalogs import issues
from precast.services.catalogs.release_pointer import ReleasePointers
from precast.services.catalogs.skeletons import Skeletons
from precast.services.code import issues as code_issues
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.documents import content_owner
from precast.store.catalogs.released import Release
from precast.store.code.blobs import Blobs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.sessions.sessions import Sessions


class ServedCatalog(NamedTuple):
    """The release that a node is served, and its signed pointer. The body is filled with the node's own values; None if the node has it
    already."""

    release: Release
    pointer: str
    body: bytes | None


class CatalogDownloads:
    """Reads served catalogs; holds only caches of documents and of signed pointers."""

    def __init__(
        self, database: Database, catalogs: Catalogs, blobs: Blobs, skeletons: Skeletons, pointers: ReleasePointers
    ) -> None:
        self._database, self._catalogs, self._blobs = database, catalogs, blobs
        self._skeletons, self._pointers = skeletons, pointers
        self._sessions = Sessions(database)

    async def fetch(self, node: str, known: str) -> ServedCatalog:
        """The release that a node is served, with its body unless the node knows it.

        Raises NotFoundError RELEASE-001, ConflictError RELEASE-002 for another catalog of a node that is on hold, and the signer's error.
        """
        release = await self._catalogs.released.read_served(node)
        if release is None:
            raise issues.NO_CATALOG.error(node=node, reason="nothing was released to it")
        pointer = await self._pointers.header(release)
        if release.digest == known:
            return ServedCatalog(release, pointer, None)
        if await self._database.read(self._sessions.filter_held, [node]):
            raise issues.HELD_NODE.error(node=node)
        return ServedCatalog(release, pointer, await self._skeletons.fill(release.skeleton, release.fill))

    async def size_of_content(self, node: str, digest: str) -> int:
        """The size of a content that the node's served catalog names. Raises NotFoundError ENV-013 for any other."""
        size = await self._database.read(self._find_size, node, digest) if digests.is_digest(digest) else None
        if size is None:
            raise code_issues.NO_CONTENT.error()
        return size

    def _find_size(self, node: str, digest: str) -> Transaction[int | None]:
        served = yield from self._catalogs.released.find_served(node)
        if served is None or not (yield from self._blobs.has_reference(content_owner(served.skeleton), digest)):
            return None
        return (yield from self._blobs.find_sizes([digest])).get(digest)
