"""What the plain orders have in common: they say nothing but their kind, and are answered with `order-ended`."""

import sqlite3

import msgspec

from precast.agent import issues
from precast.agent.orders.order_queue import MAX_REASON_CHARS, OrderQueue
from precast.agent.state.spool import Importance
from precast.wire.jobs.orders import ORDER_ENDED, OrderEnded, PlainOrder


class PlainOrders(OrderQueue[PlainOrder]):
    """The base class of the kinds of plain orders."""

    message = PlainOrder
    cannot_begin = issues.NO_COMMAND

    def end(self, order_id: str, *, is_success: bool = True, message: str = "", result: str = "") -> None:
        """End an order and answer how it ended, unless it has ended; `result` is JSON."""
        with self._store.transaction() as db:
            self._answer_ended(db, order_id, is_success=is_success, message=message, result=result)

    def _answer_ended(
        self, db: sqlite3.Connection, order_id: str, *, is_success: bool, message: str = "", result: str = ""
    ) -> None:
        if self._end(db, order_id):
            body = OrderEnded(order_id, is_success, self._store.clock.now(), message[:MAX_REASON_CHARS], result)
            self._spool.put_within(db, ORDER_ENDED, msgspec.json.encode(body), Importance.RESULT)
