"""Proves that every open attempt will end: it has a driver or a deadline, no lock outlives its attempt, and nobody waits in a circle.

The transactions of the engine keep this so. What is found nevertheless, after a restored backup or a bug, is put right and logged. A cycle
of waits across jobs is possible without any fault; the attempt of the youngest job fails, with the names of the others.
"""

import asyncio
import logging

from precast.base.errors import PrecastError
from precast.services.jobs.grants import Grants
from precast.services.jobs.standstills import Standstills
from precast.services.jobs.waits import find_cycles
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import AttemptKey, Attempts, Ending
from precast.store.jobs.node_locks import NodeLocks
from precast.wire.jobs import states

log = logging.getLogger("precast.jobs")

CHECK_EVERY_S = 3.0
# Open attempts are many, so all of them are read less often.
PROVE_EVERY_S = 60.0
PAGE = 200


class Reconciler:
    """Checks again and again, for as long as `run` runs. Any number of servers may do so."""

    def __init__(
        self, database: Database, attempts: Attempts, locks: NodeLocks, grants: Grants, standstills: Standstills
    ) -> None:
        self._database, self._attempts, self._locks, self._grants = database, attempts, locks, grants
        self._standstills = standstills
        self._proved_s = database.clock.monotonic_s()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                await self.break_cycles()
                await self._standstills.end()
                if self._database.clock.monotonic_s() - self._proved_s >= PROVE_EVERY_S:
                    await self.put_right()
                    self._proved_s = self._database.clock.monotonic_s()
            except PrecastError as error:
                log.warning("jobs are not checked: %s", error)
            except Exception:
                log.exception("jobs are not checked because of a bug")

    async def break_cycles(self) -> int:
        """Fail an attempt in each cycle of waits. Returns how many there were."""
        if not await self._database.read(self._attempts.has_waits):
            return 0
        return await self._database.write_alone(self._break_cycles)

    def _break_cycles(self) -> Transaction[int]:
        waits: dict[AttemptKey, list[AttemptKey]] = {}
        for waiter, holder in (yield from self._attempts.list_waits()):
            waits.setdefault(waiter, []).append(holder)
        cycles = find_cycles(waits)
        for cycle in cycles:
            youngest = max(cycle)  # the ids of jobs grow with time
            others = ", ".join(f"{key.job} on {key.node}" for key in cycle if key != youngest)
            message = f"it waits for {others}, which waits for it"
            log.warning("the job %s fails on %s: %s", youngest.job, youngest.node, message)
            yield from self._grants.fail(youngest, Ending(states.FAILED, states.DEADLOCK, message))
        return len(cycles)

    async def put_right(self) -> int:
        """End open attempts and release locks that nothing else would. Returns how many there were."""
        count = await self._database.write_alone(self._put_right)
        if count:
            log.error("%s attempts or locks of jobs would never have ended, and were ended; please report it", count)
        return count

    def _put_right(self) -> Transaction[int]:
        strays = yield from self._attempts.list_strays(PAGE)
        for key, state in strays:
            ending = Ending(states.FAILED, states.LOST, "nothing was left that would have ended it")
            if state == states.QUEUED:
                ending = Ending(states.CANCELLED, None, "its job had ended")
            if (yield from self._attempts.end(key, state, ending)):
                yield from self._grants.release(key)
        stale = yield from self._locks.list_stale(PAGE)
        for key in stale:
            yield from self._grants.release(key)
        return len(strays) + len(stale)
