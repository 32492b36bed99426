"""What the job engine does at the moment, as numbers for monitoring: read from the database, so that every server shows the same."""

import asyncio
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.node_locks import NodeLocks

READ_EVERY_S = 15.0
REFUSED_WITHIN = timedelta(days=1)


class JobMeters:
    """The numbers as they were read last."""

    def __init__(self, database: Database, attempts: Attempts, locks: NodeLocks) -> None:
        self._database, self._attempts, self._locks = database, attempts, locks
        self.picked_up = 0
        self.refused = 0

    async def run(self) -> None:
        """Read the numbers for ever; while the database is unavailable, they stay as they are."""
        while True:
            try:
                self.picked_up, self.refused = await self._database.read(self._count)
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
            await asyncio.sleep(READ_EVERY_S)

    def _count(self) -> Transaction[tuple[int, int]]:
        since = self._database.clock.now() - REFUSED_WITHIN
        picked_up = yield from self._locks.count()
        return picked_up, (yield from self._attempts.count_refused(since))
