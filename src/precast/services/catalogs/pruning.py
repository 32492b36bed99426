"""Deletes what is no longer needed: wants of entry points, traces that no walk uses, releases beyond the retained ones, and documents
without a reference.

It deletes in small batches, and several servers may do it at once. A transaction that is about to use a row locks it first by a write: the
decision that stages a leaf locks its chain, and so does the compile that attaches another chain to it; the compile that stores a document
locks it, and so does the release that refers to it. So either the row stays, or its user finds that it was deleted and does its work
again. A catalog that is staged, that a job holds, that is served or that was served within a node's retained releases is never deleted, nor
the content it names.
"""

import asyncio
import logging
from datetime import datetime, timedelta
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.services.clocks.guard import ClockGuard
from precast.store import issues as store_issues
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.documents import content_owner
from precast.store.code.blobs import Blobs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.exports.resources import delete_catalog as delete_exports
from precast.store.secrets.secrets import Secrets
from precast.store.traces import Traces, UnusedChain

log = logging.getLogger("precast.catalogs")

# Chains, documents and nodes that are checked in one transaction.
PAGE = 200
# A document without a reference stays for this time: the transaction that refers to it may still follow.
GRACE = timedelta(days=1)
EVERY_S = 6 * 3600.0


class Retention(NamedTuple):
    """How long a trace that no walk uses and an entry point that no plan wants are kept, and how many releases of a node."""

    traces: timedelta = timedelta(days=30)
    releases: int = 10
    entries: timedelta = timedelta(days=30)


class PruneCounts(NamedTuple):
    """How many rows were deleted."""

    releases: int
    chains: int
    documents: int
    entries: int = 0


class CatalogPruner:
    """Deletes what is no longer needed; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        traces: Traces,
        catalogs: Catalogs,
        blobs: Blobs,
        secrets: Secrets,
        guard: ClockGuard,
        retention: Retention | None = None,
    ) -> None:
        self._database, self._traces, self._catalogs, self._blobs = database, traces, catalogs, blobs
        self._secrets, self._guard = secrets, guard
        self._retention = retention or Retention()

    async def prune(self) -> PruneCounts:
        """Prune once: releases and entry points, then traces, then the documents that these referred to.

        Cancelling leaves the rest for the next time.
        """
        releases, entries = await self._trim_releases(), await self._delete_unwanted_entries()
        chains = await self._prune_chains()
        return PruneCounts(releases, chains, await self._collect_documents(), entries)

    async def run(self) -> None:
        """Prune a few times a day until cancelled; if the database is unavailable, the next round tries again."""
        while True:
            try:
                if any(counts := await self.prune()):
                    log.info("deleted %d releases, %d traces, %d documents and %d entry points", *counts)
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
                log.warning("catalogs and traces are not pruned: %s", error.message)
            await asyncio.sleep(EVERY_S)

    async def _trim_releases(self) -> int:
        count, after, keep = 0, "", self._retention.releases
        while crowded := await self._database.read(self._catalogs.released.list_crowded, keep, after, PAGE):
            for node in crowded:
                count += await self._database.write(self._catalogs.released.trim, node, keep)
            after = crowded[-1]
        await self._trim_log()
        return count

    async def _delete_unwanted_entries(self) -> int:
        if (before := await self._guard.cutoff(self._retention.entries)) is None:
            return 0
        total = 0
        while count := await self._database.write(self._catalogs.entries.delete_unwanted, before, PAGE):
            total += count
        return total

    async def _trim_log(self) -> None:
        """Delete entries of the log of which no node has kept a release."""
        before, after = self._database.clock.now() - GRACE, 0
        while page := await self._database.read(self._catalogs.log.list_unused, before, after, PAGE):
            try:
                await self._database.write(self._catalogs.log.delete, page)
            except PrecastError as error:
                if not store_issues.CONSTRAINT.matches(error):  # a release that was interrupted is being continued
                    raise
            after = page[-1]

    async def _prune_chains(self) -> int:
        """Delete unused chains from the ends of the branches inwards: a parent is deleted after the chains attached to it."""
        if (before := await self._guard.cutoff(self._retention.traces)) is None:
            return 0
        total = 0
        while True:
            count, after = 0, UnusedChain("", 0, None)
            while page := await self._database.read(self._traces.list_unused, before, after, PAGE):
                count += await self._database.write(self._delete_chains, page, before)
                after = page[-1]
            total += count
            if not count:
                return total

    def _delete_chains(self, page: list[UnusedChain], before: datetime) -> Transaction[int]:
        ids = [chain.id for chain in page]
        staged = yield from self._catalogs.staged.filter_chains(ids)
        staged |= yield from self._catalogs.entries.filter_chains(ids)
        named = yield from self._catalogs.documents.filter_used(
            [chain.catalog for chain in page if chain.catalog is not None]
        )
        free = [chain.id for chain in page if chain.id not in staged and chain.catalog not in named]
        return (yield from self._traces.delete_unused(free, before)) if free else 0

    async def _collect_documents(self) -> int:
        if (before := await self._guard.cutoff(GRACE)) is None:
            return 0
        await self._database.write(self._traces.set_missing_documents)
        count, after = 0, ""
        while page := await self._database.read(self._catalogs.documents.list_unused, before, after, PAGE):
            used = await self._database.read(self._traces.filter_named_documents, page)
            for digest in page:
                if digest not in used:
                    count += await self._collect(digest, before)
            after = page[-1]
        while await self._database.write(self._secrets.delete_unused, before, PAGE):
            pass
        return count

    async def _collect(self, digest: str, before: datetime) -> bool:
        try:
            return await self._database.write(self._delete_document, digest, before)
        except PrecastError as error:
            if not store_issues.CONSTRAINT.matches(error):  # another transaction has just released it
                raise
            return False

    def _delete_document(self, digest: str, before: datetime) -> Transaction[bool]:
        """Delete a document and its references to content, if nothing refers to the document."""
        if (yield from self._traces.filter_named_documents([digest])) or not (
            yield from self._catalogs.documents.delete_unused(digest, before)
        ):
            return False
        while (yield from self._blobs.delete_references(content_owner(digest), PAGE)):
            pass
        yield from delete_exports(digest)
        return True
