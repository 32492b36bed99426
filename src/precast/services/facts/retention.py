"""Keeps the history of facts bounded: by age, and by steps of one node. In small bites, so that no writer waits for it."""

import asyncio
import logging
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.store.engine.database import Database
from precast.store.facts.facts import Facts

log = logging.getLogger("precast.facts")

KEEP_AGE = timedelta(days=90)
KEEP_FLAPS = timedelta(days=1)
# Of one node; at a change a day it is the age that counts.
KEEP_STEPS = 1_000
BITE = 500
PAGE = 100
EVERY_S = 3600.0


class FactRetention:
    """Forgets steps that are too old or too many. Several servers may do so at once: what is gone is gone."""

    def __init__(self, database: Database, facts: Facts) -> None:
        self._database = database
        self._facts = facts

    async def trim(self) -> int:
        """Remove what is beyond the bounds; how many steps. Cancelling leaves the rest for the next time."""
        count = 0
        before = self._database.clock.now() - KEEP_AGE
        while removed := await self._facts.trim_old(before, BITE):
            count += removed
        while await self._facts.trim_flaps(self._database.clock.now() - KEEP_FLAPS, BITE):
            pass
        after = ""
        while crowded := await self._facts.crowded(KEEP_STEPS, after, PAGE):
            for node in crowded:
                while removed := await self._facts.trim_node(node, KEEP_STEPS, BITE):
                    count += removed
            after = crowded[-1]
        return count

    async def run(self) -> None:
        """Trim once in an hour, for ever; a database that is away is asked again the next time."""
        while True:
            try:
                if count := await self.trim():
                    log.info("%d steps of the history of facts are forgotten", count)
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
                log.warning("the history of facts is not trimmed: %s", error.message)
            await asyncio.sleep(EVERY_S)
