"""Drives runs: whose turn it is gets its order, who is silent for too long is given up, and what is over is ended.

A run is driven by the server that holds its lease, in short passes. A pass is made of two transactions, each of which begins with the
fence: a server that lost the lease, by a pause or a network, can write nothing more. All that a pass knows it reads; so a server that
takes over after kill -9 goes on where the last transaction ended. A step and the order for its node are written together, which is
why no node is ordered twice and none is forgotten.

Passes follow wake-ups; a wake-up that is lost costs a second.
"""

import asyncio
import logging
from collections.abc import Awaitable
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.services.jobs import wanted as bodies
from precast.services.jobs.flow import Limits, Turns, batches_of, turns
from precast.services.jobs.wanted import Wanted
from precast.services.sessions.sessions import SessionService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.engine.wakeups import POLL_S
from precast.store.jobs import runs as store
from precast.store.jobs.runs import MADE_TOPIC, MOVED, Held, RunRow, Runs
from precast.store.sessions.sessions import Sessions

log = logging.getLogger("precast.runs")

# What happens within so long is looked at together.
PAUSE_S = 0.02
# Renewed with every pass; a server that is gone is missed after so long.
LEASE_S = 6.0
# Runs that one server drives, and nodes that are ordered in one transaction.
HELD = 200
ORDERS = 100
# Clocks differ, and an answer takes its time.
GRACE = timedelta(seconds=15)
FAILURES = (store.FAILED, store.NOT_RUN, store.SILENT)
OPEN = (store.WAITING, store.ORDERED, store.BEGAN)
ENDS = {store.GOING: "done", store.STOPPING: "stopped", store.HALTING: "halted"}
# Runs that ended longer ago are forgotten, so many at once.
KEPT = timedelta(days=30)
FORGET = 20
FORGET_EVERY_S = 600.0


