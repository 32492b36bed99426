"""Drives jobs: takes on those that nobody drives, and advances each when something has happened or its time has come.

A job belongs to a server for as long as that server's own lease lasts (`services.sessions.server_presence`); there is no lease for each
job, and a job that waits for nodes which are away belongs to nobody and costs nothing. Events wake the driver: a job was created, a node
answered, a node connected. A lost event costs one to five seconds.
"""

import asyncio
import logging
from collections.abc import Awaitable
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.services.jobs.driven_job import DrivenJob, JobLost, JobStores, make_work
from precast.services.jobs.flow.adaptive_limit import AdaptiveLimit
from precast.services.jobs.flow.fair_share import FairShare
from precast.services.jobs.flow.intake_lag import IntakeLag
from precast.store.engine.query import Transaction
from precast.store.engine.wakeups import POLL_S
from precast.store.jobs.attempts import StepState
from precast.store.jobs.jobs import DUE_TOPIC, MOVED_PREFIX, JobClaim, JobRow
from precast.store.sessions.sessions import CONNECTED_PREFIX

log = logging.getLogger("precast.jobs")

# Changes within this time are handled by one pass.
PAUSE_S = 0.02
# Jobs that one server drives at the same time.
MAX_DRIVEN = 500
# Nodes whose return is handled in one transaction.
RETURN_PAGE = 500
# A wake-up for a node that has connected may get lost: nodes that connected lately are looked for this often, so far back.
RETURN_EVERY_S = 5.0
RETURN_SPAN = timedelta(seconds=30)
# Jobs that ended longer ago are deleted, so many at once.
RETENTION = timedelta(days=30)
DELETE_BATCH = 20
DELETE_EVERY_S = 600.0


