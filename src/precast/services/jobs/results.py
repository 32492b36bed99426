"""Updates the steps of jobs by what nodes report, as part of the transactions that store the reports.

A step ends in the transaction that stores the node's report, so neither is ever stored without the other; the driver of the job is woken
after the commit. A report for a step that does not exist, or that has ended, changes no step.
"""

from collections.abc import Sequence

import msgspec

from precast.base.spans import visible
from precast.store.engine.query import Transaction
from precast.store.jobs import jobs as store
from precast.store.jobs.jobs import Jobs, StepOutcome
from precast.store.reports.reports import ReportUpdate, ResourceCounts, RunOutcome
from precast.wire.jobs.orders import ExecBegan, ExecEnded, ExecOutput, NotRun
from precast.wire.jobs.views import StepResult
from precast.wire.reports.records import RunBegan

# The state of a step whose node did not follow its order: it has ended without success.
NOT_RUN = {"expired": store.NOT_RUN, "refused": store.NOT_RUN, "broken": store.FAILED}
# What a node reports about an order, besides the reports of its runs.
OrderReport = NotRun | ExecBegan | ExecOutput | ExecEnded


class StepResults:
    """Updates steps; holds no state between calls."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def update_from_reports(self, updates: Sequence[ReportUpdate]) -> Transaction[None]:
        """Update the steps of the runs that were ordered. The steps are locked in a fixed order, so that two servers cannot deadlock."""
        for update in sorted(updates, key=lambda update: (update.node, update.report)):
            assert update.began is not None, "every update of an ordered run has its beginning"
            order = update.began.order
            if update.finished is None:
                yield from self.mark_began(update.node, order, update.report)
            elif update.finished.state == "not-run":
                outcome = StepOutcome(store.NOT_RUN, _clean(update.finished.why or "it was not run"), update.report)
                yield from self._jobs.mark_ended(order, update.node, outcome)
            else:
                # After a lost connection the beginning and the end may arrive together.
                yield from self.mark_began(update.node, order, update.report)
                yield from self.mark_ended(update.node, order, update.report, *_result(update.began, update.finished))

    def mark_began(self, node: str, order: str, report: str | None) -> Transaction[None]:
        """A node has started an order; `report` is the node's id of its own run."""
        yield from self._jobs.mark_began(order, node, report)

    def mark_ended(
        self, node: str, order: str, report: str | None, result: StepResult, failure: str = "", note: str = ""
    ) -> Transaction[None]:
        """A node has ended an order; `failure` says why it failed although no resource failed."""
        is_failed = bool(failure or result.failed)
        parts = (failure or (_failures(result.failed) if result.failed else ""), note)
        message = "; ".join(part for part in parts if part) or None
        state = store.FAILED if is_failed else store.DONE
        yield from self._jobs.mark_ended(order, node, StepOutcome(state, _clean(message), report, _encode(result)))

    def update_from_order(self, node: str, order_report: OrderReport) -> Transaction[None]:
        """Update the step of an order by what its node reports about it."""
        match order_report:
            case NotRun():  # the node will never run it
                yield from self._jobs.mark_ended(
                    order_report.order, node, StepOutcome(NOT_RUN[order_report.reason], _clean(order_report.message))
                )
            case ExecBegan():
                yield from self._jobs.mark_began(order_report.order, node, None)
            case ExecOutput():
                if order_report.lines:
                    yield from self._jobs.add_output(
                        order_report.order, node, order_report.first, msgspec.json.encode(order_report.lines)
                    )
            case ExecEnded():
                yield from self._jobs.mark_ended(order_report.order, node, _command_outcome(order_report))


def _result(began: RunBegan, finished: RunOutcome) -> tuple[StepResult, str, str]:
    """The counts of a report, why it failed besides failed resources, and a note of the node."""
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
    if finished.state == "broken-off":
        return result, finished.why or "it was broken off", ""
    if not finished.is_complete:
        return result, finished.why or "it stopped before its end", ""
    return result, "", f"no-op: {finished.why}" if finished.why else ""


def _command_outcome(body: ExecEnded) -> StepOutcome:
    result = StepResult(code=body.code, signal=body.signal, cut_bytes=body.cut_bytes)
    state = store.DONE if body.code == 0 and not body.is_overdue else store.FAILED
    return StepOutcome(state, _command_message(body), None, _encode(result))


def _command_message(body: ExecEnded) -> str | None:
    if body.is_overdue:
        return "it took too long and was ended"
    if body.signal is not None:
        return f"it was ended by signal {body.signal}"
    return None if body.code == 0 else f"it ended with {body.code}"


def _failures(count: int) -> str:
    return "1 resource failed" if count == 1 else f"{count} resources failed"


def _encode(result: StepResult) -> str:
    return msgspec.json.encode(result).decode()


def _clean(text: str | None) -> str | None:
    """A text of a node without control characters and of bounded length: people are shown it."""
    return None if text is None else visible(text)[:2_000]
