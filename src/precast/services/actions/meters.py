"""How well the schedules are kept, as numbers for monitoring: read from the database, so that every server shows the same."""

import asyncio
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.store.actions.actions import Actions
from precast.store.engine.database import Database

READ_EVERY_S = 15.0
MISSED_WITHIN = timedelta(days=1)


class ActionMeters:
    """The numbers as they were read last."""

    def __init__(self, database: Database, actions: Actions) -> None:
        self._database, self._actions = database, actions
        self.lag_s = 0.0
        self.missed = 0

    async def run(self) -> None:
        """Read the numbers for ever; while the database is unavailable, they stay as they are."""
        while True:
            try:
                await self.read()
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
            await asyncio.sleep(READ_EVERY_S)

    async def read(self) -> None:
        """Read the numbers once."""
        now = self._database.clock.now()
        next_at, _ = await self._actions.find_next()
        self.lag_s = 0.0 if next_at is None else max(0.0, (now - next_at).total_seconds())
        self.missed = await self._database.read(self._actions.count_missed, now - MISSED_WITHIN)
