"""Runs of plans as people see them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from precast.plans.model import PlanTask
from precast.services.jobs.views import view_job, view_message, view_result, why_queued
from precast.services.plans.pinned import GateNeed, PinnedPlan
from precast.store.jobs.attempts import AttemptRow, TaskCount
from precast.store.jobs.jobs import JobRow
from precast.store.plans.runs import ApprovalRow, PlanName
from precast.wire.jobs import states as job_states
from precast.wire.jobs.programs import Phase
from precast.wire.plans import states
from precast.wire.plans.bodies import (
    DocumentNode,
    FailureView,
    InstanceView,
    PlanDocument,
    PlanRunBrief,
    PlanRunView,
    TaskApprovalView,
    TaskSummary,
)


class RunParts:
    """Everything that the view of a run shows."""

    def __init__(
        self,
        job: JobRow,
        digest: str,
        pinned: PinnedPlan,
        counts: Sequence[TaskCount],
        approvals: Sequence[ApprovalRow],
        failures: Sequence[AttemptRow],
        followers: Mapping[str, int],
    ) -> None:
        self.job, self.digest, self.pinned, self.counts = job, digest, pinned, counts
        self.approvals, self.failures, self.followers = approvals, failures, followers


def view_run(parts: RunParts, *, with_output: bool) -> PlanRunView:
    """A run; with `with_output`, for people who may see what commands have printed."""
    tasks = parts.pinned.plan.tasks
    by_task: dict[int, dict[str, int]] = {}
    for row in parts.counts:
        state = states.state_of(row.state, row.reason, row.phase, has_turn=row.has_turn)
        counts = by_task.setdefault(row.task, {})
        counts[state] = counts.get(state, 0) + row.steps
    totals, by_state = _count(parts.counts)
    return PlanRunView(
        run=view_job(parts.job, by_state),
        plan=parts.pinned.plan.name,
        digest=parts.digest,
        nodes=[node.name for node in parts.pinned.nodes],
        counts=_in_order(totals),
        tasks=[
            TaskSummary(number, task.id, task.type, _in_order(by_task[number]))
            for number, task in enumerate(tasks, start=1)
            if number in by_task
        ],
        approvals=list(_view_approvals(parts.pinned, by_task, parts.approvals)),
        failures=[
            _view_failure(tasks, failure, parts.followers, with_output=with_output) for failure in parts.failures
        ],
        parameters=parts.pinned.parameters,
    )


def view_brief(job: JobRow, name: PlanName, counted: Sequence[TaskCount]) -> PlanRunBrief:
    totals, by_state = _count(counted)
    return PlanRunBrief(view_job(job, by_state), name.plan, name.digest, _in_order(totals))


def view_instance(tasks: Sequence[PlanTask], attempt: AttemptRow, round_: int, *, with_output: bool) -> InstanceView:
    """A task on a node in a round of its run: a success that was reported too late for an earlier round is one for this."""
    has_turn = attempt.ordered_at is not None
    counts_now = attempt.late == job_states.COMPLETED and attempt.n < round_
    stored = job_states.COMPLETED if counts_now else attempt.state
    state = states.state_of(stored, attempt.reason, attempt.phase, has_turn=has_turn)
    is_follower = state == states.DEP_FAILED
    return InstanceView(
        key=f"{attempt.node}:{attempt.task}",
        number=attempt.task,
        task=tasks[attempt.task - 1].id,
        node=attempt.node,
        state=state,
        attempt=attempt.n,
        reason=_why_queued(attempt) if attempt.state == job_states.QUEUED else attempt.reason,
        phase=_phase(attempt),
        message=None if is_follower else view_message(attempt, with_output=with_output),
        cause=attempt.message if is_follower else None,
        queued_at=attempt.queued_at,
        picked_up_at=attempt.picked_at,
        ended_at=attempt.ended_at,
        late=attempt.late,
        report=attempt.report,
        result=view_result(attempt, with_output=with_output),
    )


def _why_queued(attempt: AttemptRow) -> str | None:
    """Why an instance has not begun, unless it only waits for others: the plan says for which."""
    reason = why_queued(attempt)
    return None if reason == job_states.TURN else reason


def view_document(digest: str, pinned: PinnedPlan) -> PlanDocument:
    return PlanDocument(
        msgspec.json.encode(pinned.plan).decode(),
        digest,
        [DocumentNode(node.name, list(node.roles), list(node.tags), node.is_master) for node in pinned.nodes],
        pinned.subset,
        pinned.catalogs,
        msgspec.json.encode(pinned.computed).decode(),
    )


def _view_approvals(
    pinned: PinnedPlan, by_task: Mapping[int, Mapping[str, int]], approvals: Sequence[ApprovalRow]
) -> Iterable[TaskApprovalView]:
    given = {approval.task: approval for approval in approvals}
    left_out = Counter(row.task for row in pinned.skipped for _ in row.nodes)
    for number, task in enumerate(pinned.plan.tasks, start=1):
        if not task.approval or number not in by_task or left_out[number] >= sum(by_task[number].values()):
            continue
        approval = given.get(number)
        is_due = approval is None and _is_due(by_task, number, pinned.gates.get(number, ()))
        yield TaskApprovalView(
            task.id, task.approval, is_due, approval.by if approval else None, approval.at if approval else None
        )


def _is_due(by_task: Mapping[int, Mapping[str, int]], number: int, needs: Iterable[GateNeed]) -> bool:
    """Whether a task that was not approved could begin on some node, as far as the counts of what is before it tell."""
    return bool(by_task[number].get(states.PENDING)) and all(
        _is_met(need, by_task.get(need.task, {})) for need in needs
    )


def _is_met(need: GateNeed, counts: Mapping[str, int]) -> bool:
    ends = states.ENDS if need.may_fail else (states.SUCCESSFUL, states.SKIPPED)
    ended = sum(counts.get(state, 0) for state in ends)
    return ended == sum(counts.values()) if need.is_everywhere else ended > 0


def _view_failure(
    tasks: Sequence[PlanTask], attempt: AttemptRow, followers: Mapping[str, int], *, with_output: bool
) -> FailureView:
    task = tasks[attempt.task - 1].id
    reason = attempt.reason or attempt.state
    count = followers.get(f"{task} on {attempt.node}", 0)
    message = view_message(attempt, with_output=with_output)
    return FailureView(task, attempt.node, reason, message, _phase(attempt), count)


def _phase(attempt: AttemptRow) -> Phase | None:
    if attempt.reason == job_states.PRE_TEST:
        return "pre-test"
    if attempt.reason == job_states.POST_TEST:
        return "post-test"
    return attempt.phase if attempt.phase in ("pre-test", "task", "post-test") else None  # type: ignore[return-value]


def _count(counted: Sequence[TaskCount]) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    """The number of steps by state as people see it, and by the state and reason of attempts."""
    totals: dict[str, int] = {}
    by_state: dict[tuple[str, str], int] = {}
    for row in counted:
        state = states.state_of(row.state, row.reason, row.phase, has_turn=row.has_turn)
        totals[state] = totals.get(state, 0) + row.steps
        key = row.state, row.reason or ""
        by_state[key] = by_state.get(key, 0) + row.steps
    return totals, by_state


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    return {state: counts[state] for state in states.ORDER if state in counts}
