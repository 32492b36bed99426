"""Removes old versions of environments, then the content that nothing refers to any more."""

import asyncio
import logging
from datetime import datetime

from precast.base.errors import PrecastError
from precast.services.clocks.guard import ClockGuard
from precast.services.code.content import GRACE, tree_owner
from precast.store import issues as store_issues
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.code.uploads import Uploads
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction

log = logging.getLogger("precast.content")

# Versions of an environment that are kept.
KEEP_VERSIONS = 30
PAGE = 500
EVERY_S = 6 * 3600.0


class ContentCollector:
    """Deletes old versions and unreferenced content. Several servers may do so concurrently.

    Other owners of content, such as catalogs, have references of their own, so the collector need not know them.
    """

    def __init__(self, database: Database, blobs: Blobs, environments: Environments, guard: ClockGuard) -> None:
        self._database = database
        self._guard = guard
        self._blobs = blobs
        self._environments = environments
        self._uploads = Uploads()

    async def collect(self) -> int:
        """Delete what is old; returns the number of deleted blobs. Cancelling leaves the rest for the next time.

        While the clock is not trusted, only versions are deleted, which are counted.
        """
        after = ""
        while page := await self._environments.list(after, PAGE):
            for environment in page:
                await self._delete_old_versions(environment.name)
            after = page[-1].name
        if (before := await self._guard.cutoff(GRACE)) is None:
            return 0
        while await self._database.write(self._uploads.expire, before, PAGE) == PAGE:
            pass
        return await self._delete_unreferenced(before)

    async def _delete_old_versions(self, environment: str) -> None:
        for number in await self._database.read(self._environments.list_oldest, environment, KEEP_VERSIONS, PAGE):
            version = await self._database.write(self._environments.delete_version, environment, number)
            while version is not None and await self._database.write(self._delete_references, version):
                pass

    def _delete_references(self, version: str) -> Transaction[bool]:
        """Delete some references of a tree; returns False if none are left, or if an environment has the version again."""
        if (yield from self._environments.is_retained(version)):
            return False
        return (yield from self._blobs.delete_references(tree_owner(version), PAGE)) > 0

    async def _delete_unreferenced(self, before: datetime) -> int:
        count = 0
        after: str | None = ""
        while after is not None:
            page = await self._blobs.list_unreferenced(before, after, PAGE)
            for digest in page.unreferenced:
                try:
                    count += await self._database.write(self._blobs.delete_unreferenced, digest, before)
                except PrecastError as error:
                    if not store_issues.CONSTRAINT.matches(error):  # another transaction has just added a reference
                        raise
            after = page.after
        return count

    async def run(self) -> None:
        """Collect several times a day, for ever; if the database is unavailable, the next collection tries again."""
        while True:
            try:
                if count := await self.collect():
                    log.info("deleted %d unreferenced blobs", count)
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
                log.warning("cannot collect unreferenced content: %s", error.message)
            await asyncio.sleep(EVERY_S)
