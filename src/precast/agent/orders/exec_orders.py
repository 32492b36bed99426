"""The order to run a command. Several commands may run at the same time, each with a lock file (`command_lock`) of its own."""

import sqlite3
from collections.abc import Callable

import msgspec

from precast.agent import issues
from precast.agent.orders.order_queue import OrderQueue
from precast.agent.state.spool import Importance
from precast.wire.jobs.orders import EXEC, EXEC_BEGAN, EXEC_ENDED, ExecBegan, ExecEnded, SignedExecOrder

BROKEN_OFF = "the command was broken off: the process that ran it was ended from outside"


class ExecOrders(OrderQueue[SignedExecOrder]):
    """Ordered commands, as they were received: `order_check` verifies one before it is run. Answered when it begins and when it ends."""

    name = EXEC
    message = SignedExecOrder
    chore = "exec"
    nouns = "commands"
    cannot_begin = issues.NO_COMMAND

    def end(self, ended: ExecEnded) -> None:
        """End an order whose command has ended, and answer how it ended."""
        with self._store.transaction() as db:
            if self._move(db, ended.order, "begun", "ended"):
                self._spool.put_within(db, EXEC_ENDED, msgspec.json.encode(ended), Importance.RESULT)

    def recover(self, is_running: Callable[[str], bool]) -> None:
        """Look after the orders of processes that have ended: one that was not begun waits again, one that was begun is broken off."""
        rows = self._store.read(
            "SELECT id, state FROM queued_order WHERE kind = ? AND state IN ('dispatched', 'begun')", (self.name,)
        )
        for order_id, state in rows:
            if is_running(order_id):
                continue
            with self._store.transaction() as db:
                if state == "dispatched":
                    self._move(db, order_id, "dispatched", "waiting")
                else:
                    self._answer(db, order_id, "broken", BROKEN_OFF)

    def _answer_begun(self, db: sqlite3.Connection, order_id: str) -> None:
        began = ExecBegan(order_id, self._store.clock.now())
        self._spool.put_within(db, EXEC_BEGAN, msgspec.json.encode(began), Importance.RESULT)
