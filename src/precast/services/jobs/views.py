"""Jobs and their steps as people see them."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from precast.services.jobs.requests import APPLY, RELEASE, decode_request
from precast.store.jobs.attempts import AttemptRow, OutputRow
from precast.store.jobs.jobs import JobRow
from precast.store.jobs.node_locks import LockHolder
from precast.wire.jobs import states
from precast.wire.jobs.orders import OutputLine
from precast.wire.jobs.views import JobView, OutputView, StepResult, StepView


def view_job(job: JobRow, counts: Mapping[tuple[str, str], int]) -> JobView:
    """A job, with the number of its steps by state and by state and reason."""
    request = decode_request(job)
    by_state: dict[str, int] = {}
    reasons: dict[str, int] = {}
    for (state, reason), count in sorted(counts.items()):
        by_state[state] = by_state.get(state, 0) + count
        if reason:
            reasons[f"{state}({reason})"] = count
    return JobView(
        id=job.id,
        kind=job.kind,
        state=job.state,
        environment=job.environment,
        action=job.action,
        made_by=job.made_by,
        made_at=job.made_at,
        ended_at=job.ended_at,
        stopped_by=job.stopped_by,
        nodes=job.nodes,
        round=job.round,
        counts=by_state,
        reasons=reasons,
        limits=request.limits,
        mode=request.mode if job.kind in (APPLY, RELEASE) else None,
        tags=request.tags,
        argv=request.argv,
        why=request.why,
        needs_s=request.needs_s,
        overrides_window=request.overrides_window,
    )


def view_result(attempt: AttemptRow, *, with_output: bool) -> StepResult | None:
    """How a step has ended; what is output of a task of a plan, as what it has returned is, needs another role."""
    if attempt.result is None:
        return None
    result = msgspec.json.decode(attempt.result, type=StepResult)
    if result.output is not None:  # its digest would let people who may not read it guess what it is
        result = msgspec.structs.replace(result, output=msgspec.structs.replace(result.output, digest=""))
    return result if with_output else msgspec.structs.replace(result, returned="", telling_line="")


def view_message(attempt: AttemptRow, *, with_output: bool) -> str | None:
    """Why a step has ended so, with the line of its output that tells most for people who may see that."""
    result = view_result(attempt, with_output=with_output)
    line = result.telling_line if result else ""
    return f"{attempt.message}: {line}" if line and attempt.message else attempt.message


def view_step(attempt: AttemptRow, *, with_output: bool) -> StepView:
    """A step by one of its attempts."""
    return StepView(
        node=attempt.node,
        state=attempt.state,
        batch=attempt.batch,
        task=attempt.task,
        attempt=attempt.n,
        reason=why_queued(attempt) if attempt.state == states.QUEUED else attempt.reason,
        queued_at=attempt.queued_at,
        ordered_at=attempt.ordered_at,
        claimed_at=attempt.claimed_at,
        picked_up_at=attempt.picked_at,
        ended_at=attempt.ended_at,
        late=attempt.late,
        report=attempt.report,
        message=view_message(attempt, with_output=with_output),
        result=view_result(attempt, with_output=with_output),
        phase=attempt.phase,
    )


def view_wait(step: StepView, holder: LockHolder | None) -> StepView:
    """A step that waits for its node's lock, with the job that has it."""
    if holder is None or step.reason != states.LOCK:
        return step
    message = f"it waits for the job {holder.key.job}, which has been changing the node since {holder.since:%Y-%m-%d %H:%M:%SZ}"
    return msgspec.structs.replace(step, message=message)


def view_window(step: StepView, opens_at: datetime | None) -> StepView:
    """A step that waits for a maintenance window, with the time at which it may begin, if that is known."""
    return msgspec.structs.replace(step, reason=states.WINDOW, message=describe_window(opens_at))


def describe_window(opens_at: datetime | None) -> str:
    """Why a step waits for a window, for people."""
    when = "" if opens_at is None else f", and it may begin at {opens_at:%Y-%m-%d %H:%M:%SZ}"
    return f"its maintenance window is closed, or closes too soon{when}"


def view_output(output: OutputRow) -> OutputView:
    lines = msgspec.json.decode(output.lines, type=list[OutputLine])
    return OutputView(output.node, output.first, lines, output.n, output.task)


def why_queued(attempt: AttemptRow) -> str | None:
    """Why a queued attempt has not begun; None if its node may begin and has not claimed it yet."""
    if attempt.ordered_at is None:
        return states.AWAY if attempt.tries else states.TURN
    return None if attempt.claimed_at is None else states.LOCK
