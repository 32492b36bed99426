"""Deletes standing values that have expired. A deleted value does not come back, whatever the clock does afterwards.

While the clock is distrusted nothing is deleted: a value that looks expired is not used meanwhile, and is there again when the clock is
right.
"""

import asyncio
import logging
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.services.clocks.guard import ClockGuard
from precast.store.engine.database import Database
from precast.store.futures import standing_values

log = logging.getLogger("precast.futures")

EVERY_S = 5.0
PAGE = 500


class FutureRetention:
    """Any number of servers may run it."""

    def __init__(self, database: Database, guard: ClockGuard) -> None:
        self._database, self._guard = database, guard

    async def run(self) -> None:
        """Delete expired values, for ever."""
        while True:
            try:
                while await self.delete_expired() == PAGE:
                    pass
            except PrecastError as error:
                log.warning("expired values are deleted later: %s", error)
            await asyncio.sleep(EVERY_S)

    async def delete_expired(self) -> int:
        """Delete a page of expired values; returns how many."""
        before = await self._guard.cutoff(timedelta())
        if before is None or not await self._database.read(standing_values.has_expired, before):
            return 0
        return await self._database.write(standing_values.delete_expired, before, PAGE)
