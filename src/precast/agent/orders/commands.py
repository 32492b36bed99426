"""Commands that somebody has ordered, from the moment they come until they are answered.

    waiting   it came; nobody has begun
    handed    a process was started for it
    begun     that process runs the command, and nobody else ever will
    ended     it was answered

A command is run at most once: whoever wants to begin moves it from `handed` to `begun`, and only one can. One that cannot be run is
answered in the transaction that ends it.
"""

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from precast.agent import issues
from precast.agent.state.spool import Importance, Spool
from precast.agent.state.store import LocalStore, Numbered, receiving
from precast.base.clock import to_micros
from precast.wire.jobs.orders import EXEC_BEGAN, EXEC_ENDED, NOT_RUN, ExecBegan, ExecEnded, ExecOrder, NotRun

MAX_WAITING = 32
# So many that have ended are remembered, should one come again.
REMEMBERED = 1_000
BROKEN = "the command was broken off: what ran it was ended from outside"


class ExecOrders:
    """The ordered commands in a local store."""

    def __init__(self, store: LocalStore, spool: Spool) -> None:
        self._store = store
        self._spool = spool

    def take(self, record: Numbered, order: ExecOrder) -> bool:
        """Store an order that came as a server's record; False if it was there already."""
        with self._store.writing() as db:
            if not receiving(db, record):
                return False
            now = to_micros(self._store.clock.now())
            is_new = db.execute(
                "INSERT OR IGNORE INTO exec_order (id, state, body, at) VALUES (?, 'waiting', ?, ?)",
                (order.order, msgspec.json.encode(order), now),
            ).rowcount
            ((waiting,),) = db.execute("SELECT count(*) FROM exec_order WHERE state = 'waiting'").fetchall()
            if is_new and waiting > MAX_WAITING:
                self._answer(db, order.order, "refused", f"{MAX_WAITING} commands wait on this node already")
            db.execute(
                "DELETE FROM exec_order WHERE state = 'ended' AND rowid <="
                " (SELECT rowid FROM exec_order WHERE state = 'ended' ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
                (REMEMBERED,),
            )
        return bool(is_new)

    def next(self) -> ExecOrder | None:
        """Hand the oldest over that can still be run; those that have expired are answered."""
        while True:
            rows = self._store.read("SELECT body FROM exec_order WHERE state = 'waiting' ORDER BY rowid LIMIT 1")
            if not rows:
                return None
            order = msgspec.json.decode(rows[0][0], type=ExecOrder)
            with self._store.writing() as db:
                if order.expires_at <= self._store.clock.now():
                    late = f"it was to begin before {order.expires_at:%Y-%m-%d %H:%M:%SZ}"
                    self._answer(db, order.order, "expired", late)
                elif _move(db, order.order, "waiting", "handed"):
                    return order

    def refuse(self, order_id: str, why: str) -> None:
        """Answer that a command is not run here."""
        with self._store.writing() as db:
            self._answer(db, order_id, "refused", why)

    def begin(self, order_id: str) -> ExecOrder:
        """Begin with a command, and tell so. Raises ConflictError AGENT-030 if it is not one to begin with."""
        with self._store.writing() as db:
            if not _move(db, order_id, "handed", "begun"):
                raise issues.NO_COMMAND.error(order=order_id)
            ((body,),) = db.execute("SELECT body FROM exec_order WHERE id = ?", (order_id,)).fetchall()
            began = ExecBegan(order_id, self._store.clock.now())
            self._spool.putting(db, EXEC_BEGAN, msgspec.json.encode(began), Importance.RESULT)
        return msgspec.json.decode(body, type=ExecOrder)

    def end(self, ended: ExecEnded) -> None:
        """A command has ended, and that is told."""
        with self._store.writing() as db:
            if _move(db, ended.order, "begun", "ended"):
                self._spool.putting(db, EXEC_ENDED, msgspec.json.encode(ended), Importance.RESULT)

    def give_up(self, order_id: str, why: str) -> None:
        """Answer that a command could not be run, unless it was answered."""
        with self._store.writing() as db:
            self._answer(db, order_id, "broken", why)

    def settle(self, is_running: Callable[[str], bool]) -> None:
        """Look at what processes have left behind: what none has begun waits again, what was begun and does not run is over."""
        left = self._store.read("SELECT id, state FROM exec_order WHERE state IN ('handed', 'begun')")
        for order_id, state in left:
            if is_running(order_id):
                continue
            with self._store.writing() as db:
                if state == "handed":
                    _move(db, order_id, "handed", "waiting")
                else:
                    self._answer(db, order_id, "broken", BROKEN)

    def _answer(
        self, db: sqlite3.Connection, order_id: str, reason: Literal["expired", "refused", "broken"], message: str
    ) -> None:
        ended = db.execute("UPDATE exec_order SET state = 'ended' WHERE id = ? AND state != 'ended'", (order_id,))
        if ended.rowcount:
            body = NotRun(order_id, reason, message[:2_000], self._store.clock.now())
            self._spool.putting(db, NOT_RUN, msgspec.json.encode(body), Importance.RESULT)


def _move(db: sqlite3.Connection, order_id: str, before: str, after: str) -> bool:
    moved = db.execute("UPDATE exec_order SET state = ? WHERE id = ? AND state = ?", (after, order_id, before))
    return bool(moved.rowcount)


@contextmanager
def holding(state: Path, order_id: str) -> Iterator[None]:
    """While inside, others see that the command runs. The kernel lets go of it when the process ends, however it does."""
    path = _lock(state, order_id)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def is_held(state: Path, order_id: str) -> bool:
    """Whether some process runs this command."""
    try:
        descriptor = os.open(_lock(state, order_id), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    _lock(state, order_id).unlink(missing_ok=True)
    return False


def _lock(state: Path, order_id: str) -> Path:
    return state / "commands" / f"{order_id}.lock"
