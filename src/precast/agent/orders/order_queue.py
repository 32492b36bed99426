"""Orders that are carried out one by one, each in a process of its own, and each answered.

    waiting      the order was received; no process was started for it
    dispatched   a process was started for it
    begun        that process carries the order out, and no other process ever will
    ended        the order was answered

An order is begun at most once: a process moves it from `dispatched` to `begun` with a conditional update, which only one process can
win. An order that was dispatched and not begun is dispatched again, so a daemon that dies in between loses none. An order that is not
carried out is answered in the transaction that ends it. At most `MAX_WAITING` orders of a kind wait: a further one is refused, and the
answer says so.
"""

import sqlite3
from datetime import datetime
from typing import ClassVar, Literal, Protocol, TypeVar

import msgspec

from precast.agent.orders.order_kind import OrderKind
from precast.agent.state.spool import Importance
from precast.base.clock import to_micros
from precast.base.errors import Issue
from precast.wire.jobs.orders import NOT_RUN, NotRun

MAX_WAITING = 32
# So many ended orders are remembered, in case a server sends one of them again.
REMEMBERED = 1_000
MAX_REASON_CHARS = 2_000

Reason = Literal["expired", "refused", "broken"]


class QueuedMessage(Protocol):
    """The part that the bodies of queued orders have in common."""

    @property
    def order(self) -> str: ...

    @property
    def expires_at(self) -> datetime: ...

    @property
    def why(self) -> str: ...


M = TypeVar("M", bound=QueuedMessage)


class OrderQueue(OrderKind[M]):
    """The orders of one kind, in the order in which they were received."""

    nouns: ClassVar[str]  # for people: what waits
    cannot_begin: ClassVar[Issue]  # raised if an order is not to be begun now; its text names the `order`

    def keep(self, db: sqlite3.Connection, order: M) -> bool:
        """Store an order, or refuse it if too many wait; False if the same order was stored before."""
        is_new = db.execute(
            "INSERT OR IGNORE INTO queued_order (kind, id, state, body, at) VALUES (?, ?, 'waiting', ?, ?)",
            (self.name, order.order, msgspec.json.encode(order), to_micros(self._store.clock.now())),
        ).rowcount
        if is_new and len(self._ids(db, "waiting")) > MAX_WAITING:
            self._answer(db, order.order, "refused", f"{MAX_WAITING} {self.nouns} are already waiting on this node")
        db.execute(
            "DELETE FROM queued_order WHERE kind = ? AND state = 'ended' AND number <= (SELECT number FROM queued_order"
            " WHERE kind = ? AND state = 'ended' ORDER BY number DESC LIMIT 1 OFFSET ?)",
            (self.name, self.name, REMEMBERED),
        )
        return bool(is_new)

    def has_waiting(self) -> bool:
        return self._first_waiting() is not None

    def dispatch_next(self) -> M | None:
        """Dispatch the oldest waiting order that can still be carried out; None if there is none. Expired ones are answered."""
        while (order := self._first_waiting()) is not None:
            with self._store.transaction() as db:
                if order.expires_at <= self._store.clock.now():
                    late = f"it had to begin before {order.expires_at:%Y-%m-%d %H:%M:%SZ}"
                    self._answer(db, order.order, "expired", late)
                elif self._move(db, order.order, "waiting", "dispatched"):
                    return order
        return None

    def find(self, order_id: str) -> M | None:
        """The order with this id; None if there is none."""
        rows = self._store.read("SELECT body FROM queued_order WHERE kind = ? AND id = ?", (self.name, order_id))
        return msgspec.json.decode(rows[0][0], type=self.message) if rows else None

    def begin(self, order_id: str) -> M:
        """Begin to carry out a dispatched order. Raises `cannot_begin` if it is not dispatched, or was begun before."""
        with self._store.transaction() as db:
            if not self._move(db, order_id, "dispatched", "begun"):
                raise self.cannot_begin.error(order=order_id)
            self._answer_begun(db, order_id)
            return self._load(db, order_id)

    def refuse(self, order_id: str, why: str) -> None:
        """Answer that this node does not carry out an order, unless the order has ended."""
        with self._store.transaction() as db:
            self._answer(db, order_id, "refused", why)

    def give_up(self, order_id: str, why: str) -> None:
        """Answer that an order could not be carried out, unless the order has ended."""
        with self._store.transaction() as db:
            self._answer(db, order_id, "broken", why)

    def _answer_begun(self, db: sqlite3.Connection, order_id: str) -> None:
        """Tell the servers that an order is being carried out, for kinds that do so."""

    def _answer_not_run(self, db: sqlite3.Connection, order: M, reason: Reason, message: str) -> None:
        """Add to the answer that an order is not carried out, for kinds that do so."""

    def _answer(self, db: sqlite3.Connection, order_id: str, reason: Reason, message: str) -> None:
        """End an order and answer that it is not carried out; do nothing if it has ended."""
        ended = db.execute(
            "UPDATE queued_order SET state = 'ended' WHERE kind = ? AND id = ? AND state != 'ended'",
            (self.name, order_id),
        )
        if ended.rowcount:
            body = NotRun(order_id, reason, message[:MAX_REASON_CHARS], self._store.clock.now())
            self._spool.put_within(db, NOT_RUN, msgspec.json.encode(body), Importance.RESULT)
            self._answer_not_run(db, self._load(db, order_id), reason, message)

    def _first_waiting(self) -> M | None:
        rows = self._store.read(
            "SELECT body FROM queued_order WHERE kind = ? AND state = 'waiting' ORDER BY number LIMIT 1", (self.name,)
        )
        return msgspec.json.decode(rows[0][0], type=self.message) if rows else None

    def _ids(self, db: sqlite3.Connection, state: str) -> list[str]:
        rows = db.execute(
            "SELECT id FROM queued_order WHERE kind = ? AND state = ? ORDER BY number", (self.name, state)
        )
        return [order_id for (order_id,) in rows.fetchall()]

    def _load(self, db: sqlite3.Connection, order_id: str) -> M:
        rows = db.execute("SELECT body FROM queued_order WHERE kind = ? AND id = ?", (self.name, order_id))
        ((body,),) = rows.fetchall()
        return msgspec.json.decode(body, type=self.message)

    def _move(self, db: sqlite3.Connection, order_id: str, before: str, after: str) -> bool:
        """Move an order from one state to another; False if it is not in the first."""
        moved = db.execute(
            "UPDATE queued_order SET state = ? WHERE kind = ? AND id = ? AND state = ?",
            (after, self.name, order_id, before),
        )
        return bool(moved.rowcount)
