"""Keeps the history of facts bounded, by age and by steps of one node. It deletes in small batches, so that no writer waits long."""

import asyncio
import logging
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.services.clocks.guard import ClockGuard
from precast.store.facts.facts import Facts

log = logging.getLogger("precast.facts")

KEEP_AGE = timedelta(days=90)
KEEP_FLAPS = timedelta(days=1)
# Steps of one node; with one change a day the age is the tighter bound.
KEEP_STEPS = 1_000
BATCH = 500
PAGE = 100
EVERY_S = 3600.0


class FactRetention:
    """Deletes steps that are too old or too many. Several servers may do so at once: deleting is idempotent."""

    def __init__(self, facts: Facts, guard: ClockGuard) -> None:
        self._facts = facts
        self._guard = guard

    async def trim(self) -> int:
        """Delete the steps beyond the bounds; returns how many. Cancelling leaves the rest for the next time.

        While the clock is not trusted, none is deleted by its age.
        """
        count = 0
        if (before := await self._guard.cutoff(KEEP_AGE)) is not None:
            while deleted := await self._facts.trim_old(before, BATCH):
                count += deleted
        if (before := await self._guard.cutoff(KEEP_FLAPS)) is not None:
            while await self._facts.trim_flaps(before, BATCH):
                pass
        after = ""
        while crowded := await self._facts.list_crowded(KEEP_STEPS, after, PAGE):
            for node in crowded:
                while deleted := await self._facts.trim_node(node, KEEP_STEPS, BATCH):
                    count += deleted
            after = crowded[-1]
        return count

    async def run(self) -> None:
        """Trim every hour until cancelled; if the database is unavailable, the next round tries again."""
        while True:
            try:
                if count := await self.trim():
                    log.info("deleted %d steps of the history of facts", count)
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
                log.warning("the history of facts is not trimmed: %s", error.message)
            await asyncio.sleep(EVERY_S)
