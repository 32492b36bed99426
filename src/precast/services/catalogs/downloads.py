"""Gives a node its served catalog, the catalogs of entry points that a job at work on it holds, and what these name: contents and secrets.

Whether a catalog, a content or a secret does not exist or is not for this node looks alike.
"""

from collections.abc import Sequence
from typing import NamedTuple

from precast.base import digests
from precast.services.catalogs import issues
from precast.services.catalogs.release_pointer import ReleasePointers
from precast.services.catalogs.skeletons import Skeletons
from precast.services.code import issues as code_issues
from precast.services.secrets.values import SecretValues
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.documents import content_owner
from precast.store.catalogs.entry_holds import EntryHold
from precast.store.catalogs.released import Release
from precast.store.code.blobs import Blobs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import Attempts
from precast.store.secrets.secrets import Secrets
from precast.store.sessions.sessions import Sessions
from precast.wire.secrets import delivery
from precast.wire.secrets.delivery import SecretsBody

# How many values are opened before the size of the answer is looked at.
OPENED_AT_ONCE = 50


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
        self,
        database: Database,
        catalogs: Catalogs,
        blobs: Blobs,
        skeletons: Skeletons,
        pointers: ReleasePointers,
        secrets: SecretValues,
    ) -> None:
        self._database, self._catalogs, self._blobs = database, catalogs, blobs
        self._skeletons, self._pointers, self._secrets = skeletons, pointers, secrets
        self._references = Secrets(database)
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

    async def open_secrets(self, node: str, asked: SecretsBody) -> delivery.SecretValues:
        """Values of secrets in a catalog that the node may fetch now: as many of those asked for as an answer has room for.

        Raises ConflictError RELEASE-007 if the node is served another catalog, RELEASE-002 for a node that is on hold, NotFoundError
        RELEASE-006 if it may not fetch the catalog of this entry point, RELEASE-008 for a secret that the catalog does not have.
        """
        uses = await self._database.read(self._find_secrets, node, asked)
        if await self._database.read(self._sessions.filter_held, [node]):
            raise issues.HELD_NODE.error(node=node)
        values: list[delivery.SecretValue] = []
        size_bytes = 0
        wanted = list(dict.fromkeys(asked.refs))
        for begin in range(0, len(wanted), OPENED_AT_ONCE):
            refs = wanted[begin : begin + OPENED_AT_ONCE]
            opened = await self._open(uses, refs)
            for ref in refs:
                if ref not in opened:
                    raise issues.NO_SECRET.error()
                values.append(opened[ref])
                size_bytes += len(opened[ref].value)
                if size_bytes > delivery.MAX_ANSWER_BYTES:
                    return delivery.SecretValues(values)
        return delivery.SecretValues(values)

    async def size_of_content(self, node: str, digest: str) -> int:
        """The size of a content that a catalog names which the node may fetch now. Raises NotFoundError ENV-013 for any other."""
        size = await self._database.read(self._find_size, node, digest) if digests.is_digest(digest) else None
        if size is None:
            raise code_issues.NO_CONTENT.error()
        return size

    async def _open(self, uses: dict[str, str], refs: Sequence[str]) -> dict[str, delivery.SecretValue]:
        """Open the values of these references, which have their environments in `uses`."""
        opened: dict[str, delivery.SecretValue] = {}
        for environment in sorted({uses[ref] for ref in refs}):
            own = [ref for ref in refs if uses[ref] == environment]
            values = await self._secrets.open_values(environment, own)
            opened |= {value.ref: delivery.SecretValue(*value) for value in values}
        return opened

    def _find_secrets(self, node: str, asked: SecretsBody) -> Transaction[dict[str, str]]:
        """The environments of secrets, by reference, if the node may fetch the catalog now and it names all of them."""
        if asked.entry:
            hold = yield from self._find_hold(node, asked.entry, asked.catalog)
            if hold is None:
                raise issues.NO_ENTRY.error()
            document = hold.skeleton
        else:
            served = yield from self._catalogs.released.find_served(node)
            if served is None or served.digest != asked.catalog:
                raise issues.NOT_SERVED.error(digest=asked.catalog[:12])
            document = served.skeleton
        refs = sorted(set(asked.refs))
        uses = {use.ref: use.environment for use in (yield from self._references.filter_referred(document, refs))}
        if len(uses) < len(refs):
            raise issues.NO_SECRET.error()
        return uses

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
