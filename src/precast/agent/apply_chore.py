"""Has the kept catalog applied on the agent's own schedule: each run is a process of its own, at most one at a time.

A daemon that ends lets a run under way finish what it is doing: it is told to wind up, and nobody kills it in the middle of a change.
"""

import asyncio
import contextlib
import logging
from datetime import datetime, timedelta
from pathlib import Path

from precast.agent.children import Children
from precast.agent.chores import LOOK_S, name_of
from precast.agent.notes import RunNote
from precast.agent.places import STATE
from precast.agent.schedule import facts_due_at
from precast.agent.settings import AgentSettings
from precast.agent.store import LocalStore

log = logging.getLogger("precast.agent")

# How long a run may take before it is told to wind up.
LONGEST = timedelta(hours=4)
# How long a daemon that ends waits for it. One that needs longer ends by itself.
GRACE_S = 5.0
# Exit codes of a run that came to its end, whatever it found.
ENDED = range(7)


class ApplyChore:
    """Starts runs when they are due. Nothing is due while the interval is 0 or there is no catalog."""

    def __init__(self, children: Children, store: LocalStore, settings: AgentSettings, root: Path) -> None:
        self._children = children
        self._store = store
        self._catalog = root / STATE / "catalog.json"
        self._tried_at: datetime | None = None
        self.settings = settings

    async def run(self) -> None:
        """Apply for ever. Cancelling tells a run that is under way to wind up."""
        while True:
            due_at = self._due_at()
            now = self._store.clock.now()
            if due_at is not None and due_at <= now:
                self._tried_at = now
                await self._apply()
                due_at = self._due_at()
            left_s = LOOK_S if due_at is None else (due_at - self._store.clock.now()).total_seconds()
            await asyncio.sleep(max(0.0, min(left_s, LOOK_S)))

    def _due_at(self) -> datetime | None:
        interval = self.settings.apply_interval
        if not interval or not self._catalog.exists():
            return None
        noted = self._store.noted(RunNote)
        known = [at for at in (noted.ended_at if noted else None, self._tried_at) if at is not None]
        last_at = max(known, default=None)
        return facts_due_at(name_of(self._store), last_at, self._store.clock.now(), interval, self.settings.splay)

    async def _apply(self) -> None:
        process = await self._children.start("agent", "apply", "--json")
        if process is None:
            log.error("the catalog could not be applied: a process could not be started")
            return
        try:
            async with asyncio.timeout(LONGEST.total_seconds()):
                code = await process.wait()
        except TimeoutError:
            process.terminate()
            log.error("a run has taken more than %s and was told to wind up", LONGEST)
            return
        except asyncio.CancelledError:
            await _wind_up(process)
            raise
        if code not in ENDED:
            log.error("the catalog could not be applied: exit code %s; try `precast agent apply`", code)


async def _wind_up(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, TimeoutError):
        process.terminate()
        async with asyncio.timeout(GRACE_S):
            await process.wait()
