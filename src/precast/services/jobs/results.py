"""Ends attempts by what nodes report, as part of the transactions that store the reports.

An attempt ends in the transaction that stores the node's report, so neither is ever stored without the other; the driver of the job is
woken after the commit. A report for an attempt that does not exist, or that has ended, changes no attempt.
"""

from collections.abc import Sequence

import msgspec

from precast.base.spans import visible
from precast.services.jobs.grants import Grants, find_key
from precast.services.jobs.requests import PLAN, decode_request
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import AttemptKey, Attempts, Ending
from precast.store.jobs.jobs import Jobs
from precast.store.reports.reports import ReportUpdate, ResourceCounts, RunOutcome
from precast.wire.jobs import states
from precast.wire.jobs.orders import (
    Claim,
    ExecBegan,
    ExecEnded,
    ExecOutput,
    NotRun,
    OrderEnded,
    TaskEnded,
    TaskPhase,
    WholeOutput,
)
from precast.wire.jobs.views import StepResult
from precast.wire.reports.records import RunBegan

# The reason of FAILED, by the reason of a node that has not carried out its order. One that is too old by the node's clock is refused.
NOT_RUN = {
    "expired": states.REFUSED,
    "refused": states.REFUSED,
    "broken": states.NOT_SUCCESSFUL,
    "interrupted": states.INTERRUPTED,
    "aborted": states.ABORTED,
}
# What a node reports about an order, besides the reports of its runs.
OrderReport = Claim | NotRun | ExecBegan | ExecOutput | ExecEnded | OrderEnded | TaskPhase | TaskEnded
# Why a task has failed, by the phase in which it ended.
_PHASES = {"pre-test": states.PRE_TEST, "task": states.NOT_SUCCESSFUL, "post-test": states.POST_TEST}


class AttemptResults:
    """Ends attempts; holds no state between calls."""

    def __init__(self, jobs: Jobs, attempts: Attempts, grants: Grants) -> None:
        self._jobs, self._attempts, self._grants = jobs, attempts, grants

    def update_from_reports(self, updates: Sequence[ReportUpdate]) -> Transaction[None]:
        """Follow the reports of runs that were ordered. Attempts are locked in a fixed order, so that two servers cannot deadlock."""
        kinds: dict[str, str] = {}
        for update in sorted(updates, key=lambda update: (update.node, update.report)):
            assert update.began is not None, "every update of an ordered run has its beginning"
            key = find_key(update.node, update.began.order)
            if key is None:
                continue
            if key.job not in kinds:
                job = yield from self._jobs.find(key.job)
                kinds[key.job] = "" if job is None else job.kind
            # A task that applies a catalog ends by its own record, after its tests.
            is_over = update.finished is not None and update.finished.state == "ended" and kinds[key.job] != PLAN
            if update.finished is None or not is_over:
                # A node answers the order of a run that was broken off, or did not take place, with `not-run`; or it repeats the run.
                yield from self._attempts.note_report(key, update.report)
            else:
                ending = yield from self._end_of_run(key, update.report, update.began, update.finished)
                yield from self._grants.end(key, ending)

    def update_from_order(self, node: str, report: OrderReport) -> Transaction[None]:
        """Follow what a node reports about an order."""
        if isinstance(report, Claim):
            yield from self._grants.claim(node, report)
            return
        key = find_key(node, report.order)
        if key is None:
            return
        match report:
            case NotRun():
                message = _clean(report.message)
                yield from self._grants.end(key, Ending(states.FAILED, NOT_RUN[report.reason], message))
            case ExecOutput():
                if report.lines:
                    yield from self._attempts.add_output(key, report.first, msgspec.json.encode(report.lines))
            case ExecEnded():
                yield from self._grants.end(key, _end_of_command(report))
            case OrderEnded():
                yield from self._grants.end(key, _end_of_order(report))
            case TaskPhase():
                yield from self._attempts.note_phase(key, report.phase, _clean(report.message or None))
            case TaskEnded():
                yield from self._grants.end(key, _end_of_task(report))

    def _end_of_run(self, key: AttemptKey, report: str, began: RunBegan, finished: RunOutcome) -> Transaction[Ending]:
        counts = finished.counted or ResourceCounts()
        result = StepResult(
            changed=counts.changed,
            pending=counts.pending,
            failed=counts.failed,
            skipped=counts.skipped,
            waiting=counts.waiting,
            corrective=counts.corrective,
            resources=finished.resources,
            is_noop=began.mode == "noop",
            is_stale=began.is_stale,
        )
        reason, message = _judge_run(finished, result)
        if reason is None and result.is_noop:
            job = yield from self._jobs.find(key.job)
            if job is not None and decode_request(job).mode == "enforce":
                reason, message = states.NOOP_ONLY, f"the node allows no-op runs only: {finished.why or 'its policy'}"
        state = states.COMPLETED if reason is None else states.FAILED
        return Ending(state, reason, _clean(message or None), report, _encode(result))


def _judge_run(finished: RunOutcome, result: StepResult) -> tuple[str | None, str]:
    """Why a run failed, or None; and a message."""
    if not finished.is_complete:
        return states.NOT_SUCCESSFUL, finished.why or "it stopped before its end"
    note = f"no-op: {finished.why}" if finished.why else ""
    if result.failed:
        failures = "1 resource failed" if result.failed == 1 else f"{result.failed} resources failed"
        return states.NOT_SUCCESSFUL, f"{failures}; {note}" if note else failures
    return None, note


def _end_of_command(body: ExecEnded) -> Ending:
    result = StepResult(code=body.code, signal=body.signal, cut_bytes=body.cut_bytes, output=_clean_output(body.whole))
    is_success = body.code == 0 and not body.is_overdue
    reason = None if is_success else states.NOT_SUCCESSFUL
    state = states.COMPLETED if is_success else states.FAILED
    return Ending(state, reason, _command_message(body), None, _encode(result))


def _command_message(body: ExecEnded) -> str | None:
    if body.is_overdue:
        return "it took too long and was ended"
    if body.signal is not None:
        return f"it was ended by signal {body.signal}"
    return None if body.code == 0 else f"it ended with {body.code}"


def _end_of_order(body: OrderEnded) -> Ending:
    state = states.COMPLETED if body.is_success else states.FAILED
    reason = None if body.is_success else states.NOT_SUCCESSFUL
    result = StepResult(returned=body.result) if body.result else StepResult()
    return Ending(state, reason, _clean(body.message or None), None, _encode(result))


def _end_of_task(body: TaskEnded) -> Ending:
    line = _clean(body.telling_line) or ""
    result = StepResult(
        code=body.code,
        signal=body.signal,
        cut_bytes=body.cut_bytes,
        output=_clean_output(body.whole),
        returned=body.result,
        telling_line=line,
    )
    state = states.COMPLETED if body.is_success else states.FAILED
    reason = None if body.is_success else _PHASES[body.phase]
    message = body.message or ("it took too long and was ended" if body.is_overdue else None)
    return Ending(state, reason, _clean(message), body.report[:200] or None, _encode(result))


def _clean_output(whole: WholeOutput | None) -> WholeOutput | None:
    return whole and msgspec.structs.replace(whole, error=_clean(whole.error) or "")


def _encode(result: StepResult) -> str:
    return msgspec.json.encode(result).decode()


def _clean(text: str | None) -> str | None:
    """A text of a node without control characters and of bounded length: people are shown it."""
    return None if text is None else visible(text)[:2_000]