class Driver:
    """Owns the runs that this server drives, from `run` to its end."""

    def __init__(self, database: Database, runs: Runs, sessions: Sessions, orders: SessionService) -> None:
        self._database, self._runs, self._sessions, self._orders = database, runs, sessions, orders
        self._held: dict[str, Held] = {}
        # Ids of runs that are held here; as bounded as those.
        self._due: set[str] = set()
        self._is_due = asyncio.Event()
        self._is_new = False
        self._looked_s = self._forgot_s = float("-inf")

    async def run(self, owner: str) -> None:
        """Drive what nobody else drives, for ever. Cancelled, it lets others take over at once."""
        wakeups = self._database.wakeups
        with wakeups.tap(MADE_TOPIC, self._on_made), wakeups.tap(MOVED, self._on_moved):
            try:
                while True:
                    await self._look(owner)
            finally:
                await self._let_go(owner)

    async def _let_go(self, owner: str) -> None:
        try:
            await self._runs.let_go(owner)
        except PrecastError as error:
            log.warning("the runs of this server are anyone's only when its lease ends: %s", error)

    def _on_made(self, _: str) -> None:
        self._is_new = True
        self._is_due.set()

    def _on_moved(self, run: str) -> None:
        if run in self._held:
            self._due.add(run)
            self._is_due.set()

    async def _look(self, owner: str) -> None:
        """One look at what woke us; once in a while at everything, woken or not, because leases end and wake-ups get lost."""
        try:
            async with asyncio.timeout(POLL_S):
                await self._is_due.wait()
        except TimeoutError:
            pass
        self._is_due.clear()
        if self._is_new or self._database.clock.monotonic_s() - self._looked_s >= POLL_S:
            self._is_new, self._looked_s = False, self._database.clock.monotonic_s()
            await self._patiently(self.take_on(owner))
            self._due.update(self._held)
        due, self._due = self._due, set()
        for run in sorted(due):
            await self._patiently(self.advance(run))
        await asyncio.sleep(PAUSE_S)

    async def _patiently(self, work: Awaitable[None]) -> None:
        """The boundary of driving: what is wrong with one run, or for a while with the database, ends neither others nor the server."""
        try:
            await work
        except PrecastError as error:
            log.warning("runs are not driven: %s", error)
        except Exception:
            log.exception("a run is not driven, which is a bug")

    async def take_on(self, owner: str) -> None:
        """Hold what nobody else drives; forget what ended long ago."""
        for held in await self._runs.claim(owner, LEASE_S, HELD - len(self._held)):
            self._held[held.run] = held
        now_s = self._database.clock.monotonic_s()
        if now_s - self._forgot_s > FORGET_EVERY_S:
            before = self._database.clock.now() - KEPT
            if await self._runs.forget_old(before, FORGET) < FORGET:
                self._forgot_s = now_s

    async def advance(self, run: str) -> None:
        """Bring a run as far as it goes now, pass after pass. One that is not held here is left alone."""
        while (held := self._held.get(run)) is not None:
            has_ordered = await self._database.write(self._ordering, held)
            is_more = await self._database.write(self._settling, held)
            if is_more is None or has_ordered is None:
                del self._held[run]
                return
            if not (is_more or has_ordered):
                return
            await asyncio.sleep(0)  # others are served in between

    # Who begins

    def _ordering(self, held: Held) -> Transaction[bool | None]:
        """Order those whose turn it is; whether there were some, None if the run is not ours any more."""
        run = yield from self._runs.holding(held, LEASE_S)
        if run is None:
            return None
        if run.state != store.GOING:
            message = f"stopped by {run.stopped_by}" if run.state == store.STOPPING else "too many others failed"
            yield from self._runs.leaving_out_all(run.id, message)
            return False
        wanted = bodies.decode(run)
        chosen = yield from self._choosing(run, wanted)
        if chosen.is_halted:
            yield from self._runs.leaving_out_all(run.id, "too many others failed")
            yield from self._runs.moving(run.id, store.HALTING, run.changes, None)
            return False
        present = yield from self._sessions.present(chosen.nodes)
        for node in sorted(chosen.nodes):
            yield from self._ordering_one(run, wanted, node, node in present)
        return bool(chosen.nodes)

    def _choosing(self, run: RunRow, wanted: Wanted) -> Transaction[Turns]:
        counts = yield from self._runs.counts(run.id)
        failures = sum(counts.get(state, 0) for state in FAILURES)
        running = yield from self._runs.running(run.id)
        free = ORDERS if wanted.at_once is None else max(0, min(ORDERS, wanted.at_once - running[1]))
        # One more than can begin, to know whether these are all of their batch.
        waiting = yield from self._runs.waiting(run.id, free + 1)
        batches = batches_of(running, waiting[:free], len(waiting) <= free)
        return turns(Limits(wanted.at_once, wanted.tolerate), failures, batches)

    def _ordering_one(self, run: RunRow, wanted: Wanted, node: str, is_present: bool) -> Transaction[None]:
        limits = wanted.limits
        if not is_present and not limits.away_s:
            yield from self._runs.leaving_out(run.id, node, store.AWAY, "it is not connected")
            return
        if not (yield from self._orders.has_room(node)):
            yield from self._runs.leaving_out(run.id, node, store.AWAY, "too many orders wait for it already")
            return
        wait_s = limits.begin_s if is_present else max(limits.begin_s, limits.away_s)
        expires_at = self._database.clock.now() + timedelta(seconds=wait_s)
        kind, order = bodies.order_of(run, wanted, expires_at)
        yield from self._runs.ordering(run.id, node, expires_at + GRACE)
        yield from self._orders.posting(node, kind, order)

    # Who has ended

    def _settling(self, held: Held) -> Transaction[bool | None]:
        """Give up on who is silent, number what changed, end what is over; whether there is more, None if it is not ours any more."""
        run = yield from self._runs.holding(held, LEASE_S)
        if run is None:
            return None
        given_up = yield from self._runs.expiring(
            run.id, "it did not begin in time", "it did not say in time how it ended"
        )
        last, is_more = yield from self._runs.numbering(run.id, run.changes)
        counts = yield from self._runs.counts(run.id)
        is_over = not is_more and not any(counts.get(state) for state in OPEN)
        if is_over and (yield from self._runs.has_unseen(run.id)):
            is_over = False  # somebody is writing it: it is seen with the next pass
        state = ENDS[run.state] if is_over else run.state
        if last != run.changes or is_over:
            yield from self._runs.moving(run.id, state, last, self._database.clock.now() if is_over else None)
        if is_over:
            return None
        return is_more or bool(given_up)
