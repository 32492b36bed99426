"""Starts the plans of actions that are due, beside the scheduler: preparing one may take minutes, and holds up no other action.

A due time stays open until the transaction that stores its run, or says why there is none. So a killed server loses nothing, and of two
servers that prepare the plan of one due time only one stores a run.
"""

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.base.ids import Ids
from precast.services.actions.plan_runs import PlanActions, PlanStart
from precast.services.actions.rights import ActionRights
from precast.services.actions.starting import ActionStarter, ChosenNodes, DueOutcome, EnvironmentOf, explain_skip
from precast.services.actions.stored import decode_action
from precast.services.approvals.approvals import Participant
from precast.store.actions import actions as store
from precast.store.actions.actions import ActionRow, Actions, DueRow
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction

log = logging.getLogger("precast.actions")

# Plans that are prepared at once, and due times that wait for that; those beyond are offered again by the next pass of the scheduler.
WORKERS = 2
MAX_WAITING = 100
# How long after its failure a plan is prepared again that may succeed later, and how long after its due time it is given up.
RETRY_S = 30.0
GIVE_UP = timedelta(hours=1)
MAX_MESSAGE = 1_000


class _Offer(NamedTuple):
    action: ActionRow
    due: Sequence[DueRow]


class PlanDues:
    """Prepares and stores the runs of due times, for as long as `run` runs."""

    def __init__(
        self,
        database: Database,
        actions: Actions,
        starter: ActionStarter,
        plans: PlanActions,
        rights: ActionRights,
        ids: Ids,
    ) -> None:
        self._database, self._actions, self._starter = database, actions, starter
        self._plans, self._rights, self._ids = plans, rights, ids
        self._waiting: dict[str, _Offer] = {}
        self._at_work: set[str] = set()
        # When a plan may be prepared again; bounded by the actions whose due times are open.
        self._again_s: dict[str, float] = {}
        self._is_offered = asyncio.Event()

    def offer(self, action: ActionRow, due: Sequence[DueRow]) -> None:
        """Have open due times of an action handled, if none of it is being handled, nor has failed a moment ago."""
        now_s = self._database.clock.monotonic_s()
        is_busy = action.id in self._waiting or action.id in self._at_work or len(self._waiting) >= MAX_WAITING
        if not is_busy and self._again_s.get(action.id, now_s) <= now_s:
            self._waiting[action.id] = _Offer(action, due)
            self._is_offered.set()

    async def run(self) -> None:
        """Handle what is offered until cancelled. Cancelling is safe: what was not stored stays due."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            await self._is_offered.wait()
            await self.work_off()

    async def work_off(self) -> None:
        """Handle what waits, one after the other, until nothing does."""
        while self._waiting:
            action_id = next(iter(self._waiting))
            offer = self._waiting.pop(action_id)
            self._at_work.add(action_id)
            try:
                await self._handle(offer)
            finally:
                self._at_work.discard(action_id)
        self._is_offered.clear()

    async def _handle(self, offer: _Offer) -> None:
        """Start a plan; its own errors end in the rows of its due times."""
        action, due = offer
        try:
            await self._start(action, due)
        except PrecastError as error:
            clock = self._database.clock
            if error.consequence.retry and clock.now() - due[0].due_at < GIVE_UP:
                log.warning("the plan of the action %s waits: %s", action.id, error)
                self._again_s[action.id] = clock.monotonic_s() + RETRY_S
                return
            await self._fail(due, error.message)
        except Exception as error:
            log.exception("the action %s is broken", action.id)
            await self._fail(due, f"{type(error).__name__}: {error}")
        self._again_s.pop(action.id, None)

    async def _start(self, action: ActionRow, due: Sequence[DueRow]) -> None:
        found = await self._starter.find_matching(action, due[0])
        owner, chosen = await self._database.read(self._choose, action, due, found)
        if isinstance(chosen, DueOutcome):
            await self._database.write(self._actions.decide_all, due, chosen.state, None, chosen.message)
            return
        now = self._database.clock.now()
        start = await self._plans.prepare(action, owner, chosen.environment_of, chosen.seals, now)
        await self._database.write(self._store, action.id, due, chosen, start, self._ids.new())

    def _choose(
        self, action: ActionRow, due: Sequence[DueRow], found: EnvironmentOf | None
    ) -> Transaction[tuple[Participant, ChosenNodes | DueOutcome]]:
        owner = yield from self._rights.find_owner(action)
        skipped = explain_skip(action, due[0])
        if skipped is not None:
            return owner, skipped
        only = {row.node for row in due if row.node}
        return owner, (yield from self._starter.choose_nodes(action, decode_action(action), found, only))

    def _store(
        self, action_id: str, seen: Sequence[DueRow], chosen: ChosenNodes, start: PlanStart, job: str
    ) -> Transaction[None]:
        """Store the run, unless another server has, or the action has been changed while it was prepared."""
        action = yield from self._actions.lock(action_id)
        still_open = (yield from self._actions.list_open_of(action_id)) if action is not None else set()
        due = [row for row in seen if row in still_open]
        if action is None or not due:
            return
        outcome = yield from self._judge(action, due[0], chosen)
        if outcome is not None:
            yield from self._actions.decide_all(due, outcome.state, None, outcome.message)
        elif due[0].state == store.QUEUED and (yield from self._starter.find_open_jobs(action_id)):
            return  # it waits for the end of that job
        else:
            starting = [row for row in due if not row.node or row.node in chosen.environment_of]
            others = [row for row in due if row not in starting]
            yield from self._actions.decide_all(others, store.SKIPPED, None, "the node is not one of its targets")
            yield from self._actions.decide_all(starting, store.STARTED, job, None)
            yield from self._plans.store(action, job, start)

    def _judge(self, action: ActionRow, due: DueRow, chosen: ChosenNodes) -> Transaction[DueOutcome | None]:
        skipped = explain_skip(action, due)
        if skipped is not None:
            return skipped
        work = decode_action(action).new.work
        refusal = yield from self._rights.explain_refusal(action, work, chosen.environment_of)
        return None if refusal is None else DueOutcome(store.FAILED, message=refusal)

    async def _fail(self, due: Sequence[DueRow], message: str) -> None:
        try:
            await self._database.write(self._actions.decide_all, due, store.FAILED, None, message[:MAX_MESSAGE])
        except PrecastError as error:
            log.warning("the error of the action %s cannot be stored: %s", due[0].action, error)
