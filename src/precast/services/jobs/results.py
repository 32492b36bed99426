"""What nodes say about their part of a run, as parts of the transactions that store it.

A step closes together with what the node said, so there is no moment at which one is stored without the other; whoever drives the
run is woken after the commit. What nobody waits for, or waits for no longer, changes no step.
"""

from collections.abc import Sequence

import msgspec

from precast.base.spans import visible
from precast.store.engine.query import Transaction
from precast.store.jobs import runs as store
from precast.store.jobs.runs import Ended, Runs
from precast.store.reports.reports import Counted, Finished, Told
from precast.wire.jobs.orders import ExecBegan, ExecEnded, ExecOutput, NotRun
from precast.wire.jobs.views import StepResult
from precast.wire.reports.records import RunBegan

# What an order that a node did not follow means for its step: it is over, and no success.
NOT_RUN = {"expired": store.NOT_RUN, "refused": store.NOT_RUN, "broken": store.FAILED}
# What a node says of an order, beside the reports of its runs.
Answer = NotRun | ExecBegan | ExecOutput | ExecEnded


class StepResults:
    """Takes in what nodes say; holds no state between calls."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def following(self, told: Sequence[Told]) -> Transaction[None]:
        """What nodes tell of runs that were ordered. In an order of its own, so that two servers never wait in a circle."""
        for one in sorted(told, key=lambda one: (one.node, one.report)):
            assert one.began is not None, "who follows is told of beginnings"
            if one.finished is None:
                yield from self.beginning(one.node, one.began.order, one.report)
            elif one.finished.state == "not-run":
                ended = Ended(store.NOT_RUN, _said(one.finished.why or "it was not run"), one.report)
                yield from self._runs.ending(one.began.order, one.node, ended)
            else:
                # What comes at once, after a break, has begun all the same.
                yield from self.beginning(one.node, one.began.order, one.report)
                yield from self.ending(one.node, one.began.order, one.report, *_result(one.began, one.finished))

    def beginning(self, node: str, order: str, report: str | None) -> Transaction[None]:
        """A node has begun with an order; `report` is what it calls its own run."""
        yield from self._runs.beginning(order, node, report)

    def ending(
        self, node: str, order: str, report: str | None, result: StepResult, trouble: str = "", note: str = ""
    ) -> Transaction[None]:
        """A node has ended with an order; `trouble` says why that is a failure although no resource failed."""
        is_failed = bool(trouble or result.failed)
        parts = (trouble or (_failures(result.failed) if result.failed else ""), note)
        message = "; ".join(part for part in parts if part) or None
        state = store.FAILED if is_failed else store.DONE
        yield from self._runs.ending(order, node, Ended(state, _said(message), report, _encoded(result)))

    def hearing(self, node: str, said: Answer) -> Transaction[None]:
        """A node says what it does about an order."""
        match said:
            case NotRun():  # and never will
                yield from self._runs.ending(said.order, node, Ended(NOT_RUN[said.reason], _said(said.message)))
            case ExecBegan():
                yield from self._runs.beginning(said.order, node, None)
            case ExecOutput():
                if said.lines:
                    yield from self._runs.saying(said.order, node, said.first, msgspec.json.encode(said.lines))
            case ExecEnded():
                yield from self._runs.ending(said.order, node, _ended(said))


def _result(began: RunBegan, finished: Finished) -> tuple[StepResult, str, str]:
    """A report in figures, what is wrong with it beside failed resources, and what else the node says of it."""
    counted = finished.counted or Counted()
    result = StepResult(
        changed=counted.changed,
        pending=counted.pending,
        failed=counted.failed,
        skipped=counted.skipped,
        waiting=counted.waiting,
        corrective=counted.corrective,
        resources=finished.resources,
        is_noop=began.mode == "noop",
        is_stale=began.is_stale,
    )
    if finished.state == "broken-off":
        return result, finished.why or "it was broken off", ""
    if not finished.is_complete:
        return result, finished.why or "it stopped before its end", ""
    return result, "", f"it only looked: {finished.why}" if finished.why else ""


def _ended(body: ExecEnded) -> Ended:
    result = StepResult(code=body.code, signal=body.signal, cut_bytes=body.cut_bytes)
    state = store.DONE if body.code == 0 and not body.is_overdue else store.FAILED
    return Ended(state, _command(body), None, _encoded(result))


def _command(body: ExecEnded) -> str | None:
    if body.is_overdue:
        return "it took too long and was ended"
    if body.signal is not None:
        return f"it was ended by signal {body.signal}"
    return None if body.code == 0 else f"it ended with {body.code}"


def _failures(count: int) -> str:
    return "1 resource failed" if count == 1 else f"{count} resources failed"


def _encoded(result: StepResult) -> str:
    return msgspec.json.encode(result).decode()


def _said(text: str | None) -> str | None:
    """What a node says is shown to people and stored."""
    return None if text is None else visible(text)[:2_000]
