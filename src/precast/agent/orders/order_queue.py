"""Orders that are carried out one at a time, each in a process of its own, and each answered.

    waiting   the order was received, or is to be claimed again
    claimed   the server was asked whether the order may begin, and has not answered
    granted   the server has granted the latest claim
    begun     a process carries the order out
    ended     the order was answered, or the server has refused the claim

A process moves an order from `granted` to `begun` with a conditional update, which only one process can win, before it does anything else.
It answers in the transaction that ends the order. If it ends without an answer, an order of an idempotent kind waits again, until it was
begun `MAX_BEGINS` times; others are answered as interrupted. An order that is not carried out is answered in the transaction that ends it.
At most `MAX_WAITING` orders of a kind wait to begin: a further one is refused, and the answer says so. Whether an order has expired is
decided by the server, when it is claimed.
"""

import sqlite3
from abc import abstractmethod
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from precast.agent.identity.machine import read_boot_id
from precast.agent.orders.order_kind import ChoreName, OrderKind
from precast.agent.orders.work_process import WorkProcess
from precast.agent.state.spent_orders import is_spent, spend
from precast.agent.state.spool import Importance
from precast.base.clock import to_micros
from precast.base.errors import Issue
from precast.wire.jobs.orders import NOT_RUN, NotRun

MAX_WAITING = 32
MAX_BEGINS = 3
# So many ended orders are remembered, in case a server sends one of them again.
REMEMBERED = 1_000
MAX_REASON_CHARS = 2_000
FROM_OUTSIDE = "the process that ran it was ended from outside"

Reason = Literal["refused", "broken", "interrupted", "aborted"]


class QueuedMessage(Protocol):
    """The part that the bodies of queued orders have in common."""

    @property
    def order(self) -> str: ...

    @property
    def why(self) -> str: ...


class BegunOrder(NamedTuple):
    """An order whose process has ended without an answer."""

    id: str
    begins: int  # how often it was begun
    boot_id: str  # of the boot in which it was begun last
    begun_s: float  # when, by the clock of that boot
    is_aborted: bool


M = TypeVar("M", bound=QueuedMessage)


