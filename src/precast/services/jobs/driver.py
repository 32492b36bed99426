"""Drives jobs: sends orders to the nodes whose turn it is, gives up nodes that are silent for too long, and ends finished jobs.

A job is driven by the server that holds its lease, in short passes. A pass consists of two transactions, each of which begins with the
fence: a server that lost the lease, by a pause or a network fault, can write nothing more. A pass reads all of its state from the
database; so a server that takes over after kill -9 goes on where the last transaction ended. A step and the order for its node are written
in one transaction, so no node is ordered twice and none is forgotten.

Wake-ups trigger passes; a lost wake-up costs a second.
"""

import asyncio
import logging
from collections.abc import Awaitable
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.services.clocks.guard import ClockGuard
from precast.services.jobs.job_net import NetLimits, StartableNodes, find_startable, group_batches
from precast.services.jobs.requests import JobRequest, decode_request, make_exec_order, make_run_order, why_away
from precast.services.jobs.sealed_commands import SealedExecOrder
from precast.services.sessions.orders import OrderService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.engine.wakeups import POLL_S
from precast.store.jobs import jobs as store
from precast.store.jobs.jobs import CREATED_TOPIC, MOVED_PREFIX, JobClaim, JobRow, Jobs
from precast.store.sessions.sessions import Sessions
from precast.wire.jobs.orders import EXEC, RUN

log = logging.getLogger("precast.runs")

# Changes within this time are handled by one pass.
PAUSE_S = 0.02
# The lease is renewed with every pass; another server takes over after this time.
LEASE_S = 6.0
# Jobs that one server drives, and nodes that are ordered in one transaction.
MAX_CLAIMED = 200
MAX_ORDERS = 100
# The clocks of servers and nodes differ, and a report takes time to arrive.
GRACE = timedelta(seconds=15)
FAILURES = (store.FAILED, store.NOT_RUN, store.SILENT)
OPEN = (store.WAITING, store.ORDERED, store.BEGAN)
END_STATES = {store.GOING: "done", store.STOPPING: "stopped", store.HALTING: "halted"}
# Jobs that ended longer ago are deleted, so many at once.
RETENTION = timedelta(days=30)
DELETE_BATCH = 20
DELETE_EVERY_S = 600.0


