"""One job while a server drives it: its net in memory, and the transactions that move its attempts.

A pass takes in what has changed, ends waits that are over, and gives turns. Each transaction begins with the fence, so a server that has
lost the job can write nothing more. Turns and orders are written in one transaction, so no node is ordered twice and none is forgotten.
Whatever goes wrong, the server drops the net and computes it again from the stored states.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from precast.services.clocks.guard import ClockGuard
from precast.services.futures.members import Round, refresh_members
from precast.services.jobs.driving.job_net import StepKey
from precast.services.jobs.driving.job_releases import JobReleases
from precast.services.jobs.driving.job_windows import JobWindows, Openings
from precast.services.jobs.driving.turn_rate import TurnRate
from precast.services.jobs.driving.work import JobWork, SettledStep, StepsOfOneTask
from precast.services.jobs.grants import Grants
from precast.services.jobs.requests import ONLY_TASK, RELEASE, JobRequest, decode_request, why_away
from precast.services.sessions.orders import OrderService
from precast.store.engine.database import Database
from precast.store.engine.lockstep import in_lockstep
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import AttemptKey, Attempts, Ending, StepState
from precast.store.jobs.jobs import DeletePart, JobClaim, JobRow, Jobs
from precast.store.sessions.sessions import Sessions
from precast.wire.jobs import states

# Turns that are given in one transaction, and steps that end in one without a turn of a node.
MAX_TURNS = 200
MAX_SETTLED = 1_000
# Pages of changes that one pass takes in. The rest is due at once, after other jobs: a flood of output delays no end of another job.
MAX_PAGES = 2
# How often a server looks whether the nodes that have their turn and have not begun are still connected.
LOOK_S = 2.0
# A node that was connected when its job began and has left since is expected back for so long: its server may have restarted.
RETURN_GRACE = timedelta(seconds=10)
# A server that takes a job on expects its nodes back for so long, before it counts how long they have been disconnected: if all servers
# were down, they could not connect.
OUTAGE_GRACE_S = 120.0
# How long nodes may take to end what they are told to end.
ABORT_GRACE = timedelta(minutes=2)
# A job in which nothing is due is looked at again after this time, whatever happens.
LONGEST_REST = timedelta(days=1)
WINDOW_REST = timedelta(minutes=1)
# Nodes that were connected so lately may be so again without an event: when their server renews a lease that had lapsed.
LAPSE = timedelta(minutes=5)
LAPSE_REST = timedelta(seconds=5)


# Makes the work of a job from its newest attempts, for kinds that bring their own.
MakeWork = Callable[[JobRow, JobRequest, Sequence[StepState]], Awaitable[JobWork]]


# Follows changes of a job's steps, in the transaction that numbers them.
FollowChanges = Callable[[JobRow, Sequence[StepState]], Transaction[None]]


class JobStores(NamedTuple):
    """The stores and services that driving needs."""

    database: Database
    jobs: Jobs
    attempts: Attempts
    sessions: Sessions
    orders: OrderService
    grants: Grants
    guard: ClockGuard
    windows: Openings
    releases: JobReleases
    works: Mapping[str, MakeWork] = {}  # by kind
    parts: Sequence[DeletePart] = ()  # what is deleted with a job
    on_changes: Sequence[FollowChanges] = ()


class Intake(NamedTuple):
    """What a pass has taken in: the job, the steps that changed, whether there is more, and the attempts that were told to end."""

    job: JobRow
    changed: list[StepState]
    has_more: bool
    told: list[AttemptKey]


class JobLost(Exception):
    """Another server drives the job, or it has ended."""


class DrivenJob:
    """A job that this server drives. `next_s` is the monotonic time of its next pass, unless an event comes before."""

    def __init__(
        self, stores: JobStores, claim: JobClaim, job: JobRow, steps: Sequence[StepState], work: JobWork
    ) -> None:
        self._stores, self._claim = stores, claim
        self._request = decode_request(job)
        self._work, self._net = work, work.net
        self._round = job.round
        clock, nodes = stores.database.clock, sorted({step.node for step in steps if step.n == job.round})
        self._rate = TurnRate(self._request.limits.per_minute, clock)
        self._windows = JobWindows(stores.windows, clock, job, self._request, nodes)
        self._closed: set[str] = set()  # nodes whose windows are closed
        self._told: set[AttemptKey] = set()  # attempts that were told to end
        self._looked_s = float("-inf")
        self._began_s = clock.monotonic_s()
        self._is_blocked = False
        self._is_going = job.state == states.GOING  # as far as is known
        self.environment = job.environment or ""
        self.next_s: float | None = None

    @property
    def in_flight(self) -> int:
        """The number of attempts that have their turn."""
        return self._net.running_count

    @property
    def wanted(self) -> int:
        """The most attempts that could start now, as far as is known."""
        return MAX_TURNS if self._net.has_waiting and not self._is_blocked else 0

    # Passes

    async def take_in(self) -> bool:
        """Follow what has happened; whether the job is still to be driven. Raises JobLost."""
        write = self._stores.database.write_alone
        await self._work.refresh()
        pages = 0
        while True:
            intake = await write(self._take_in)
            self._follow(intake.changed)
            self._told.update(intake.told)
            pages += 1
            if intake.has_more and pages == MAX_PAGES:
                self.next_s = self._stores.database.clock.monotonic_s()
                return True
            if intake.has_more or await self._end_unreachable():
                continue
            if self._net.is_over:
                if await write(self._finish):
                    return False
                continue
            may_begin = self._may_begin(intake.job)
            self._is_blocked, self._is_going = not may_begin, intake.job.state == states.GOING
            if self._is_going and self._net.is_halted:
                await write(self._halt)
                continue
            if may_begin:
                await self._follow_windows()
            if await self._look_for_nodes():
                continue
            if may_begin:
                is_idle = not self._net.running_count and (not self._net.has_waiting or self._is_blocked)
                if is_idle and await write(self._rest):
                    return False
                if is_idle:
                    self._looked_s = float("-inf")  # a node is back, or the job is to end: the next pass sees it
            self._plan_next()
            return True

    async def give_turns(self, limit: int) -> bool:
        """Give at most so many turns, as the net allows; whether anything has changed. Raises JobLost."""
        if self._request.limits.per_minute is not None:
            self._net.add_rate(self._rate.take_new(), self._rate.most)
        chosen: list[StepKey] = []
        settled: list[SettledStep] = []
        most = min(limit, MAX_TURNS)
        while len(chosen) < most and len(settled) < MAX_SETTLED and (key := self._net.start_next()) is not None:
            ending = self._work.settle(key)
            if ending is None:
                chosen.append(key)
            else:
                settled.append(SettledStep(key, ending))
                self._net.end(key, ending.state, ending.reason)
        if len(chosen) < most and len(settled) < MAX_SETTLED:
            self._is_blocked = True  # until something happens
        if settled:
            await self._stores.database.write_alone(self._settle, settled)
        if chosen:
            for key in await self._stores.database.write_alone(self._order, chosen):
                self._net.postpone(key)
        if has_halted := self._is_going and self._net.is_halted:
            await self._stores.database.write_alone(self._halt)
            self._is_going = False
        self._plan_next()
        return bool(chosen) or bool(settled) or has_halted

    def return_nodes(self, nodes: Sequence[str]) -> bool:
        """Nodes have connected; whether the job waits for any of them."""
        return self._net.return_nodes(set(nodes) - self._closed)

    def _may_begin(self, job: JobRow) -> bool:
        """Whether any step of the job may still begin: in one that halts, only those that clean up."""
        return job.state == states.GOING or (job.state == states.HALTING and bool(self._work.always_tasks))

    def _follow(self, changed: Sequence[StepState]) -> None:
        for step in changed:
            if step.n == self._round and step.is_parked:
                self._net.park(StepKey(step.task, step.node))
            if step.n == self._round and step.state not in states.OPEN_STATES:
                self._net.end(StepKey(step.task, step.node), step.state, step.reason)

    def _plan_next(self) -> None:
        """When the next pass is due by time alone."""
        clock, limits = self._stores.database.clock, self._request.limits
        waits = [60.0]
        if self._net.running_count:
            waits.append(LOOK_S)
        if self._net.has_waiting and (rate_s := self._rate.wait_s()) is not None:
            waits.append(rate_s)
        if self._net.away:
            waits.append(limits.try_every_s if limits.tries else max(1.0, limits.away_s))
        if (change_at := self._windows.find_next_change()) is not None:
            waits.append(max(0.0, (change_at - clock.now()).total_seconds()))
        self.next_s = clock.monotonic_s() + min(waits)

    # Windows

    async def _follow_windows(self) -> None:
        """Begin nothing on nodes whose windows are closed. If they are closed for all, the job waits as it is, with its batches."""
        await self._windows.refresh()
        closed = self._windows.find_closed()
        opened = self._closed - closed
        self._closed = closed
        if not closed and not opened:
            return
        waiting = self._net.waiting_nodes
        if waiting and waiting <= closed:
            self._is_blocked = True
        else:
            self._net.hold(closed)
        self._net.return_nodes(opened)
        if closed and any(key.node in closed for key in self._net.running):
            for taken in await self._stores.database.write_alone(self._take_back, closed):
                self._net.postpone(StepKey(taken.task, taken.node), is_held=True)
        aborted = self._windows.find_aborted()
        if aborted and any(key.node in aborted for key in self._net.running):
            self._told.update(await self._stores.database.write_alone(self._abort_closed, aborted))

    def _take_back(self, nodes: set[str]) -> Transaction[list[AttemptKey]]:
        """Take the turns back of nodes that have not begun and must not begin any more."""
        job = yield from self._lock()
        taken = []
        for key in (yield from self._stores.attempts.list_unclaimed(job.id)):
            if key.node in nodes and (yield from self._stores.attempts.take_turn_back(key)):
                taken.append(key)  # noqa: PERF401 - a comprehension cannot yield
        return taken

    def _abort_closed(self, nodes: set[str]) -> Transaction[list[AttemptKey]]:
        job = yield from self._lock()
        return (yield from self._tell_to_end(job, "its window has closed", nodes))

    # Taking in

    def _take_in(self) -> Transaction[Intake]:
        """End what has to end, number the changes, and return them."""
        job = yield from self._lock()
        told = [] if job.state == states.GOING else (yield from self._end_rest(job))
        # A clock that jumped ends no wait that began before.
        for ended in (yield from self._stores.attempts.expire(job.id, self._stores.guard.trusted_since)):
            yield from self._stores.grants.end_wait(ended, "it did not begin in time")
        last, changed, has_more = yield from self._stores.attempts.number_changes(job.id, job.changes)
        yield from self._work.note_ends(job, changed)
        for follow in self._stores.on_changes if changed else ():
            yield from follow(job, changed)
        if last != job.changes:
            yield from self._stores.jobs.set_state(job.id, job.state, last, None)
        return Intake(job, changed, has_more, told)

    def _end_rest(self, job: JobRow) -> Transaction[list[AttemptKey]]:
        """End the attempts of a job that is to end: nobody begins any more, and an abort also tells what was picked up to end.

        Returns the attempts that were told.
        """
        if job.state == states.HALTING:
            ending = Ending(states.SKIPPED, states.HALTED, "too many others failed")
        else:
            verb = "aborted" if job.state == states.ABORTING else "stopped"
            ending = Ending(states.CANCELLED, None, f"{verb} by {job.stopped_by}")
        kept = sorted(self._work.always_tasks) if job.state == states.HALTING else ()
        for ended in (yield from self._stores.attempts.end_queued(job.id, ending, kept)):
            yield from self._stores.grants.end_wait(ended, ending.message or "")
        if job.state != states.ABORTING:
            return []
        told = yield from self._tell_to_end(job, ending.message or "")
        yield from self._stores.attempts.hurry(job.id, self._now() + ABORT_GRACE)
        return told

    def _tell_to_end(self, job: JobRow, why: str, nodes: set[str] | None = None) -> Transaction[list[AttemptKey]]:
        """Tell attempts to end that were picked up and not told yet, on these nodes or on all. Returns them."""
        picked_up = yield from self._stores.attempts.list_picked_up(job.id)
        told = [key for key in picked_up if key not in self._told and (nodes is None or key.node in nodes)]
        for key in told:
            yield from self._stores.grants.abort(key, why)
        return told

    async def _end_unreachable(self) -> bool:
        """End the steps that can never begin any more; whether there were any."""
        settled = self._work.take_unreachable()
        for start in range(0, len(settled), MAX_SETTLED):
            await self._stores.database.write_alone(self._settle, settled[start : start + MAX_SETTLED])
        return bool(settled)

    def _settle(self, settled: Sequence[SettledStep]) -> Transaction[None]:
        """End steps that no node is to begin. One that was ended meanwhile stays as it is."""
        job = yield from self._lock()
        for step in sorted(settled, key=lambda step: step.key.node):
            key = AttemptKey(job.id, step.key.task, step.key.node, self._round)
            yield from self._stores.attempts.end(key, states.QUEUED, step.ending)

    def _finish(self) -> Transaction[bool]:
        """End the job; False if another transaction is writing a change, which the next pass sees."""
        job = yield from self._lock()
        if (yield from self._stores.attempts.has_unnumbered(job.id)):
            return False
        yield from self._stores.jobs.set_state(job.id, states.JOB_ENDS[job.state], job.changes, self._now())
        return True

    def _halt(self) -> Transaction[None]:
        job = yield from self._lock()
        if job.state == states.GOING:
            yield from self._stores.jobs.set_state(job.id, states.HALTING, job.changes, None)

    def _rest(self) -> Transaction[bool]:
        """Let nobody drive the job: all it waits for is nodes that are away, and windows. False if something has changed."""
        job = yield from self._lock()
        if job.state != states.GOING:
            return False  # somebody has asked it to end
        nodes = [key.node for key in self._net.away if key.node not in self._closed]
        if (yield from self._stores.attempts.has_unnumbered(job.id)) or (
            yield from self._stores.sessions.filter_connected(nodes)
        ):
            return False
        wake_at = self._now() + LONGEST_REST
        if (yield from self._stores.sessions.filter_expected(nodes, self._now() - LAPSE)):
            wake_at = self._now() + LAPSE_REST
        if (due_at := (yield from self._stores.attempts.find_next_due(job.id))) is not None:
            wake_at = min(wake_at, due_at)
        if self._request.limits.tries is not None:
            wake_at = min(wake_at, self._now() + timedelta(seconds=self._request.limits.try_every_s))
        if (change_at := self._windows.find_next_change()) is not None:
            # Somebody may change a window or its bindings before.
            wake_at = min(wake_at, change_at, self._now() + WINDOW_REST)
        yield from self._stores.jobs.rest(self._claim, wake_at)
        return True

    # Nodes that are away

    async def _look_for_nodes(self) -> bool:
        """Find nodes that left before they began, and nodes that are back; whether anything has changed."""
        now_s = self._stores.database.clock.monotonic_s()
        if now_s - self._looked_s < LOOK_S or not (self._net.running_count or self._net.away):
            return False
        self._looked_s = now_s
        away = [key for key in self._net.away if key.node not in self._closed]
        gone, back = await self._stores.database.write_alone(self._look, away)
        has_lost = False
        if any(self._work.lost_after_s(key) is not None for key in self._net.running[:1]):
            has_lost = await self._stores.database.write_alone(self._end_lost)
        for key in gone:
            self._net.postpone(StepKey(key.task, key.node))
        return self._net.return_nodes(back) or bool(gone) or has_lost

    def _look(self, away: Sequence[StepKey]) -> Transaction[tuple[list[AttemptKey], set[str]]]:
        job = yield from self._lock()
        unclaimed = yield from self._stores.attempts.list_unclaimed(job.id)
        connected = yield from self._stores.sessions.filter_connected([key.node for key in away])
        expected = yield from self._filter_expected([key.node for key in unclaimed])
        gone = []
        for key in unclaimed:
            if key.node not in expected and (yield from self._stores.attempts.take_turn_back(key)):
                gone.append(key)  # noqa: PERF401 - a comprehension cannot yield
        still_away = [AttemptKey(job.id, *key, self._round) for key in away if key.node not in connected]
        tries = self._request.limits.tries is not None
        for key in [*gone, *(still_away if tries else [])]:
            yield from self._note_away(key)
        return gone, {key.node for key in away} & connected

    def _end_lost(self) -> Transaction[bool]:
        """End attempts whose nodes have been disconnected for too long, while servers were there; whether there were any.

        What such a node reports later is stored beside the state.
        """
        job = yield from self._lock()
        has_lost, driven_s = False, self._stores.database.clock.monotonic_s() - self._began_s
        by_time: dict[float, list[AttemptKey]] = {}
        for key in (yield from self._stores.attempts.list_picked_up(job.id)):
            lost_after_s = self._work.lost_after_s(StepKey(key.task, key.node))
            if lost_after_s is not None and driven_s >= min(lost_after_s, OUTAGE_GRACE_S):
                by_time.setdefault(lost_after_s, []).append(key)
        for lost_after_s, keys in sorted(by_time.items()):
            since = self._now() - timedelta(seconds=lost_after_s)
            expected = yield from self._stores.sessions.filter_expected([key.node for key in keys], since)
            for key in keys:
                if key.node not in expected:
                    message = f"its node has been disconnected for more than {lost_after_s:g} s"
                    ending = Ending(states.FAILED, states.LOST, message)
                    yield from self._stores.attempts.end(key, states.PICKED_UP, ending)
                    yield from self._stores.grants.release(key)
                    has_lost = True
        return has_lost

    def _filter_expected(self, nodes: Sequence[str]) -> Transaction[set[str]]:
        """Those of the nodes that can get orders now; if the job does not wait for nodes, also those that may be back in a moment."""
        if self._request.limits.away_s or self._request.limits.tries is not None:
            return (yield from self._stores.sessions.filter_connected(nodes))
        return (yield from self._stores.sessions.filter_expected(nodes, self._now() - RETURN_GRACE))

    def _note_away(self, key: AttemptKey) -> Transaction[None]:
        """Wait for a node that is away as the request has it: until a time, a number of tries, or not at all."""
        limits, attempts = self._request.limits, self._stores.attempts
        if not limits.away_s and limits.tries is None:
            held = yield from self._stores.sessions.filter_held([key.node])
            ending = Ending(states.SKIPPED, states.AWAY, why_away(bool(held)))
            yield from attempts.end(key, states.QUEUED, ending)
            return
        every_s = limits.try_every_s if limits.tries else 0.0
        tries = yield from attempts.look_again(key, limits.away_s, every_s)
        if limits.tries is not None and tries >= limits.tries:
            times = "once" if tries == 1 else f"{tries} times"
            ending = Ending(states.FAILED, states.UNREACHABLE, f"it was looked for {times} and was never connected")
            yield from attempts.end(key, states.QUEUED, ending)

    # Turns

    def _order(self, chosen: Sequence[StepKey]) -> Transaction[list[StepKey]]:
        """Give turns and post orders; returns the steps whose nodes are away."""
        job = yield from self._lock()
        connected = yield from self._filter_expected([key.node for key in chosen])
        refused: dict[str, str] = {}
        if job.kind == RELEASE:
            refused = yield from self._stores.releases.release(job, sorted(connected))
            if self._request.mode != "noop":
                members = Round(job.id, ONLY_TASK, self._round, sorted(connected - refused.keys()))
                yield from refresh_members(members, self._now())
        yield from self._work.prepare_orders(step for step in chosen if step.node in connected)
        away, orders = [], []
        for step in sorted(chosen, key=lambda step: step.node):
            key = AttemptKey(job.id, step.task, step.node, self._round)
            if step.node not in connected:
                yield from self._note_away(key)
                away.append(step)
            elif step.node in refused:
                ending = Ending(states.SKIPPED, states.NOT_RELEASED, refused[step.node])
                yield from self._stores.attempts.end(key, states.QUEUED, ending)
            else:
                orders.append(self._order_node(job, key))
        yield from in_lockstep(orders)
        return away

    def _order_node(self, job: JobRow, key: AttemptKey) -> Transaction[None]:
        stores, request, now = self._stores, self._request, self._now()
        if not (yield from stores.orders.has_room(key.node)):
            ending = Ending(states.SKIPPED, states.AWAY, "too many orders wait for it already")
            yield from stores.attempts.end(key, states.QUEUED, ending)
            return
        if request.sealed_until is not None and request.sealed_until <= now:
            late = f"the command had to begin before {request.sealed_until:%Y-%m-%d %H:%M:%SZ}"
            yield from stores.attempts.end(key, states.QUEUED, Ending(states.EXPIRED, None, late))
            return
        due_at = _earliest(now + timedelta(seconds=request.limits.begin_s), request.until)
        turn = yield from stores.attempts.give_turn(key, due_at)
        if turn is None:
            return  # it was cancelled, or the node was purged in the meantime
        if turn.claim is not None:
            yield from stores.grants.grant(key, turn.claim)
            return
        order = yield from self._work.make_order(job, key, now, due_at, turn.seal)
        if isinstance(order, Ending):
            yield from stores.attempts.end(key, states.QUEUED, order)
        else:
            yield from stores.orders.post(key.node, order.kind, order.body)

    def _lock(self) -> Transaction[JobRow]:
        job = yield from self._stores.jobs.lock(self._claim)
        if job is None or job.round != self._round:
            raise JobLost
        return job

    def _now(self) -> datetime:
        return self._stores.database.clock.now()


def _earliest(at: datetime, limit: datetime | None) -> datetime:
    return at if limit is None else min(at, limit)


async def make_work(stores: JobStores, job: JobRow, steps: Sequence[StepState]) -> JobWork:
    """The work of a job, by its kind."""
    request = decode_request(job)
    if (make := stores.works.get(job.kind)) is not None:
        return await make(job, request, steps)
    return StepsOfOneTask(job, request, steps)
