"""The order to apply the released catalog now.

A run that comes to its end is answered by its own report, also if it was a no-op. Everything else is answered with `not-run`, and reported
besides: a run that was aborted or interrupted as broken off, one that never began as a run that did not take place. So only the report of a
run that has ended is an answer, in whichever order the two records are handled.
"""

import sqlite3

import msgspec

from precast.agent.applying import issues
from precast.agent.orders.order_queue import MAX_REASON_CHARS, OrderQueue, Reason
from precast.agent.orders.work_process import WAIT_S, WorkProcess
from precast.agent.state.spool import Importance
from precast.base.ids import TimeOrderedIds
from precast.wire.jobs.orders import RUN, RunOrder
from precast.wire.reports.records import ENDED, RunBegan, RunEnded

ABORTED = "the run was aborted: it stopped after the current resource"


class RunOrders(OrderQueue[RunOrder]):
    """Ordered runs."""

    name = RUN
    message = RunOrder
    noun = "run"
    cannot_begin = issues.NO_ORDER
    is_idempotent = True
    needs_catalog = True

    def process(self, order: RunOrder) -> WorkProcess:
        arguments = ["agent", "apply", "--json", "--reason", "ordered", "--wait", str(WAIT_S)]
        arguments += ["--order", order.order, f"--{order.mode}"]
        if order.tags:
            arguments += ["--tags", ",".join(order.tags)]
        return WorkProcess(arguments, order.order)

    def end(self, db: sqlite3.Connection, order_id: str, *, is_complete: bool) -> str:
        """End an order in the transaction that reports the end of its run. Returns why the run was broken off; empty if it was not."""
        if not is_complete and self._is_aborted(db, order_id):
            self._answer(db, order_id, "aborted", ABORTED)
            return ABORTED
        self._end(db, order_id)
        return ""

    def _answer_not_run(self, db: sqlite3.Connection, order: RunOrder, reason: Reason, message: str) -> None:
        """Report a run that did not take place, so that it is listed among the runs of the node."""
        if reason == "broken":
            return  # its process has failed, and has reported that if it could
        now = self._store.clock.now()
        began = RunBegan(TimeOrderedIds(self._store.clock).new(), order.mode, "ordered", now, order=order.order[:256])
        body = RunEnded(began, "not-run", now, why=f"{reason}: {message}"[:MAX_REASON_CHARS])
        self._spool.put_within(db, ENDED, msgspec.json.encode(body), Importance.RESULT)
