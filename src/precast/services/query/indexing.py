"""Keeps the index of resources in step with what is released.

A release notes its catalogs in the index, in its own transaction; here they are looked through, in bites, so that no writer waits long.
Several servers may do the same at once: what is there stays. A question that is asked before a catalog is looked through is refused
for that moment, never answered with half of what there is.
"""

import logging

from precast.base.errors import PrecastError
from precast.catalog import body as bodies
from precast.store.catalogs import RELEASED_TOPIC, Catalogs
from precast.store.engine.database import Database
from precast.store.query.resource_index import CatalogIndex

log = logging.getLogger("precast.queries")

# Resources of a catalog that are added in one transaction.
BITE = 200
CATALOGS = 16
# How often what nobody is served any more is removed.
TIDY_EVERY_S = 3600.0


class Indexing:
    """Looks catalogs through; holds no state between calls."""

    def __init__(self, database: Database, catalogs: Catalogs, index: CatalogIndex) -> None:
        self._database, self._catalogs, self._index = database, catalogs, index

    async def run(self) -> None:
        """Look through what is released, for ever. Cancelling is safe: what was begun is begun anew by anybody."""
        with self._database.wakeups.subscribe(RELEASED_TOPIC) as sleeper:
            tidied_s: float | None = None
            while True:
                try:
                    now_s = self._database.clock.monotonic_s()
                    if tidied_s is None or now_s - tidied_s > TIDY_EVERY_S:
                        await self.tidy()
                        tidied_s = now_s
                    is_idle = not await self.work_off()
                except PrecastError as error:
                    if not error.consequence.retry:
                        raise
                    log.warning("released catalogs are not looked through: %s", error.message)
                    is_idle = True
                if is_idle:
                    await sleeper.wait()

    async def work_off(self) -> int:
        """Look through some of the catalogs that wait; how many it was."""
        waiting = await self._database.read(self._index.waiting, CATALOGS)
        for skeleton in waiting:
            await self._add(skeleton)
        return len(waiting)

    async def tidy(self) -> None:
        """Remove what no release names any more, and find what was released by servers that know no index."""
        count = 1
        while count:
            count = await self._index.forget_unused(BITE)
        after: str | None = ""
        while after is not None:
            after = await self._index.forget_orphans(after, BITE)
        await self._index.note_unknown()

    async def _add(self, skeleton: str) -> None:
        document = await self._catalogs.read_document(skeleton)
        resources = () if document is None else bodies.decode(document).resources
        for at in range(0, len(resources), BITE):
            await self._database.write(self._index.adding, skeleton, resources[at : at + BITE])
        await self._database.write(self._index.finishing, skeleton)
