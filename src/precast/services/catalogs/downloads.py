"""Gives a node its served catalog, the catalogs of entry points that a job at work on it holds, and the contents that these name.

Whether a catalog or a content does not exist or is not for this node looks alike.
"""

from typing import NamedTuple

from precast.base import digests
from precast.services.catalogs import issues
from precast.services.catalogs.release_pointer import ReleasePointers
from precast.services.catalogs.skeletons import Skeletons
from precast.services.code import issues as code_issues
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.documents import content_owner
from precast.store.catalogs.entry_holds import EntryHold
from precast.store.catalogs.released import Release
from precast.store.code.blobs import Blobs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import Attempts
from precast.store.sessions.sessions import Sessions


class ServedCatalog(NamedTuple):
    """The release that a node is served, and its signed pointer. The body is filled with the node's own values; None if the node has it
    already."""

    release: Release
    pointer: str
    body: bytes | None


class EntryDownload(NamedTuple):
    """The catalog of an entry point, filled with the node's own values, and its signed pointer."""

    digest: str
    pointer: str
    body: bytes


class CatalogDownloads:
    """Reads served and held catalogs; holds only caches of documents and of signed pointers."""

    def __init__(
        self, database: Database, catalogs: Catalogs, blobs: Blobs, skeletons: Skeletons, pointers: ReleasePointers
    ) -> None:
        self._database, self._catalogs, self._blobs = database, catalogs, blobs
        self._skeletons, self._pointers = skeletons, pointers
        self._sessions, self._attempts = Sessions(database), Attempts(database)

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

    async def fetch_entry(self, node: str, entry: str, digest: str) -> EntryDownload:
        """A catalog of an entry point that a job holds, of which this node has an attempt that it may begin or has begun.

        Raises NotFoundError RELEASE-006, ConflictError RELEASE-002 for a node that is on hold, and the signer's error.
        """
        hold = await self._database.read(self._find_hold, node, entry, digest) if digests.is_digest(digest) else None
        if hold is None:
            raise issues.NO_ENTRY.error()
        if await self._database.read(self._sessions.filter_held, [node]):
            raise issues.HELD_NODE.error(node=node)
        pointer = await self._pointers.entry_header(hold)
        return EntryDownload(digest, pointer, await self._skeletons.fill(hold.skeleton, hold.fill))

    async def size_of_content(self, node: str, digest: str) -> int:
        """The size of a content that a catalog names which the node may fetch now. Raises NotFoundError ENV-013 for any other."""
        size = await self._database.read(self._find_size, node, digest) if digests.is_digest(digest) else None
        if size is None:
            raise code_issues.NO_CONTENT.error()
        return size

    def _find_hold(self, node: str, entry: str, digest: str) -> Transaction[EntryHold | None]:
        jobs = yield from self._attempts.list_jobs_begun_on(node)
        return (yield from self._catalogs.holds.find(node, entry, digest, jobs)) if jobs else None

    def _find_size(self, node: str, digest: str) -> Transaction[int | None]:
        if not ((yield from self._is_of_served(node, digest)) or (yield from self._is_of_held(node, digest))):
            return None
        return (yield from self._blobs.find_sizes([digest])).get(digest)

    def _is_of_served(self, node: str, digest: str) -> Transaction[bool]:
        served = yield from self._catalogs.released.find_served(node)
        return served is not None and (yield from self._blobs.has_reference(content_owner(served.skeleton), digest))

    def _is_of_held(self, node: str, digest: str) -> Transaction[bool]:
        jobs = yield from self._attempts.list_jobs_begun_on(node)
        held = (yield from self._catalogs.holds.list_skeletons(node, jobs)) if jobs else []
        owners = [content_owner(skeleton) for skeleton in held]
        return bool(owners and (yield from self._blobs.filter_referenced(owners, [digest])))
