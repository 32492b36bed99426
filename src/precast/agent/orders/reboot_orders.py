"""The order to reboot the machine. It has succeeded when the machine has another boot id than when the order was begun."""

import sqlite3
from datetime import timedelta

from precast.agent.identity.machine import read_boot_id
from precast.agent.orders.order_queue import BegunOrder
from precast.agent.orders.plain_orders import PlainOrders
from precast.agent.orders.work_process import WAIT_S, WorkProcess
from precast.wire.jobs.orders import REBOOT, PlainOrder

# How long a machine may take to go down.
DEADLINE_S = 600.0
NOT_REBOOTED = f"the machine did not reboot within {DEADLINE_S / 60:g} minutes"


class RebootOrders(PlainOrders):
    """Orders to reboot. Like commands, the node's settings and its policy must allow them."""

    name = REBOOT
    noun = "reboot"

    def process(self, order: PlainOrder) -> WorkProcess:
        limit = timedelta(seconds=DEADLINE_S + WAIT_S + 60)
        return WorkProcess(["agent", "exec", "--order", order.order], order.order, limit, stops_with_daemon=False)

    def expire(self, order_id: str) -> None:
        """Answer that the machine is still the same boot after the deadline."""
        with self._store.transaction() as db:
            self._answer(db, order_id, "interrupted", NOT_REBOOTED)

    def resolve(self, db: sqlite3.Connection, begun: BegunOrder, kill_reason: str) -> None:
        """An order of an earlier boot has succeeded. One of this boot may still succeed, until the deadline."""
        if begun.boot_id != read_boot_id():
            self._answer_ended(db, begun.id, is_success=True)
        elif self._store.clock.monotonic_s() - begun.begun_s >= DEADLINE_S:
            self._answer(db, begun.id, "interrupted", NOT_REBOOTED)
