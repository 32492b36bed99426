"""Claims of queued orders, and their answers.

An order is a hint. A node that could begin claims it, with a number that grows with each claim of the same order, and begins only when a
grant has answered the latest claim. A grant of an earlier claim is ignored: what it permitted may no longer be true. So is that of a
claim of another machine. After a restart of the daemon, and whenever a session begins, every order that was not begun is claimed again.
Several orders may be claimed at a time; the server grants one after the other.
"""

import sqlite3
from typing import NamedTuple

import msgspec

from precast.agent.identity.machine import read_boot_id
from precast.agent.state.spool import Importance, Spool
from precast.agent.state.store import LocalStore
from precast.wire.jobs.orders import CLAIM, Claim, Grant


class GrantedOrder(NamedTuple):
    """An order that may begin."""

    id: str
    kind: str


class OrderClaims:
    """The claims of all kinds of queued orders in a local store."""

    def __init__(self, store: LocalStore, spool: Spool) -> None:
        self._store = store
        self._spool = spool

    def claim_waiting(self) -> bool:
        """Claim every waiting order, oldest first; whether there were any."""
        if not self._store.read("SELECT 1 FROM queued_order WHERE state = 'waiting' LIMIT 1"):
            return False
        instance, boot_id = self._store.session_state().instance, read_boot_id()
        with self._store.transaction() as db:
            waiting = db.execute("SELECT id, claim + 1 FROM queued_order WHERE state = 'waiting' ORDER BY number")
            for order_id, number in waiting.fetchall():
                db.execute("UPDATE queued_order SET state = 'claimed', claim = ? WHERE id = ?", (number, order_id))
                body = Claim(order_id, number, instance, boot_id)
                self._spool.put_within(db, CLAIM, msgspec.json.encode(body), Importance.RESULT)
        return True

    def requeue(self) -> None:
        """Let every order that was not begun be claimed again."""
        with self._store.transaction() as db:
            db.execute("UPDATE queued_order SET state = 'waiting' WHERE state IN ('claimed', 'granted')")

    def requeue_granted(self) -> None:
        """Let granted orders be claimed again, because something else holds the lease: the server may not wait for them so long."""
        if self.has_granted():
            with self._store.transaction() as db:
                db.execute("UPDATE queued_order SET state = 'waiting' WHERE state = 'granted'")

    def receive(self, db: sqlite3.Connection, grant: Grant, record: int) -> bool:
        """Store the answer to a claim, from the record with this number; False if it does not answer the latest claim."""
        moved = db.execute(
            "UPDATE queued_order SET state = ?, granted = ? WHERE id = ? AND state = 'claimed' AND claim = ?"
            " AND ? = (SELECT instance FROM session)",
            ("granted" if grant.is_granted else "ended", record, grant.order, grant.claim, grant.instance),
        )
        return bool(moved.rowcount)

    def has_granted(self) -> bool:
        return self.next_granted() is not None

    def next_granted(self) -> GrantedOrder | None:
        """The order that was granted first, of those that may begin; None if there is none."""
        rows = self._store.read(
            "SELECT id, kind FROM queued_order WHERE state = 'granted' ORDER BY granted, number LIMIT 1"
        )
        return GrantedOrder(*rows[0]) if rows else None

    def is_granted(self, order_id: str) -> bool:
        return bool(self._store.read("SELECT 1 FROM queued_order WHERE id = ? AND state = 'granted'", (order_id,)))

    def aborted(self) -> list[str]:
        """The orders that were begun and are to end."""
        rows = self._store.read("SELECT id FROM queued_order WHERE state = 'begun' AND is_aborted ORDER BY number")
        return [order_id for (order_id,) in rows]
