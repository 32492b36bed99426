"""Actions as people request them: lists, shows and changes them. `creation` creates them; a scheduler starts them.

An action belongs to an environment if all of its nodes do. A token for some environments sees and changes the actions of these.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from precast.base.errors import PrecastError
from precast.services.actions import issues
from precast.services.actions.starting import ActionStarter
from precast.services.actions.stored import ParseCron, decode_action, first_due, make_schedule
from precast.services.actions.views import ActionViews
from precast.services.approvals.approvals import Participant
from precast.services.identity import roles
from precast.services.identity.signer.messages import Credential
from precast.services.jobs.issues import RUN_OVER
from precast.services.jobs.service import MAX_WAIT_S, is_id
from precast.store.actions import actions as store
from precast.store.actions.actions import CHANGED_PREFIX, ActionRow, Actions, ActionState, DueRow
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import END, AuditLog
from precast.store.jobs.attempts import Attempts
from precast.wire.actions import bodies
from precast.wire.actions.bodies import ActionView
from precast.wire.jobs.views import JobView
from precast.wire.plans.bodies import PlanRunView

LISTED = 50
DUES_SHOWN = 20
# Changes that make nodes run a command, for which an operator does not suffice.
_STARTING = (bodies.RETRY, bodies.RESUME, bodies.RUN_NOW)


class JobControl(Protocol):
    """Ends and repeats jobs."""

    async def stop(self, job_id: str, actor: str, kind: str | None = None, environments: Sequence[str] = ()) -> JobView:
        """Let no other node begin. Raises ConflictError RUN-002."""

    async def abort(
        self, job_id: str, actor: str, kind: str | None = None, environments: Sequence[str] = ()
    ) -> JobView:
        """Let no other node begin, and end what was picked up. Raises ConflictError RUN-002."""

    async def retry(
        self, job_id: str, actor: str, credential: Credential | None = None, environments: Sequence[str] = ()
    ) -> JobView:
        """Repeat a job that has ended on the nodes that failed."""


class PlanControl(Protocol):
    """Repeats runs of plans."""

    async def retry(
        self, run: str, tasks: Sequence[str], participant: Participant, credential: Credential | None = None
    ) -> PlanRunView:
        """Repeat what has failed in a run that has ended, and what follows from it."""


class ActionService:
    """Holds no state between calls. With `kinds`, only actions of these kinds exist for the caller."""

    def __init__(
        self,
        database: Database,
        actions: Actions,
        views: ActionViews,
        starter: ActionStarter,
        attempts: Attempts,
        jobs: JobControl,
        plans: PlanControl,
        audit: AuditLog,
        parse_cron: ParseCron,
    ) -> None:
        self._database, self._actions, self._views, self._starter = database, actions, views, starter
        self._attempts, self._jobs, self._plans = attempts, jobs, plans
        self._audit, self._parse_cron = audit, parse_cron
        self._edits: dict[str, Callable[[ActionRow, str], Transaction[None]]] = {
            bodies.CANCEL: self._cancel,
            bodies.PAUSE: self._pause,
            bodies.RESUME: self._resume,
            bodies.RUN_NOW: self._run_now,
        }

    # Showing

    async def list_newest(
        self, environments: Sequence[str], before: str = "", kinds: Collection[str] = ()
    ) -> list[ActionView]:
        """The newest actions of these environments, of those before a given id."""
        return await self._database.read(self._list, environments, before if before and is_id(before) else END, kinds)

    async def show(self, action_id: str, environments: Sequence[str], kinds: Collection[str] = ()) -> ActionView:
        """An action with its newest due times. Raises NotFoundError ACTION-001."""
        return await self._database.read(self._show, action_id, environments, kinds)

    async def wait_for_job(
        self, action_id: str, environments: Sequence[str], after_job: str, wait_s: float, kinds: Collection[str] = ()
    ) -> ActionView:
        """As `show`, once the action has started another job than the given one or is over; at the latest after `wait_s`."""
        clock = self._database.clock
        until_s = clock.monotonic_s() + min(max(wait_s, 0.0), MAX_WAIT_S)
        with self._database.wakeups.subscribe(CHANGED_PREFIX + action_id) as sleeper:
            while True:
                view = await self.show(action_id, environments, kinds)
                left_s = until_s - clock.monotonic_s()
                is_started = view.newest_job is not None and view.newest_job != after_job
                if is_started or view.is_over or left_s <= 0:
                    return view
                await sleeper.wait(left_s)

    def _list(self, environments: Sequence[str], before: str, kinds: Collection[str]) -> Transaction[list[ActionView]]:
        rows: list[ActionRow] = []
        while len(rows) < LISTED:
            page = yield from self._actions.list_newest(environments, before, LISTED)
            rows += [row for row in page if not kinds or row.kind in kinds]
            if len(page) < LISTED:
                break
            before = page[-1].id
        return (yield from self._views.view_all(rows[:LISTED]))

    def _show(self, action_id: str, environments: Sequence[str], kinds: Collection[str]) -> Transaction[ActionView]:
        action = (yield from self._actions.find(action_id)) if is_id(action_id) else None
        return (yield from self._views.view(_require(action, action_id, environments, kinds), DUES_SHOWN))

    # Changing

    async def change(
        self,
        action_id: str,
        change: str,
        person: Participant,
        credential: Credential | None = None,
        kinds: Collection[str] = (),
    ) -> ActionView:
        """Cancel, abort, retry, pause, resume or run an action now.

        `cancel` unschedules it and cancels what is QUEUED; `abort` also ends what its job runs, and `retry` repeats the job on the nodes
        that failed: both leave the schedule as it is. Raises NotFoundError ACTION-001, ACTION-013, ConflictError ACTION-002, ACTION-012,
        DeniedError ACTION-003, ACTION-016, and what jobs raise.
        """
        if change not in bodies.CHANGES:
            raise issues.UNKNOWN_CHANGE.error(change=repr(change[:40]), changes=", ".join(bodies.CHANGES))
        action, jobs = await self._database.write(self._change, action_id, change, person, kinds)
        for job in jobs:
            if change == bodies.RETRY and action.kind in bodies.PLAN_KINDS:
                await self._plans.retry(job, [], person, credential)
            elif change == bodies.RETRY:
                await self._jobs.retry(job, person.actor, credential, person.environments)
            else:
                await self._end_job(change, job, person)
        return await self.show(action_id, person.environments, kinds)

    async def _end_job(self, change: str, job: str, person: Participant) -> None:
        end = self._jobs.abort if change == bodies.ABORT else self._jobs.stop
        try:
            await end(job, person.actor, None, person.environments)
        except PrecastError as error:
            if not RUN_OVER.matches(error):  # it has ended meanwhile
                raise

    def _change(
        self, action_id: str, change: str, person: Participant, kinds: Collection[str]
    ) -> Transaction[tuple[ActionRow, list[str]]]:
        """Change the action itself; returns the jobs that are to be ended or repeated."""
        found = (yield from self._actions.lock(action_id)) if is_id(action_id) else None
        action = _require(found, action_id, person.environments, kinds)
        if _runs_commands(action) and change in _STARTING and not roles.includes(person.role, roles.COMMANDS):
            raise issues.ROLE_NEEDED.error(what=change, kind=action.kind, role=roles.COMMANDS)
        if change == bodies.RUN_NOW and action.approvals:
            raise issues.APPROVED_TIMES.error(action=action_id)
        open_jobs = [job.id for job in (yield from self._starter.find_open_jobs(action_id))]
        jobs: list[str] = []
        if change == bodies.RETRY:
            jobs = yield from self._find_repeatable(action)
        elif change in (bodies.ABORT, bodies.CANCEL):
            jobs = open_jobs
        if change == bodies.ABORT and not jobs:
            raise issues.NO_JOB.error(action=action_id, what="no job that has not ended")
        edit = self._edits.get(change)
        # An action that has ended can still be cancelled while its job goes on, or a due time of it is open.
        has_open = bool(open_jobs) or (yield from self._actions.has_open(action_id))
        if change == bodies.CANCEL and action.state in store.OVER and has_open:
            yield from self._actions.decide_open(action_id, store.SKIPPED, f"cancelled by {person.actor}")
        elif edit is not None:
            yield from edit(action, person.actor)
        yield from self._audit.add(person.actor, f"action.{change}", action_id)
        return action, jobs

    def _find_repeatable(self, action: ActionRow) -> Transaction[list[str]]:
        """The newest job, if the owner of the action may still do this on its nodes. Raises ACTION-012, ACTION-016."""
        dues = yield from self._actions.list_dues(action.id, DUES_SHOWN)
        newest = next((due.job for due in dues if due.job is not None), None)
        if newest is None:
            raise issues.NO_JOB.error(action=action.id, what="started no job yet")
        names = {step.node for step in (yield from self._attempts.list_states(newest))}
        reason = yield from self._starter.explain_no_repeat(action, sorted(names))
        if reason is not None:
            raise issues.NOT_REPEATED.error(action=action.id, reason=reason)
        return [newest]

    def _cancel(self, action: ActionRow, actor: str) -> Transaction[None]:
        _require_state(action, bodies.CANCEL, store.ACTIVE, store.PAUSED, store.AWAITING_APPROVAL)
        now = self._database.clock.now()
        message = f"cancelled by {actor}"
        yield from self._actions.set_state(action.id, ActionState(store.CANCELLED, None, message, now))
        yield from self._actions.decide_open(action.id, store.SKIPPED, message)

    def _pause(self, action: ActionRow, actor: str) -> Transaction[None]:
        _require_state(action, bodies.PAUSE, store.ACTIVE)
        yield from self._actions.set_state(action.id, ActionState(store.PAUSED, None, f"paused by {actor}"))

    def _resume(self, action: ActionRow, actor: str) -> Transaction[None]:
        _require_state(action, bodies.RESUME, store.PAUSED)
        times = decode_action(action).new.times
        next_at = first_due(times, make_schedule(times, self._parse_cron), self._database.clock.now())
        state = ActionState(store.ACTIVE, next_at)
        if next_at is None and times.on is None:
            state = ActionState(store.ENDED, None, "its end has passed", self._database.clock.now())
        yield from self._actions.set_state(action.id, state)

    def _run_now(self, action: ActionRow, actor: str) -> Transaction[None]:
        _require_state(action, bodies.RUN_NOW, store.ACTIVE, store.PAUSED)
        due = DueRow(action.id, self._database.clock.now(), "", store.BY_PERSON, store.DUE, message=f"by {actor}")
        if not (yield from self._actions.add_due(due)):
            raise issues.NO_JOB.error(action=action.id, what="a due time at this moment already")


def _runs_commands(action: ActionRow) -> bool:
    """Whether an operator does not suffice to start the action."""
    if action.kind == bodies.PLAN:
        return decode_action(action).runs_commands
    return action.kind in bodies.COMMAND_KINDS


def _require(
    action: ActionRow | None, action_id: str, environments: Sequence[str], kinds: Collection[str]
) -> ActionRow:
    """Raises NotFoundError ACTION-001, also for an action that the caller may not see."""
    is_visible = action is not None and (not environments or action.environment in environments)
    if action is None or not is_visible or (kinds and action.kind not in kinds):
        raise issues.NO_SUCH_ACTION.error(action=action_id[:80])
    return action


def _require_state(action: ActionRow, change: str, *states: str) -> None:
    if action.state not in states:
        raise issues.WRONG_STATE.error(action=action.id, state=action.state, change=change)
