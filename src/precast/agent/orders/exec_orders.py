"""The order to run a command."""

import sqlite3
from datetime import timedelta

import msgspec

from precast.agent import issues
from precast.agent.orders.order_queue import FROM_OUTSIDE, OrderQueue
from precast.agent.orders.work_process import WAIT_S, WorkProcess
from precast.agent.state.spool import Importance
from precast.wire.jobs.orders import EXEC, EXEC_BEGAN, EXEC_ENDED, ExecBegan, ExecEnded, SignedExecOrder

# Beyond a command's own timeout, for the process around it to start and to end.
_MARGIN = timedelta(seconds=WAIT_S + 60)


class ExecOrders(OrderQueue[SignedExecOrder]):
    """Ordered commands, as they were received: `order_check` verifies one before it is run. Answered when it begins and when it ends.

    A command survives a restart of the daemon: its own process answers how it ended.
    """

    name = EXEC
    message = SignedExecOrder
    noun = "command"
    cannot_begin = issues.NO_COMMAND

    def process(self, order: SignedExecOrder) -> WorkProcess:
        limit = timedelta(seconds=order.timeout_s) + _MARGIN
        return WorkProcess(["agent", "exec", "--order", order.order], order.order, limit, stops_with_daemon=False)

    def end(self, ended: ExecEnded, *, is_stopped: bool = False) -> None:
        """End an order whose command has ended, and answer how it ended. With `is_stopped`, its process was asked to end it."""
        with self._store.transaction() as db:
            if is_stopped and self._is_aborted(db, ended.order):
                self._answer(db, ended.order, "aborted", "the command was aborted")
            elif is_stopped:
                self._answer(db, ended.order, "interrupted", f"the command was broken off: {FROM_OUTSIDE}")
            elif self._end(db, ended.order):
                self._spool.put_within(db, EXEC_ENDED, msgspec.json.encode(ended), Importance.RESULT)

    def _signed_text(self, order: SignedExecOrder) -> str | None:
        return order.text

    def _answer_begun(self, db: sqlite3.Connection, order_id: str) -> None:
        began = ExecBegan(order_id, self._store.clock.now())
        self._spool.put_within(db, EXEC_BEGAN, msgspec.json.encode(began), Importance.RESULT)
