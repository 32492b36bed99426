"""Runs that somebody has ordered, from the moment they come until they are answered.

    waiting   it came; nobody has begun
    handed    a process was started for it
    begun     that process has begun, and nobody else ever will
    ended     it was answered, by the run's own report or here

An order is begun at most once: whoever wants to begin moves it from `handed` to `begun`, under the lease of the run, and only one can.
What was handed over and not begun is handed over again, so a daemon that dies in between loses none. An order that cannot be
followed is answered in the transaction that ends it. At most `MAX_WAITING` wait: one more is refused, and the answer says so.
"""

import sqlite3
from typing import Literal

import msgspec

from precast.agent.applying import issues
from precast.agent.applying.reporting.stream import close_open
from precast.agent.state.spool import Importance, Spool
from precast.agent.state.store import LocalStore, Numbered, receiving
from precast.base.clock import to_micros
from precast.base.ids import TimeOrderedIds
from precast.wire.jobs.orders import NOT_RUN, NotRun, RunOrder
from precast.wire.reports.records import ENDED, RunBegan, RunEnded

MAX_WAITING = 32
# So many that have ended are remembered, should one come again.
REMEMBERED = 1_000
_LONGEST_WORDS = 2_000

Reason = Literal["expired", "refused", "broken"]


class Orders:
    """The orders in a local store."""

    def __init__(self, store: LocalStore, spool: Spool) -> None:
        self._store = store
        self._spool = spool

    def take(self, record: Numbered, order: RunOrder) -> bool:
        """Store an order that came as a server's record; False if it was there already."""
        with self._store.writing() as db:
            if not receiving(db, record):
                return False
            now = to_micros(self._store.clock.now())
            is_new = db.execute(
                "INSERT OR IGNORE INTO run_order (id, state, body, at) VALUES (?, 'waiting', ?, ?)",
                (order.order, msgspec.json.encode(order), now),
            ).rowcount
            ((waiting,),) = db.execute("SELECT count(*) FROM run_order WHERE state = 'waiting'").fetchall()
            if is_new and waiting > MAX_WAITING:
                self._answer(db, order.order, "refused", f"{MAX_WAITING} orders wait on this node already")
            db.execute(
                "DELETE FROM run_order WHERE state = 'ended' AND rowid <="
                " (SELECT rowid FROM run_order WHERE state = 'ended' ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
                (REMEMBERED,),
            )
        return bool(is_new)

    def next(self) -> RunOrder | None:
        """Hand the oldest order over that can still be followed; those that have expired are answered."""
        while True:
            rows = self._store.read("SELECT body FROM run_order WHERE state = 'waiting' ORDER BY rowid LIMIT 1")
            if not rows:
                return None
            order = msgspec.json.decode(rows[0][0], type=RunOrder)
            with self._store.writing() as db:
                if order.expires_at <= self._store.clock.now():
                    self._answer(
                        db, order.order, "expired", f"it was to begin before {order.expires_at:%Y-%m-%d %H:%M:%SZ}"
                    )
                elif _move(db, order.order, "waiting", "handed"):
                    return order

    def has_waiting(self) -> bool:
        return bool(self._store.read("SELECT 1 FROM run_order WHERE state = 'waiting' LIMIT 1"))

    def begin(self, order_id: str) -> None:
        """Begin with an order, under the run's lease. Raises ConflictError APPLY-007 if it is not one to begin with."""
        with self._store.writing() as db:
            if not _move(db, order_id, "handed", "begun"):
                raise issues.NO_ORDER.error(order=order_id)

    def end(self, order_id: str) -> None:
        """The run has come to its end; its report is the answer."""
        with self._store.writing() as db:
            _move(db, order_id, "begun", "ended")

    def give_up(self, order_id: str, why: str) -> None:
        """Answer that an order is not followed, unless it has ended."""
        with self._store.writing() as db:
            self._answer(db, order_id, "broken", why)

    def settle(self, *, is_running: bool, why: str = "") -> None:
        """Look at what processes have left behind: what none has begun waits again, what was begun and is not under way is over.

        `why` is what is known of that.
        """
        if not is_running:
            close_open(self._store, self._spool, why)
        with self._store.writing() as db:
            db.execute("UPDATE run_order SET state = 'waiting' WHERE state = 'handed'")
            begun = [] if is_running else db.execute("SELECT id FROM run_order WHERE state = 'begun'").fetchall()
            for (order_id,) in begun:
                self._answer(
                    db, order_id, "broken", f"the run was broken off: {why or 'its process was ended from outside'}"
                )

    def _answer(self, db: sqlite3.Connection, order_id: str, reason: Reason, message: str) -> None:
        if not db.execute(
            "UPDATE run_order SET state = 'ended' WHERE id = ? AND state != 'ended'", (order_id,)
        ).rowcount:
            return
        body = NotRun(order_id, reason, message[:_LONGEST_WORDS], self._store.clock.now())
        self._spool.putting(db, NOT_RUN, msgspec.json.encode(body), Importance.RESULT)
        if reason != "broken":  # then there is a run, which is told by itself
            ((order,),) = db.execute("SELECT body FROM run_order WHERE id = ?", (order_id,)).fetchall()
            self._report(db, msgspec.json.decode(order, type=RunOrder), f"{reason}: {message}")

    def _report(self, db: sqlite3.Connection, order: RunOrder, why: str) -> None:
        """Tell a run that there was not: whoever looks at the node's runs should find it."""
        now = self._store.clock.now()
        began = RunBegan(TimeOrderedIds(self._store.clock).new(), order.mode, "ordered", now, order=order.order[:256])
        body = RunEnded(began, "not-run", now, why=why[:_LONGEST_WORDS])
        self._spool.putting(db, ENDED, msgspec.json.encode(body), Importance.RESULT)


def _move(db: sqlite3.Connection, order_id: str, before: str, after: str) -> bool:
    moved = db.execute("UPDATE run_order SET state = ? WHERE id = ? AND state = ?", (after, order_id, before))
    return bool(moved.rowcount)
