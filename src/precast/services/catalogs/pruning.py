"""Forgets what nobody needs any more: traces nobody walks, releases nobody goes back to, documents that nothing names.

Everything goes in small bites, and several servers may do it at once. Whatever is about to be used is taken hold of first, by a write
to its row: a chain by the decision that stages its leaf and by the compile that hangs another one to it, a document by the
compile that stores it and by the release that names it. Of two that meet, either what is used stays, or its user finds that it is gone and
does its work again. A catalog that a node is staged with, is served or was served within its retained releases is never touched,
nor the content it names.
"""

import asyncio
import logging
from datetime import datetime, timedelta
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.store import issues as store_issues
from precast.store.catalogs import Catalogs, content_owner
from precast.store.code.blobs import Blobs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.traces import Traces, Unused

log = logging.getLogger("precast.catalogs")

# Chains, documents and nodes that are looked at in one transaction.
PAGE = 200
# A document that nothing names yet stays this long: whoever has stored it is about to name it.
GRACE = timedelta(days=1)
EVERY_S = 6 * 3600.0


class Retention(NamedTuple):
    """How long a trace that nobody walks is kept, and how many releases of a node."""

    traces: timedelta = timedelta(days=30)
    releases: int = 10


class Pruned(NamedTuple):
    """How much is gone."""

    releases: int
    chains: int
    documents: int


class Pruning:
    """Holds no state between calls."""

    def __init__(
        self, database: Database, traces: Traces, catalogs: Catalogs, blobs: Blobs, retention: Retention | None = None
    ) -> None:
        self._database, self._traces, self._catalogs, self._blobs = database, traces, catalogs, blobs
        self._retention = retention or Retention()

    async def prune(self) -> Pruned:
        """Everything once, in the order in which one sets the other free. Cancelling leaves the rest for the next time."""
        releases = await self._trim_releases()
        chains = await self._prune_chains()
        return Pruned(releases, chains, await self._collect_documents())

    async def run(self) -> None:
        """Prune some times a day, for ever; a database that is away is asked again the next time."""
        while True:
            try:
                if any(gone := await self.prune()):
                    log.info("%d releases, %d traces and %d documents are forgotten", *gone)
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
                log.warning("nothing is pruned: %s", error.message)
            await asyncio.sleep(EVERY_S)

    async def _trim_releases(self) -> int:
        count, after, keep = 0, "", self._retention.releases
        while crowded := await self._database.read(self._catalogs.crowded, keep, after, PAGE):
            for node in crowded:
                count += await self._database.write(self._catalogs.trimming, node, keep)
            after = crowded[-1]
        return count

    async def _prune_chains(self) -> int:
        """From the ends of branches inwards: what another chain hangs at goes after that one."""
        before = self._database.clock.now() - self._retention.traces
        total = 0
        while True:
            count, after = 0, Unused("", 0, None)
            while page := await self._database.read(self._traces.unused, before, after, PAGE):
                count += await self._database.write(self._removing_chains, page, before)
                after = page[-1]
            total += count
            if not count:
                return total

    def _removing_chains(self, page: list[Unused], before: datetime) -> Transaction[int]:
        chosen = yield from self._catalogs.staged_by([one.id for one in page])
        named = yield from self._catalogs.named([one.catalog for one in page if one.catalog is not None])
        free = [one.id for one in page if one.id not in chosen and one.catalog not in named]
        return (yield from self._traces.removing(free, before)) if free else 0

    async def _collect_documents(self) -> int:
        await self._database.write(self._traces.naming_documents)
        before = self._database.clock.now() - GRACE
        count, after = 0, ""
        while page := await self._database.read(self._catalogs.unnamed, before, after, PAGE):
            used = await self._database.read(self._traces.naming, page)
            for digest in page:
                if digest not in used:
                    count += await self._collect(digest, before)
            after = page[-1]
        return count

    async def _collect(self, digest: str, before: datetime) -> bool:
        try:
            return await self._database.write(self._collecting, digest, before)
        except PrecastError as error:
            if not store_issues.CONSTRAINT.matches(error):  # somebody has just released it
                raise
            return False

    def _collecting(self, digest: str, before: datetime) -> Transaction[bool]:
        """A document with what it names, if still nothing names it."""
        if (yield from self._traces.naming([digest])) or not (yield from self._catalogs.removing(digest, before)):
            return False
        while (yield from self._blobs.forgetting(content_owner(digest), PAGE)):
            pass
        return True
