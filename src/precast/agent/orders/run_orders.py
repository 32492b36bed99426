"""The order to apply the released catalog now.

A run begins with its order under the run's lease, so there is at most one order that is begun. A run that was begun is answered by its
own report; an order that is not carried out is answered with `not-run` and with the report of a run that did not take place.
"""

import sqlite3

import msgspec

from precast.agent.applying import issues
from precast.agent.applying.reporting.reporter import close_open_reports
from precast.agent.orders.order_queue import MAX_REASON_CHARS, OrderQueue, Reason
from precast.agent.state.spool import Importance
from precast.base.ids import TimeOrderedIds
from precast.wire.jobs.orders import RUN, RunOrder
from precast.wire.reports.records import ENDED, RunBegan, RunEnded


class RunOrders(OrderQueue[RunOrder]):
    """Ordered runs."""

    name = RUN
    message = RunOrder
    chore = "apply"
    nouns = "orders"
    cannot_begin = issues.NO_ORDER

    def end(self, order_id: str) -> None:
        """End an order whose run has ended; the run's report is the answer."""
        with self._store.transaction() as db:
            self._move(db, order_id, "begun", "ended")

    def recover(self, *, is_running: bool, why: str = "") -> None:
        """Look after the orders of processes that have ended.

        An order that no process has begun waits again. If no run is under way, an order that was begun is answered as broken off;
        `why` says what is known about the cause.
        """
        if not is_running:
            close_open_reports(self._store, self._spool, why)
        with self._store.transaction() as db:
            for order_id in self._ids(db, "dispatched"):
                self._move(db, order_id, "dispatched", "waiting")
            for order_id in [] if is_running else self._ids(db, "begun"):
                cause = why or "its process was ended from outside"
                self._answer(db, order_id, "broken", f"the run was broken off: {cause}")

    def _answer_not_run(self, db: sqlite3.Connection, order: RunOrder, reason: Reason, message: str) -> None:
        """Report a run that did not take place, so that it is listed among the runs of the node."""
        if reason == "broken":
            return  # there was a run, and it has its own report
        now = self._store.clock.now()
        began = RunBegan(TimeOrderedIds(self._store.clock).new(), order.mode, "ordered", now, order=order.order[:256])
        body = RunEnded(began, "not-run", now, why=f"{reason}: {message}"[:MAX_REASON_CHARS])
        self._spool.put_within(db, ENDED, msgspec.json.encode(body), Importance.RESULT)
