"""Due times that are not of the clock: a node has connected, a person wants the action now, or a due time was queued behind a job.

Their rows exist when a scheduler sees them, and are decided in the transaction that makes the job.
"""

import logging
from collections.abc import Sequence
from itertools import groupby

from precast.base.errors import PrecastError
from precast.base.ids import Ids
from precast.services.actions.plan_dues import PlanDues
from precast.services.actions.starting import ActionStarter, EnvironmentOf, NewStart, explain_skip
from precast.services.actions.stored import decode_action
from precast.store.actions import actions as store
from precast.store.actions.actions import ActionRow, Actions, DueRow
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.wire.actions.bodies import PLAN_KINDS

log = logging.getLogger("precast.actions")

PAGE = 500
MAX_MESSAGE = 1_000


class ActionEvents:
    """Notes what happens to nodes, as part of the transaction in which it happens."""

    def __init__(self, actions: Actions) -> None:
        self._actions = actions

    def node_returned(self, node: str) -> Transaction[None]:
        """A node has connected again after it was away."""
        yield from self._actions.add_event(node, store.BY_RETURN)

    def node_enrolled(self, node: str) -> Transaction[None]:
        """A node has connected for the first time since it was enrolled."""
        yield from self._actions.add_event(node, store.BY_ENROLMENT)


class DueEvents:
    """Decides open due times. `awaited_jobs` are those whose end lets a queued one start."""

    def __init__(self, database: Database, actions: Actions, starter: ActionStarter, plans: PlanDues, ids: Ids) -> None:
        self._database, self._actions, self._starter, self._ids = database, actions, starter, ids
        self.plans = plans
        self.awaited_jobs: set[str] = set()

    async def handle_all(self) -> None:
        """Decide every open due time that can start. Nodes that connected at about the same time share a job."""
        rows: list[DueRow] = []
        last: DueRow | None = None
        while page := await self._database.read(self._actions.list_open, last, PAGE):
            rows += page
            last = page[-1]
            if len(page) < PAGE or len(rows) >= PAGE * 20:
                break  # the next pass sees the others
        self.awaited_jobs.clear()
        rows.sort(key=lambda row: (row.action, not row.node, row.due_at))
        for (action, has_node), due in groupby(rows, key=lambda row: (row.action, bool(row.node))):
            await self._handle_action(action, list(due), is_event=has_node)

    async def _handle_action(self, action_id: str, due: Sequence[DueRow], *, is_event: bool) -> None:
        """Decide the due times of one action; its own errors end in their rows."""
        try:
            action = await self._database.read(self._actions.find, action_id)
            assert action is not None, "due times are deleted with their action"
            # Without a node each due time stands for all nodes of the action, and has a job of its own.
            for part in [due] if is_event else [[row] for row in due]:
                if action.kind in PLAN_KINDS:
                    await self._offer_plan(action, part)
                else:
                    await self._start(action, part)
        except PrecastError as error:
            if error.consequence.retry:
                log.warning("the action %s waits: %s", action_id, error)
                return
            await self._fail(due, error.message)
        except Exception as error:
            log.exception("the action %s is broken", action_id)
            await self._fail(due, f"{type(error).__name__}: {error}")

    async def _offer_plan(self, action: ActionRow, due: Sequence[DueRow]) -> None:
        """Have a plan prepared, unless its due time waits for the end of an earlier job."""
        if due[0].state == store.QUEUED:
            open_jobs = await self._database.read(self._starter.find_open_jobs, action.id)
            if open_jobs:
                self.awaited_jobs |= {job.id for job in open_jobs}
                return
        self.plans.offer(action, due)

    async def _start(self, action: ActionRow, due: Sequence[DueRow]) -> None:
        found = await self._starter.find_matching(action, due[0])
        start = NewStart(min(row.due_at for row in due), self._ids.new(), self._database.clock.now())
        self.awaited_jobs |= await self._database.write(self._decide, action.id, due, found, start)

    def _decide(
        self, action_id: str, seen: Sequence[DueRow], found: EnvironmentOf | None, start: NewStart
    ) -> Transaction[set[str]]:
        """Decide due times; returns the jobs for whose end they wait."""
        action = yield from self._actions.lock(action_id)
        if action is None:
            return set()
        # Those that another scheduler has decided since they were read have their job.
        still_open = yield from self._actions.list_open_of(action_id)
        due = [row for row in seen if row in still_open]
        if not due:
            return set()
        if due[0].state == store.QUEUED:
            open_jobs = yield from self._starter.find_open_jobs(action_id)
            if open_jobs:
                return {job.id for job in open_jobs}
        outcome = explain_skip(action, due[0])
        if outcome is None:
            nodes = {row.node for row in due if row.node}
            outcome = yield from self._starter.prepare(action, decode_action(action), start, found, nodes)
        starting = set() if outcome.job is None else set(outcome.job.nodes)
        for row in due:
            if starting and row.node and row.node not in starting:
                yield from self._actions.decide(row, store.SKIPPED, None, "the node is not one of its targets")
            else:
                yield from self._actions.decide(row, outcome.state, outcome.job_id, outcome.message)
        yield from self._starter.make(outcome)
        return set()

    async def _fail(self, due: Sequence[DueRow], message: str) -> None:
        try:
            await self._database.write(self._actions.decide_all, due, store.FAILED, None, message[:MAX_MESSAGE])
        except PrecastError as error:
            log.warning("the error of the action %s cannot be stored: %s", due[0].action, error)
