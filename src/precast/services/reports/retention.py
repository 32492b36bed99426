"""Keeps reports bounded: by age, and none is left running for ever.

On PostgreSQL pages and events lie in a partition a day, made some days ahead, and forgetting them is dropping one. What came while there
was no partition for it, and everything on SQLite, goes in small bites, so that no writer waits for it.
"""

import asyncio
import logging
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.store.engine.database import Database
from precast.store.reports.partitions import ReportPartitions
from precast.store.reports.reports import Reports

log = logging.getLogger("precast.reports")

BITE = 500
EVERY_S = 300.0
# A run may take four hours, and then some.
DEADLINE = timedelta(hours=5)
SILENT = "nothing was heard of it for {hours:g} hours"


class ReportRetention:
    """Forgets reports that are too old. Several servers may do so at once: what is gone is gone."""

    def __init__(
        self,
        database: Database,
        reports: Reports,
        partitions: ReportPartitions,
        keep: timedelta,
        deadline: timedelta = DEADLINE,
    ) -> None:
        self._database = database
        self._reports = reports
        self._partitions = partitions
        self._keep = keep
        self._deadline = deadline

    async def trim(self) -> int:
        """Remove what is too old and end what is silent; how many rows were removed one by one. Cancelling leaves the rest for later."""
        now = self._database.clock.now()
        await self._partitions.prepare(now)
        why = SILENT.format(hours=self._deadline / timedelta(hours=1))
        if count := await self._reports.break_off(now - self._deadline, why):
            log.warning("%d runs are taken for broken off: %s", count, why)
        if not self._keep:
            return 0
        await self._partitions.drop(now - self._keep)
        count = 0
        while removed := await self._reports.trim(now - self._keep, BITE):
            count += removed
        return count

    async def run(self) -> None:
        """Trim every few minutes, for ever; a database that is away is asked again the next time."""
        while True:
            try:
                if count := await self.trim():
                    log.info("%d rows of old reports are forgotten", count)
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
                log.warning("old reports are not forgotten: %s", error.message)
            await asyncio.sleep(EVERY_S)
