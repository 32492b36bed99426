"""The scheduler of actions: sleeps until the next due time, and turns each one into a job, exactly once.

A due time is handled in one transaction: the action's next time moves forward from the value that was read, the row of the due time is
inserted, and the job is made. Of two schedulers only one can move the time, and a due time that has a row already starts nothing; so
neither a second server nor a clock that steps back repeats one. An action that fails has its error in the row of its due time.

While the clock is not trusted, due times wait: they are handled when it is trusted again, as missed ones are.
"""

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import suppress
from datetime import timedelta

from precast.base.errors import PrecastError
from precast.base.ids import Ids
from precast.services.actions.due_events import DueEvents
from precast.services.actions.schedule import DueDecision, decide
from precast.services.actions.starting import ActionStarter, EnvironmentOf, NewStart
from precast.services.actions.stored import ParseCron, StoredAction, decode_action, make_schedule
from precast.services.approvals.approvals import VALID
from precast.services.clocks.guard import ClockGuard
from precast.store.actions import actions as store
from precast.store.actions.actions import ActionRow, Actions, ActionState, DueRow
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.engine.wakeups import POLL_S
from precast.store.jobs.jobs import CHANGED_PREFIX as JOB_CHANGED_PREFIX

log = logging.getLogger("precast.actions")

PAGE = 50
# Actions that ended longer ago are deleted, so many at once, and so are old due times.
RETENTION = timedelta(days=30)
DELETE_BATCH = 20
CLEAN_EVERY_S = 600.0
MAX_MESSAGE = 1_000


