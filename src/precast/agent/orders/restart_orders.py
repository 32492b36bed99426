"""The order to restart the agent. The daemon begins it and starts itself again; the next daemon answers."""

import sqlite3

from precast.agent.orders.order_queue import BegunOrder
from precast.agent.orders.plain_orders import PlainOrders
from precast.wire.jobs.orders import RESTART_AGENT, PlainOrder


class RestartOrders(PlainOrders):
    """Orders to restart the daemon."""

    name = RESTART_AGENT
    noun = "restart of the agent"

    def process(self, order: PlainOrder) -> None:
        """The daemon restarts itself."""

    def resolve(self, db: sqlite3.Connection, begun: BegunOrder, kill_reason: str) -> None:
        """Only the next daemon finds an order that an earlier one has begun, however that one has ended."""
        self._answer_ended(db, begun.id, is_success=True)
