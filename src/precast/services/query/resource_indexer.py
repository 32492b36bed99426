"""Keeps the resource index up to date with the released catalogs.

A release adds its catalogs to a list in its own transaction; the indexer indexes them in batches, so that no other writer waits long.
Several servers may index the same catalog concurrently, because adding a resource is idempotent. A query is refused while a released
catalog is not indexed, so its result is never incomplete.
"""

import logging

from precast.base.errors import PrecastError
from precast.catalog import body as bodies
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.released import RELEASED_TOPIC
from precast.store.engine.database import Database
from precast.store.query.resource_index import ResourceIndex

log = logging.getLogger("precast.queries")

# Resources of a catalog that are added in one transaction.
BATCH = 200
CATALOGS = 16
# How often resources that no node is served are removed.
CLEAN_EVERY_S = 3600.0


class ResourceIndexer:
    """Indexes released catalogs; holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, index: ResourceIndex) -> None:
        self._database, self._catalogs, self._index = database, catalogs, index

    async def run(self) -> None:
        """Index released catalogs for ever. Cancelling is safe: any server starts an unfinished catalog again."""
        with self._database.wakeups.subscribe(RELEASED_TOPIC) as sleeper:
            cleaned_s: float | None = None
            while True:
                try:
                    now_s = self._database.clock.monotonic_s()
                    if cleaned_s is None or now_s - cleaned_s > CLEAN_EVERY_S:
                        await self.clean()
                        cleaned_s = now_s
                    is_idle = not await self.work_off()
                except PrecastError as error:
                    if not error.consequence.retry:
                        raise
                    log.warning("released catalogs are not indexed: %s", error.message)
                    is_idle = True
                if is_idle:
                    await sleeper.wait()

    async def work_off(self) -> int:
        """Index some of the waiting catalogs; returns how many."""
        waiting = await self._database.read(self._index.list_unindexed, CATALOGS)
        for skeleton in waiting:
            await self._add(skeleton)
        return len(waiting)

    async def clean(self) -> None:
        """Remove the resources that no release refers to any more, and list released catalogs that are missing in the index."""
        count = 1
        while count:
            count = await self._index.delete_unused(BATCH)
        after: str | None = ""
        while after is not None:
            after = await self._index.delete_orphans(after, BATCH)
        await self._index.add_missing_catalogs()

    async def _add(self, skeleton: str) -> None:
        document = await self._catalogs.documents.read(skeleton)
        resources = () if document is None else bodies.decode(document).resources
        for start in range(0, len(resources), BATCH):
            await self._database.write(self._index.add_resources, skeleton, resources[start : start + BATCH])
        await self._database.write(self._index.mark_indexed, skeleton)
