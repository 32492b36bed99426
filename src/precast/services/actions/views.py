"""Actions as people see them, with their due times and the jobs of these."""

from collections.abc import Sequence
from typing import NamedTuple

from precast.services.actions.stored import decode_action
from precast.services.clocks.guard import ClockGuard
from precast.store.actions import actions as store
from precast.store.actions.actions import ActionRow, Actions, DueRow
from precast.store.approvals.approvals import OPEN, Approvals
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import Jobs
from precast.wire.actions.bodies import ActionView, DueView


class ActionViews:
    """Reads views as part of a transaction; holds no state between calls."""

    def __init__(
        self, actions: Actions, jobs: Jobs, attempts: Attempts, approvals: Approvals, guard: ClockGuard
    ) -> None:
        self._actions, self._jobs, self._attempts = actions, jobs, attempts
        self._approvals, self._clock_guard = approvals, guard

    def view_all(self, actions: Sequence[ActionRow]) -> Transaction[list[ActionView]]:
        """Actions, each with its newest due time."""
        views = {}
        for action in actions:
            views[action.id] = yield from self.view(action, 1)
        return list(views.values())

    def view(self, action: ActionRow, dues: int) -> Transaction[ActionView]:
        """An action with its newest due times."""
        new = decode_action(action).new
        rows = yield from self._actions.list_dues(action.id, dues)
        due = yield from self._view_dues(rows)
        count = None if new.resolve == "start" else (yield from self._actions.count_nodes(action.id))
        return ActionView(
            id=action.id,
            name=action.name,
            kind=action.kind,
            state=action.state,
            message=(yield from self._explain(action)),
            environment=action.environment,
            made_by=action.made_by,
            made_at=action.made_at,
            next_at=None if action.event is not None else action.next_at,
            ended_at=action.ended_at,
            request=action.request,
            work=new.work,
            times=new.times,
            limits=new.limits,
            nodes=new.nodes,
            resolve=new.resolve,
            node_count=count,
            why=new.why,
            overrides_window=new.overrides_window,
            due=due,
        )

    def _explain(self, action: ActionRow) -> Transaction[str | None]:
        if action.state == store.AWAITING_APPROVAL and action.request is not None:
            request = yield from self._approvals.find(action.request)
            if request is not None and request.state != OPEN:
                return f"its request {action.request} is {request.state}{f': {request.outcome}' if request.outcome else ''}"
            return f"QUEUED, because other people must approve it: `precast approval show {action.request}`"
        if action.state == store.ACTIVE and action.next_at is not None and self._clock_guard.is_held:
            return f"due times wait until the clock is trusted: {self._clock_guard.judgement.why}"
        return action.message

    def _view_dues(self, rows: Sequence[DueRow]) -> Transaction[list[DueView]]:
        states: dict[str, _JobState] = {}
        for job_id in {row.job for row in rows if row.job is not None}:
            job = yield from self._jobs.find(job_id)
            if job is not None:
                counts = yield from self._count_states(job_id)
                states[job_id] = _JobState(job.state, counts)
        return [_view_due(row, states.get(row.job or "", _GONE)) for row in rows]

    def _count_states(self, job: str) -> Transaction[dict[str, int]]:
        counts: dict[str, int] = {}
        for (state, _), count in (yield from self._attempts.count(job)).items():
            counts[state] = counts.get(state, 0) + count
        return counts


class _JobState(NamedTuple):
    state: str | None
    counts: dict[str, int]


_GONE = _JobState(None, {})


def _view_due(row: DueRow, job: _JobState) -> DueView:
    return DueView(
        due_at=row.due_at,
        cause=row.cause,
        state=row.state,
        node=row.node,
        count=row.count,
        job=row.job,
        job_state=job.state,
        counts=job.counts,
        message=row.message,
        decided_at=row.decided_at,
    )