class JobDriver:
    """Owns the jobs that this server drives, for as long as `run` runs."""

    def __init__(self, stores: JobStores, lag: IntakeLag) -> None:
        self._stores = stores
        self._clock = stores.database.clock
        self._lag, self._limit = lag, AdaptiveLimit(self._clock.monotonic_s)
        self._share = FairShare()
        self._in_flight: dict[str, int] = {}
        self._claims: dict[str, JobClaim] = {}
        self._driven: dict[str, DrivenJob] = {}
        # Ids of claimed jobs that need a pass, and nodes that have connected; the latter are bounded by the fleet.
        self._due: set[str] = set()
        self._returned: set[str] = set()
        self._is_due = asyncio.Event()
        self._is_new = True
        self._polled_s = self._deleted_s = self._looked_s = float("-inf")

    async def run(self, owner: str) -> None:
        """Drive the jobs that no other server drives, until cancelled. Cancelling releases them, so others take over at once."""
        wakeups = self._stores.database.wakeups
        with (
            wakeups.prefix_subscription(DUE_TOPIC, self._on_due),
            wakeups.prefix_subscription(MOVED_PREFIX, self._on_moved),
            wakeups.prefix_subscription(CONNECTED_PREFIX, self.note_connected),
        ):
            try:
                while True:
                    await self._wait()
                    await self.handle(owner)
                    await asyncio.sleep(PAUSE_S)
            finally:
                await self._release(owner)

    async def handle(self, owner: str) -> None:
        """Do what is due now: take on jobs, follow the return of nodes, and advance the jobs in which something has happened."""
        now_s = self._clock.monotonic_s()
        await self._guard(self.follow_returns())
        if self._is_new or now_s - self._polled_s >= POLL_S:
            self._is_new, self._polled_s = False, now_s
            await self._guard(self.take_on(owner))
        for job, driven in self._driven.items():
            if driven.next_s is not None and driven.next_s <= now_s:
                self._due.add(job)
        due, self._due = self._due, set()
        for job in sorted(due):
            if not await self._guard(self._take_in(job)):
                self._forget_net(job)
        await self._share_turns()
        await self._guard(self._delete_old())

    @property
    def driven(self) -> list[str]:
        """The jobs that this server drives."""
        return sorted(self._claims)

    async def take_on(self, owner: str) -> None:
        """Take on the jobs that no other server drives and whose time has come."""
        for claim in await self._stores.database.write(self._own, owner, MAX_DRIVEN - len(self._claims)):
            if self._claims.get(claim.job) != claim:
                self._claims[claim.job] = claim
                self._forget_net(claim.job)
        self._due.update(job for job in self._claims if job not in self._driven)

    async def advance(self, job_id: str) -> None:
        """Drive a job as far as it goes now. A job that this server does not drive is left alone."""
        while job_id in self._claims:
            await self._take_in(job_id)
            if not await self._share_turns():
                return

    async def _take_in(self, job_id: str) -> None:
        """Follow what has happened in a job, and offer what could start."""
        claim = self._claims.get(job_id)
        if claim is None:
            return
        try:
            driven = self._driven.get(job_id) or await self._load(claim)
            self._driven[job_id] = driven
            goes_on = await driven.take_in()
        except JobLost:
            goes_on = False
        if not goes_on:
            self._claims.pop(job_id, None)
            self._forget_net(job_id)
            return
        self._count(job_id, driven)
        self._share.offer(driven.environment, job_id, driven.wanted)

    async def _share_turns(self) -> bool:
        """Give out the turns that the server can bear, fairly among environments and their jobs; whether anything has changed."""
        self._limit.observe(self._lag.read(), self._share.in_flight)
        has_changed = False
        while shares := self._share.take(max(0, self._limit.limit - self._share.in_flight)):
            for job, count in shares:
                if await self._give_turns(job, count):
                    has_changed = True
                    self._due.add(job)
                    self._is_due.set()
        return has_changed

    async def _give_turns(self, job: str, count: int) -> bool:
        """Give turns of one job; whether anything has changed. The share has counted them as in flight."""
        driven = self._driven[job]
        try:
            has_changed = await driven.give_turns(count)
        except JobLost:
            self._claims.pop(job, None)
            self._forget_net(job)
            return False
        except PrecastError as error:
            log.warning("jobs are not driven: %s", error)
            self._forget_net(job)
            return False
        except Exception:
            log.exception("a job is not driven because of a bug")
            self._forget_net(job)
            return False
        self._share.done(job, count)
        self._count(job, driven)
        self._share.offer(driven.environment, job, driven.wanted)
        return has_changed

    def _count(self, job: str, driven: DrivenJob) -> None:
        """Tell the share how many attempts of a job are in flight."""
        before = self._in_flight.get(job, 0)
        self._in_flight[job] = driven.in_flight
        if driven.in_flight > before:
            self._share.adopt(driven.environment, job, driven.in_flight - before)
        else:
            self._share.done(job, before - driven.in_flight)

    def _forget_net(self, job: str) -> None:
        """The net in memory may differ from what is stored: it is computed again, if the job is still this server's."""
        self._driven.pop(job, None)
        self._in_flight.pop(job, None)
        self._share.forget(job)

    async def _load(self, claim: JobClaim) -> DrivenJob:
        """Compute the net of a job from its stored states. Raises JobLost."""
        found = await self._stores.database.write(self._read, claim)
        if found is None:
            raise JobLost
        job, steps = found
        return DrivenJob(self._stores, claim, job, steps, await make_work(self._stores, job, steps))

    def _read(self, claim: JobClaim) -> Transaction[tuple[JobRow, list[StepState]] | None]:
        job = yield from self._stores.jobs.lock(claim)
        if job is None:
            return None
        return job, (yield from self._stores.attempts.list_states(job.id))

    def _own(self, owner: str, limit: int) -> Transaction[list[JobClaim]]:
        alive = yield from self._stores.sessions.list_alive()
        return (yield from self._stores.jobs.own(owner, alive, limit))

    # Events

    def _on_due(self, _: str) -> None:
        self._is_new = True
        self._is_due.set()

    def _on_moved(self, job: str) -> None:
        if job in self._claims:
            self._due.add(job)
            self._is_due.set()

    def note_connected(self, node: str) -> None:
        """A node has connected: jobs may wait for it."""
        self._returned.add(node)
        self._is_due.set()

    async def _wait(self) -> None:
        """Wait for an event, or until something is due by time."""
        now_s = self._clock.monotonic_s()
        times = [driven.next_s for driven in self._driven.values() if driven.next_s is not None]
        wait_s = min([POLL_S, *(max(0.0, at - now_s) for at in times)])
        try:
            async with asyncio.timeout(wait_s):
                await self._is_due.wait()
        except TimeoutError:
            pass
        self._is_due.clear()

    async def follow_returns(self) -> None:
        """Have the jobs looked at that wait for nodes which have connected."""
        now_s = self._clock.monotonic_s()
        if now_s - self._looked_s >= RETURN_EVERY_S:
            self._looked_s = now_s
            self._returned.update(await self._stores.sessions.find_newer_epochs(self._clock.now() - RETURN_SPAN))
        while self._returned:
            nodes = sorted(self._returned)[:RETURN_PAGE]
            waiting = await self._stores.database.read(self._stores.attempts.list_jobs_waiting_for, nodes)
            for job in waiting:
                if job in self._claims:
                    if (driven := self._driven.get(job)) is not None:
                        driven.return_nodes(nodes)
                    self._due.add(job)
            others = [job for job in waiting if job not in self._claims]
            if others:
                await self._stores.database.write(self._stores.jobs.wake, others)
                self._is_new = True
            self._returned.difference_update(nodes)

    async def _delete_old(self) -> None:
        now_s = self._clock.monotonic_s()
        if now_s - self._deleted_s > DELETE_EVERY_S:
            before = await self._stores.guard.cutoff(RETENTION)
            jobs, parts = self._stores.jobs, self._stores.parts
            if before is None or await jobs.delete_old(before, DELETE_BATCH, parts) < DELETE_BATCH:
                self._deleted_s = now_s

    async def _release(self, owner: str) -> None:
        try:
            await self._stores.database.write(self._stores.jobs.release_all, owner)
        except PrecastError as error:
            log.warning("other servers can take over the jobs of this server only when its lease ends: %s", error)

    async def _guard(self, work: Awaitable[None]) -> bool:
        """The boundary of driving: an error of one job, or of the database for a while, ends neither the other jobs nor the server."""
        try:
            await work
        except PrecastError as error:
            log.warning("jobs are not driven: %s", error)
        except Exception:
            log.exception("a job is not driven because of a bug")
        else:
            return True
        return False
