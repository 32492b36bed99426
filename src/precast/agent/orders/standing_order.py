"""Orders that stand until they are fulfilled: the work is done once, as soon as possible, however often it was ordered.

They have no answer of their own: the server sees the outcome, such as new facts or a new certificate.
"""

import sqlite3
from typing import TypeVar

from precast.agent.orders.order_kind import OrderKind, OrderMessage

M = TypeVar("M", bound=OrderMessage)


class StandingOrder(OrderKind[M]):
    """A kind of which at most one order is pending."""

    def keep(self, db: sqlite3.Connection, order: M) -> bool:
        db.execute("INSERT OR REPLACE INTO standing_order (kind, why) VALUES (?, ?)", (self.name, order.why))
        return True

    def is_pending(self) -> bool:
        """Whether the order stands. It survives a daemon that dies before it has carried it out."""
        return bool(self._store.read("SELECT 1 FROM standing_order WHERE kind = ?", (self.name,)))

    def fulfil(self) -> None:
        """Delete the order, because it was carried out."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM standing_order WHERE kind = ?", (self.name,))
