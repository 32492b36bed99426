"""Has facts collected and sent: on a schedule, and when a server wants them.

A server's order stays in the local store until it is fulfilled, so a daemon that dies in between fulfils it after its next start.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from precast.agent.chores.child_processes import ChildProcesses
from precast.agent.chores.schedule import CHECK_S, Rhythm, Timetable, node_name
from precast.agent.orders.collect_orders import CollectOrders
from precast.agent.settings import AgentSettings
from precast.agent.state.status_notes import FactsNote, FactsScheduleNote
from precast.agent.state.store import LocalStore

log = logging.getLogger("precast.agent")

FACTS_S = 120.0
# Between two collections, however often they are wanted.
MIN_PAUSE_S = 2.0
RETRY = timedelta(minutes=5)


class FactsChore:
    """Collects facts when they are due, or when it is woken."""

    def __init__(
        self,
        children: ChildProcesses,
        store: LocalStore,
        orders: CollectOrders,
        settings: AgentSettings,
        on_collected: Callable[[], None],
    ) -> None:
        self._children = children
        self._store = store
        self._orders = orders
        self._on_collected = on_collected
        self._woken = asyncio.Event()
        self._has_failed = False
        self.settings = settings
        self._timetable = Timetable(
            store.clock,
            lambda: node_name(store),
            lambda: Rhythm(self.settings.facts_interval, self.settings.splay),
            self._last_collected_at,
        )

    def wake(self) -> None:
        """Collect facts now."""
        self._woken.set()

    async def run(self) -> None:
        """Collect facts for ever. Cancelling kills a collection that is under way."""
        while True:
            if self._is_wanted() or self._timetable.left() <= timedelta(0):
                await self._collect()
                await asyncio.sleep(MIN_PAUSE_S)
            left_s = self._timetable.left().total_seconds()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(left_s, CHECK_S))):
                    await self._woken.wait()

    def _is_wanted(self) -> bool:
        if self._woken.is_set():
            return True
        return not self._has_failed and (self._orders.is_pending() or self._has_other_consent())

    def _has_other_consent(self) -> bool:
        """Whether the facts that were collected last say otherwise than the settings whether commands are allowed."""
        last = self._store.read_note(FactsNote)
        return last is not None and last.allows_commands != self.settings.allow_exec

    def _last_collected_at(self) -> datetime | None:
        last = self._store.read_note(FactsNote)
        return last.collected_at if last else None

    async def _collect(self) -> None:
        self._woken.clear()
        is_ordered = self._orders.is_pending()
        self._timetable.begin()
        result = await self._children.run("agent", "facts", "--spool", deadline_s=FACTS_S)
        self._has_failed = bool(result.trouble)
        if self._has_failed:
            log.error("facts could not be collected: %s", result.trouble)
            self._timetable.postpone(RETRY)
        else:
            self._timetable.finish()
            if is_ordered:
                self._orders.fulfil()
        next_at = self._store.clock.now() + self._timetable.left()
        self._store.write_note(FactsScheduleNote(next_at, result.trouble))
        self._on_collected()