class OrderQueue(OrderKind[M]):
    """The orders of one kind, in the order in which they were received."""

    chore: ClassVar[ChoreName] = "orders"
    noun: ClassVar[str]  # for people: what is ordered
    cannot_begin: ClassVar[Issue]  # raised if an order is not to be begun now; its text names the `order`
    is_idempotent: ClassVar[bool] = False  # it is carried out again if its process has ended without an answer
    needs_catalog: ClassVar[bool] = False  # the catalog that is released now is fetched first

    @abstractmethod
    def process(self, order: M) -> WorkProcess | None:
        """The process that carries an order out; None if the daemon itself does."""

    def keep(self, db: sqlite3.Connection, order: M) -> bool:
        """Store an order, or refuse it if too many wait; False if the same order was stored before."""
        if is_spent(db, order.order):
            return False
        is_new = db.execute(
            "INSERT OR IGNORE INTO queued_order (kind, id, state, body, at) VALUES (?, ?, 'waiting', ?, ?)",
            (self.name, order.order, msgspec.json.encode(order), to_micros(self._store.clock.now())),
        ).rowcount
        if is_new and self._count_waiting(db) > MAX_WAITING:
            self._answer(db, order.order, "refused", f"{MAX_WAITING} {self.noun}s are already waiting on this node")
        db.execute(
            "DELETE FROM queued_order WHERE state = 'ended' AND number <= (SELECT number FROM queued_order"
            " WHERE state = 'ended' ORDER BY number DESC LIMIT 1 OFFSET ?)",
            (REMEMBERED,),
        )
        return bool(is_new)

    def find(self, order_id: str) -> M | None:
        """The order with this id; None if there is none of this kind."""
        rows = self._store.read("SELECT body FROM queued_order WHERE id = ? AND kind = ?", (order_id, self.name))
        return msgspec.json.decode(rows[0][0], type=self.message) if rows else None

    def begin(self, order_id: str) -> M:
        """Begin to carry out an order. Raises `cannot_begin` if it is not granted, or was begun before."""
        with self._store.transaction() as db:
            begun = db.execute(
                "UPDATE queued_order SET state = 'begun', begins = begins + 1, boot_id = ?, begun_s = ?"
                " WHERE id = ? AND kind = ? AND state = 'granted'",
                (read_boot_id(), self._store.clock.monotonic_s(), order_id, self.name),
            )
            if not begun.rowcount:
                raise self.cannot_begin.error(order=order_id)
            self._answer_begun(db, order_id)
            order = self._load(db, order_id)
            if (text := self._signed_text(order)) is not None:
                spend(db, order_id, text, self._store.clock.now())
            return order

    def refuse(self, order_id: str, why: str) -> None:
        """Answer that this node does not carry out an order, unless the order has ended."""
        with self._store.transaction() as db:
            self._answer(db, order_id, "refused", why)

    def give_up(self, order_id: str, why: str) -> None:
        """Answer that an order could not be carried out, unless the order has ended."""
        with self._store.transaction() as db:
            self._answer(db, order_id, "broken", why)

    def abort(self, db: sqlite3.Connection, order_id: str, why: str) -> None:
        """End an order that was not begun, and answer it. One that was begun is marked: its process is then asked to stop."""
        marked = db.execute("UPDATE queued_order SET is_aborted = 1 WHERE id = ? AND state = 'begun'", (order_id,))
        if not marked.rowcount:
            self._answer(db, order_id, "aborted", f"it was aborted before it began{f': {why}' if why else ''}")

    def resolve(self, db: sqlite3.Connection, begun: BegunOrder, kill_reason: str) -> None:
        """Repeat or answer an order whose process has ended without an answer. One that this agent has killed is not repeated."""
        if begun.is_aborted:
            self._answer(db, begun.id, "aborted", f"the {self.noun} was aborted")
        elif self.is_idempotent and not kill_reason and begun.begins < MAX_BEGINS:
            db.execute("UPDATE queued_order SET state = 'waiting' WHERE id = ? AND state = 'begun'", (begun.id,))
        else:
            why = f"the {self.noun} was broken off: {kill_reason or FROM_OUTSIDE}"
            self._answer(db, begun.id, "interrupted", why)

    def _signed_text(self, order: M) -> str | None:
        """The text that the authority has signed, of an order that is carried out once only; None if it has none."""
        return None

    def _answer_begun(self, db: sqlite3.Connection, order_id: str) -> None:
        """Tell the servers that an order is being carried out, for kinds that do so."""

    def _answer_not_run(self, db: sqlite3.Connection, order: M, reason: Reason, message: str) -> None:
        """Add to the answer that an order is not carried out, for kinds that do so. Called only if it was never begun."""

    def _answer(self, db: sqlite3.Connection, order_id: str, reason: Reason, message: str) -> None:
        """End an order and answer that it is not carried out, or not to its end; do nothing if it has ended."""
        if self._end(db, order_id):
            body = NotRun(order_id, reason, message[:MAX_REASON_CHARS], self._store.clock.now())
            self._spool.put_within(db, NOT_RUN, msgspec.json.encode(body), Importance.RESULT)
            if not db.execute("SELECT begins FROM queued_order WHERE id = ?", (order_id,)).fetchone()[0]:
                self._answer_not_run(db, self._load(db, order_id), reason, message)

    def _end(self, db: sqlite3.Connection, order_id: str) -> bool:
        """End an order; False if it has ended before."""
        ended = db.execute(
            "UPDATE queued_order SET state = 'ended' WHERE id = ? AND kind = ? AND state != 'ended'",
            (order_id, self.name),
        )
        return bool(ended.rowcount)

    def _is_aborted(self, db: sqlite3.Connection, order_id: str) -> bool:
        row = db.execute("SELECT 1 FROM queued_order WHERE id = ? AND is_aborted", (order_id,)).fetchone()
        return row is not None

    def _count_waiting(self, db: sqlite3.Connection) -> int:
        rows = db.execute(
            "SELECT count(*) FROM queued_order WHERE state IN ('waiting', 'claimed', 'granted') AND kind = ?",
            (self.name,),
        )
        return int(rows.fetchone()[0])

    def _load(self, db: sqlite3.Connection, order_id: str) -> M:
        rows = db.execute("SELECT body FROM queued_order WHERE id = ? AND kind = ?", (order_id, self.name))
        ((body,),) = rows.fetchall()
        return msgspec.json.decode(body, type=self.message)