class ActionScheduler:
    """Handles the due times of all actions, together with the schedulers of other servers."""

    def __init__(
        self,
        database: Database,
        actions: Actions,
        starter: ActionStarter,
        events: DueEvents,
        guard: ClockGuard,
        ids: Ids,
        parse_cron: ParseCron,
    ) -> None:
        self._database, self._actions, self._starter, self._events = database, actions, starter, events
        self._clock_guard, self._ids, self._parse_cron = guard, ids, parse_cron
        self._is_woken = asyncio.Event()
        self._cleaned_s = float("-inf")
        self._is_blocked = False
        self._was_held = False

    async def run(self) -> None:
        """Handle due times until cancelled. Cancelling is safe: each due time is handled, or it is not."""
        wakeups = self._database.wakeups
        with (
            wakeups.prefix_subscription(store.DUE_TOPIC, self._wake),
            wakeups.prefix_subscription(JOB_CHANGED_PREFIX, self._on_job),
        ):
            async with asyncio.TaskGroup() as group:
                group.create_task(self._events.plans.run())
                while True:
                    await self._guard(self.handle_all())
                    await self._guard(self.clean_up())
                    await self._sleep()

    def _wake(self, _: str) -> None:
        self._is_woken.set()

    def _on_job(self, job: str) -> None:
        if job in self._events.awaited_jobs:
            self._is_woken.set()

    async def _sleep(self) -> None:
        """Sleep until the next due time, a wake-up, or the next poll."""
        left_s = POLL_S
        with suppress(PrecastError):
            next_at, _ = await self._actions.find_next()
            if next_at is not None and not self._clock_guard.is_held:
                left_s = min(POLL_S, max(0.0, (next_at - self._database.clock.now()).total_seconds()))
        with suppress(TimeoutError):
            # A due time that could not be handled is tried again with the next poll.
            async with asyncio.timeout(POLL_S if self._is_blocked else left_s):
                await self._is_woken.wait()
        self._is_woken.clear()

    async def _guard(self, work: Awaitable[None]) -> None:
        """The boundary of scheduling: an error of the database for a while ends neither the schedules nor the server."""
        try:
            await work
        except PrecastError as error:
            log.warning("actions are not scheduled: %s", error)
        except Exception:
            log.exception("actions are not scheduled because of a bug")

    async def handle_all(self) -> None:
        """Handle every due time that has come."""
        next_at, open_at = await self._actions.find_next()
        if open_at is not None:
            await self._events.handle_all()
        if next_at is None or next_at > self._database.clock.now() or self._is_held():
            return
        self._is_blocked = False
        last: ActionRow | None = None
        while page := await self._database.read(self._actions.list_due, last, PAGE):
            for action in page:
                await self.handle(action)
            last = page[-1]

    def _is_held(self) -> bool:
        is_held = self._clock_guard.is_held
        if is_held != self._was_held:
            log.warning(
                "due times of actions %s", "wait until the clock is trusted" if is_held else "are handled again"
            )
        self._was_held = is_held
        return is_held

    async def handle(self, action: ActionRow) -> None:
        """Handle the due times of one action; its own errors end in the row of the due time."""
        try:
            while (following := await self._handle(action)) is not None:
                action = following
        except PrecastError as error:
            if error.consequence.retry:
                log.warning("the action %s waits: %s", action.id, error)
                self._is_blocked = True
                return
            await self._fail(action, error.message)
        except Exception as error:
            log.exception("the action %s is broken", action.id)
            await self._fail(action, f"{type(error).__name__}: {error}")

    async def _handle(self, action: ActionRow) -> ActionRow | None:
        """Handle due times through the first that starts. Returns the action as it is then, if more of them have passed."""
        stored = decode_action(action)
        if action.event is not None:
            now = self._database.clock.now()
            ended = ActionState(store.ENDED, message="its end time has come", ended_at=now)
            await self._database.write(self._actions.move, action, ended)
            return None
        decision = self._decide(action, stored)
        found = None
        if decision.starts_at is not None and stored.new.resolve == "start":
            found = await self._starter.resolve(stored.new.nodes)
        moved = await self._database.write(self._store, action, stored, decision, found, self._ids.new())
        if not moved or decision.next_at is None or decision.next_at > self._database.clock.now():
            return None
        return await self._database.read(self._actions.find, action.id)

    def _decide(self, action: ActionRow, stored: StoredAction) -> DueDecision:
        assert action.next_at is not None, "it is due"
        schedule = make_schedule(stored.new.times, self._parse_cron)
        return decide(schedule, action.next_at, self._database.clock.now())

    def _store(
        self,
        action: ActionRow,
        stored: StoredAction,
        decision: DueDecision,
        found: EnvironmentOf | None,
        job_id: str,
    ) -> Transaction[bool]:
        """Store what was decided; False if another scheduler was first, or the action was changed meanwhile."""
        if not (yield from self._move_on(action, decision)):
            return False
        if decision.starts_at is None:
            return True
        times = stored.new.times
        start = NewStart(decision.starts_at, job_id, self._database.clock.now())
        outcome = yield from self._starter.prepare(action, stored, start, found)
        if outcome.starts and not (decision.is_late and times.missed == "all"):
            outcome = (yield from self._starter.apply_overlap(action, times.overlap)) or outcome
        due = DueRow(
            action.id, decision.starts_at, "", store.BY_TIME, outcome.state, 1, outcome.job_id, outcome.message
        )
        if (yield from self._actions.add_due(due)):
            yield from self._starter.make(outcome)
        return True

    def _move_on(self, action: ActionRow, decision: DueDecision) -> Transaction[bool]:
        """Move the action's time forward, and add the rows of missed due times."""
        is_last = decision.next_at is None
        now = self._database.clock.now()
        new = ActionState(store.ENDED, ended_at=now) if is_last else ActionState(store.ACTIVE, decision.next_at)
        if not (yield from self._actions.move(action, new)):
            return False
        for missed in decision.missed:
            row = (action.id, missed.due_at, "", store.BY_TIME, store.MISSED, missed.count)
            yield from self._actions.add_due(DueRow(*row, message=missed.message))
        return True

    async def _fail(self, action: ActionRow, message: str) -> None:
        """Store the error of an action in the row of its due time; an action whose schedule cannot be read is paused."""
        message = message[:MAX_MESSAGE]
        try:
            decision = self._decide(action, decode_action(action))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one action must not stop the others
            log.warning("the schedule of the action %s cannot be read: %s", action.id, error)
            paused = ActionState(store.PAUSED, message=f"its schedule cannot be read: {error}"[:MAX_MESSAGE])
            decision = None
        try:
            if decision is None:
                await self._database.write(self._actions.move, action, paused)
            else:
                await self._database.write(self._store_failure, action, decision, message)
        except PrecastError as error:
            log.warning("the error of the action %s cannot be stored: %s", action.id, error)
            self._is_blocked = True

    def _store_failure(self, action: ActionRow, decision: DueDecision, message: str) -> Transaction[None]:
        if (yield from self._move_on(action, decision)) and decision.starts_at is not None:
            due = DueRow(action.id, decision.starts_at, "", store.BY_TIME, store.FAILED, message=message)
            yield from self._actions.add_due(due)

    async def clean_up(self) -> None:
        """From time to time, end actions that nobody approved and delete old ones."""
        now_s = self._database.clock.monotonic_s()
        if now_s - self._cleaned_s <= CLEAN_EVERY_S:
            return
        unapproved, old = await self._clock_guard.cutoff(VALID), await self._clock_guard.cutoff(RETENTION)
        if unapproved is not None:
            await self._database.write(self._actions.end_unapproved, unapproved, "nobody approved it in time")
        if old is None or await self._actions.delete_old(old, DELETE_BATCH) < DELETE_BATCH:
            self._cleaned_s = now_s