class JobDriver:
    """Owns the jobs that this server drives, for as long as `run` runs."""

    def __init__(
        self, database: Database, jobs: Jobs, sessions: Sessions, orders: OrderService, guard: ClockGuard
    ) -> None:
        self._database, self._jobs, self._sessions, self._orders = database, jobs, sessions, orders
        self._clock_guard = guard
        self._claims: dict[str, JobClaim] = {}
        # Ids of claimed jobs that need a pass; as bounded as the claims.
        self._due: set[str] = set()
        self._is_due = asyncio.Event()
        self._is_new = False
        self._polled_s = self._deleted_s = float("-inf")

    async def run(self, owner: str) -> None:
        """Drive the jobs that no other server drives, until cancelled. Cancelling releases the leases, so others take over at once."""
        wakeups = self._database.wakeups
        with (
            wakeups.prefix_subscription(CREATED_TOPIC, self._on_made),
            wakeups.prefix_subscription(MOVED_PREFIX, self._on_moved),
        ):
            try:
                while True:
                    await self._handle_due(owner)
            finally:
                await self._release_leases(owner)

    async def _release_leases(self, owner: str) -> None:
        try:
            await self._jobs.release_all(owner)
        except PrecastError as error:
            log.warning("other servers can take over the runs of this server only when its leases end: %s", error)

    def _on_made(self, _: str) -> None:
        self._is_new = True
        self._is_due.set()

    def _on_moved(self, job: str) -> None:
        if job in self._claims:
            self._due.add(job)
            self._is_due.set()

    async def _handle_due(self, owner: str) -> None:
        """Advance the jobs that were woken; once in a second all of them, because leases end and wake-ups get lost."""
        try:
            async with asyncio.timeout(POLL_S):
                await self._is_due.wait()
        except TimeoutError:
            pass
        self._is_due.clear()
        if self._is_new or self._database.clock.monotonic_s() - self._polled_s >= POLL_S:
            self._is_new, self._polled_s = False, self._database.clock.monotonic_s()
            await self._guard(self.take_on(owner))
            self._due.update(self._claims)
        due, self._due = self._due, set()
        for job in sorted(due):
            await self._guard(self.advance(job))
        await asyncio.sleep(PAUSE_S)

    async def _guard(self, work: Awaitable[None]) -> None:
        """The boundary of driving: an error of one job, or of the database for a while, ends neither the other jobs nor the server."""
        try:
            await work
        except PrecastError as error:
            log.warning("runs are not driven: %s", error)
        except Exception:
            log.exception("a run is not driven because of a bug")

    async def take_on(self, owner: str) -> None:
        """Claim the jobs that no other server drives; delete jobs that ended long ago."""
        for claim in await self._jobs.claim(owner, LEASE_S, MAX_CLAIMED - len(self._claims)):
            self._claims[claim.job] = claim
        now_s = self._database.clock.monotonic_s()
        if now_s - self._deleted_s > DELETE_EVERY_S:
            before = await self._clock_guard.cutoff(RETENTION)
            if before is None or await self._jobs.delete_old(before, DELETE_BATCH) < DELETE_BATCH:
                self._deleted_s = now_s

    async def advance(self, job_id: str) -> None:
        """Drive a job as far as it goes now, pass after pass. A job that this server has not claimed is left alone."""
        while (claim := self._claims.get(job_id)) is not None:
            has_ordered = await self._database.write(self._send_orders, claim)
            has_more = await self._database.write(self._finish_steps, claim)
            if has_more is None or has_ordered is None:
                del self._claims[job_id]
                return
            if not (has_more or has_ordered):
                return
            await asyncio.sleep(0)  # other tasks run in between

    # Nodes that start

    def _send_orders(self, claim: JobClaim) -> Transaction[bool | None]:
        """Send orders to the nodes whose turn it is; returns whether there were any, None if the lease is lost."""
        job = yield from self._jobs.renew_lease(claim, LEASE_S)
        if job is None:
            return None
        if job.state != store.GOING:
            message = f"stopped by {job.stopped_by}" if job.state == store.STOPPING else "too many others failed"
            yield from self._jobs.leave_out_rest(job.id, message)
            return False
        request = decode_request(job)
        startable = yield from self._find_startable(job, request)
        if startable.is_halted:
            yield from self._jobs.leave_out_rest(job.id, "too many others failed")
            yield from self._jobs.set_state(job.id, store.HALTING, job.changes, None)
            return False
        connected = yield from self._sessions.filter_connected(startable.nodes)
        for node in sorted(startable.nodes):
            yield from self._send_order(job, request, node, node in connected)
        return bool(startable.nodes)

    def _find_startable(self, job: JobRow, request: JobRequest) -> Transaction[StartableNodes]:
        counts = yield from self._jobs.count_steps(job.id)
        failures = sum(counts.get(state, 0) for state in FAILURES)
        running = yield from self._jobs.count_running(job.id)
        free = MAX_ORDERS if request.at_once is None else max(0, min(MAX_ORDERS, request.at_once - running[1]))
        # One node more than can start, to know whether these are all of their batch.
        waiting = yield from self._jobs.list_waiting(job.id, free + 1)
        batches = group_batches(running, waiting[:free], len(waiting) <= free)
        return find_startable(NetLimits(request.at_once, request.tolerate), failures, batches)

    def _send_order(self, job: JobRow, request: JobRequest, node: str, is_connected: bool) -> Transaction[None]:
        limits = request.limits
        if not is_connected and not limits.away_s:
            held = yield from self._sessions.filter_held([node])
            yield from self._jobs.leave_out(job.id, node, store.AWAY, why_away(bool(held)))
            return
        if not (yield from self._orders.has_room(node)):
            yield from self._jobs.leave_out(job.id, node, store.AWAY, "too many orders wait for it already")
            return
        wait_s = limits.begin_s if is_connected else max(limits.begin_s, limits.away_s)
        now = self._database.clock.now()
        expires_at = now + timedelta(seconds=wait_s)
        if request.sealed_until is not None:
            if request.sealed_until <= now:
                late = f"the command had to begin before {request.sealed_until:%Y-%m-%d %H:%M:%SZ}"
                yield from self._jobs.leave_out(job.id, node, store.LEFT_OUT, late)
                return
            expires_at = min(expires_at, request.sealed_until)
        seal = yield from self._jobs.mark_ordered(job.id, node, expires_at + GRACE)
        if seal is None:
            return  # the node was purged in the meantime
        if request.sealed_until is None:
            yield from self._orders.post(node, RUN, make_run_order(job, request, expires_at))
            return
        order = make_exec_order(job, request, node, now, expires_at)
        yield from self._orders.post(node, EXEC, SealedExecOrder(order, request.token, request.sealed_until, seal))

    # Nodes that have ended

    def _finish_steps(self, claim: JobClaim) -> Transaction[bool | None]:
        """Give up silent nodes, number the changes, end a finished job; returns whether there is more, None if the lease is lost or the
        job has ended."""
        job = yield from self._jobs.renew_lease(claim, LEASE_S)
        if job is None:
            return None
        # A clock that jumped ends no wait that began before.
        given_up = yield from self._jobs.expire_steps(
            job.id,
            "it did not begin in time",
            "it did not report in time how it ended",
            self._clock_guard.trusted_since,
        )
        last, has_more = yield from self._jobs.number_changes(job.id, job.changes)
        counts = yield from self._jobs.count_steps(job.id)
        is_over = not has_more and not any(counts.get(state) for state in OPEN)
        if is_over and (yield from self._jobs.has_unnumbered(job.id)):
            is_over = False  # another transaction is writing a change: the next pass sees it
        state = END_STATES[job.state] if is_over else job.state
        if last != job.changes or is_over:
            yield from self._jobs.set_state(job.id, state, last, self._database.clock.now() if is_over else None)
        if is_over:
            return None
        return has_more or bool(given_up)
