"""Deletes data of nodes that no run and no success of a task names any more, in small batches."""

import asyncio
import logging
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.services.clocks.guard import ClockGuard
from precast.store.engine.database import Database
from precast.store.plans.runs import PlanRuns

log = logging.getLogger("precast.plans")

# Data that was named so lately is spared: a start may be about to name it.
KEEP_AGE = timedelta(hours=1)
BATCH = 200
EVERY_S = 3600.0


class PlanDataRetention:
    """Deletes unused data. Several servers may do so at once."""

    def __init__(self, database: Database, runs: PlanRuns, guard: ClockGuard) -> None:
        self._database, self._runs, self._guard = database, runs, guard

    async def trim(self) -> int:
        """Delete what is unused; returns how much. While the clock is not trusted, nothing is deleted."""
        count = 0
        if (before := await self._guard.cutoff(KEEP_AGE)) is not None:
            while deleted := await self._database.write(self._runs.delete_unused_data, before, BATCH):
                count += deleted
        return count

    async def run(self) -> None:
        """Trim every hour until cancelled; if the database is unavailable, the next round tries again."""
        while True:
            try:
                await self.trim()
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
                log.warning("unused data of plans is not deleted: %s", error.message)
            await asyncio.sleep(EVERY_S)
