"""Deletes old reports, and ends reports that stay silent.

On PostgreSQL pages and events are in one partition for each day, created some days ahead, and are deleted by dropping it. Rows without
a partition of their own, and all rows on SQLite, are deleted in small batches, so that no writer waits long.
"""

import asyncio
import logging
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.services.clocks.guard import ClockGuard
from precast.store.engine.database import Database
from precast.store.reports.partitions import ReportPartitions
from precast.store.reports.reports import Reports

log = logging.getLogger("precast.reports")

BATCH = 500
EVERY_S = 300.0
# A run may take four hours; its report gets an hour more.
DEADLINE = timedelta(hours=5)
SILENT = "it reported nothing for {hours:g} hours"


class ReportRetention:
    """Deletes reports that are too old. Several servers may do so at once: deleting is idempotent."""

    def __init__(
        self,
        database: Database,
        reports: Reports,
        partitions: ReportPartitions,
        guard: ClockGuard,
        keep: timedelta,
        deadline: timedelta = DEADLINE,
    ) -> None:
        self._database = database
        self._reports = reports
        self._partitions = partitions
        self._guard = guard
        self._keep = keep
        self._deadline = deadline

    async def trim(self) -> int:
        """Delete old reports and end silent ones; returns how many rows were deleted one by one. Cancelling leaves the rest for later.

        While the clock is not trusted, none is deleted or ended.
        """
        await self._partitions.prepare(self._database.clock.now())
        silent_since = await self._guard.cutoff(self._deadline)
        why = SILENT.format(hours=self._deadline / timedelta(hours=1))
        if silent_since is not None and (count := await self._reports.break_off(silent_since, why)):
            log.warning("%d runs count as broken off: %s", count, why)
        if not self._keep or (before := await self._guard.cutoff(self._keep)) is None:
            return 0
        await self._partitions.drop(before)
        count = 0
        while deleted := await self._reports.trim(before, BATCH):
            count += deleted
        return count

    async def run(self) -> None:
        """Trim every few minutes until cancelled; if the database is unavailable, the next round tries again."""
        while True:
            try:
                if count := await self.trim():
                    log.info("deleted %d rows of old reports", count)
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
                log.warning("old reports are not deleted: %s", error.message)
            await asyncio.sleep(EVERY_S)
