"""Tells a run to the servers while it goes on, through the spool of the local store.

What happens is put there in batches, by a thread with a connection of its own: the run itself never waits for the disk, only for memory
when that cannot keep up. A run that is over before the first batch is due is told by one record, in the transaction that notes its
end. That a run is open is written under its lease, before anything is done; whoever finds it open and nobody running knows that it was
broken off, and says so.

A report that cannot be written never stops a run. Its number is given all the same, so that the gap is seen.
"""

import contextlib
import heapq
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime

import msgspec

from precast.agent.applying.lease import unheld
from precast.agent.applying.reporting.parts import Names, encoded, is_told
from precast.agent.state.spool import Importance, Limits, Spool
from precast.agent.state.store import LocalStore
from precast.agent.state.wake import knock
from precast.base.errors import PrecastError
from precast.wire.reports import records as wire
from precast.wire.reports.events import ResourceReport, Summary
from precast.wire.reports.records import How, RunBegan, Slow, Timings

# The first batch, and from then on each one, comes so soon after what it tells.
BATCH_S = 0.25
# Or as soon as there is so much of it.
BATCH_BYTES = 32 * 1024
BATCH_REPORTS = 500
# A run that makes more than this before it is written waits.
MOST_BYTES = 4 * 1024 * 1024
SLOWEST = 10
# What is quicker is not worth a word.
LEAST_S = 0.001
MOST_WHY = 2_000


class _Events(msgspec.Struct):
    """`RunEvents` with reports that are encoded already."""

    report: str
    first: int
    reports: list[msgspec.Raw]


class _Ended(msgspec.Struct, omit_defaults=True):
    """`RunEnded` with reports that are encoded already."""

    began: RunBegan
    how: How
    ended_at: datetime
    summary: Summary | None = None
    events: int = 0
    reports: list[msgspec.Raw] = []
    timings: Timings = Timings()
    rest: bytes = b""
    why: str = ""


class Reporter:
    """Tells one run. `begin` and `end` are parts of transactions of the run's own."""

    def __init__(
        self,
        describe: Callable[[LocalStore], RunBegan],
        limits: Limits,
        reopen: Callable[[], LocalStore],
        only_looks: str = "",
    ) -> None:
        """`only_looks` is why a run that was to change things does not."""
        self._only_looks = only_looks
        self._describe = describe
        self._open: RunBegan | None = None
        self._limits = limits
        self._reopen = reopen
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._told = 0  # how many were taken out of the queue
        self._is_ending = False
        self._thread: threading.Thread | None = None
        self._slowest: list[tuple[float, str]] = []
        self._names = Names()

    def begin(self, store: LocalStore, db: sqlite3.Connection) -> None:
        """Note that the run is open; one that was left open is told as broken off first."""
        closing(store, Spool(store, self._limits), db)
        self._open = self._describe(store)
        db.execute(
            "INSERT INTO open_report (id, began, events) VALUES (?, ?, 0)",
            (self._began.report, msgspec.json.encode(self._began)),
        )

    @property
    def _began(self) -> RunBegan:
        assert self._open is not None, "it begins with `begin`"
        return self._open

    def start(self) -> None:
        """Begin to tell, from a thread that ends with the run."""
        self._thread = threading.Thread(target=self._run, name="precast-report", daemon=True)
        self._thread.start()

    def add(self, report: ResourceReport) -> None:
        """Something is known of a resource. Waits only if far too much of it is."""
        if report.seconds > LEAST_S:
            heapq.heappush(self._slowest, (report.seconds, report.resource))
            if len(self._slowest) > SLOWEST:
                heapq.heappop(self._slowest)
        if not is_told(report):
            self._names.add(report)
            return
        data = encoded(report)
        with self._changed:
            self._waiting.append(data)
            self._waiting_bytes += len(data)
            if self._is_batch():
                self._changed.notify_all()
            while self._waiting_bytes > MOST_BYTES and self._thread is not None and self._thread.is_alive():
                self._changed.wait(BATCH_S)

    def stop(self) -> None:
        """Let the thread end; what it has not written is told with the end. Doing it again does no harm."""
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def end(
        self,
        store: LocalStore,
        db: sqlite3.Connection,
        how: How,
        summary: Summary | None,
        phases: dict[str, float],
        why: str = "",
    ) -> None:
        """Tell the end, as part of the transaction that notes it. After `stop`."""
        spool = Spool(store, self._limits)
        while self._is_batch():
            spool.putting(db, wire.EVENTS, self._take(), Importance.EVENT)
        if summary is not None and summary.is_complete:
            why = why or self._only_looks
        last = list(self._waiting)
        events = self._told + len(last)
        is_plain = not events and how == "ended" and summary is not None and summary.is_complete
        slow = [Slow(ref, round(seconds, 3)) for seconds, ref in sorted(self._slowest, reverse=True)]
        body = _Ended(
            self._began,
            how,
            store.clock.now(),
            summary,
            events,
            [msgspec.Raw(one) for one in last],
            Timings({name: round(seconds, 3) for name, seconds in phases.items()}, slow),
            self._names.packed(is_plain=is_plain),
            why[:MOST_WHY],
        )
        spool.putting(db, wire.ENDED, msgspec.json.encode(body), Importance.RESULT)
        db.execute("DELETE FROM open_report WHERE id = ?", (self._began.report,))

    def knock(self, store: LocalStore) -> None:
        """Tell the daemon that there is something to send."""
        knock(store.path.parent)

    def withdraw(self, store: LocalStore) -> None:
        """It was no run after all, and nothing is told."""
        with store.writing() as db:
            db.execute("DELETE FROM open_report WHERE id = ?", (self._began.report,))

    def give_up(self, store: LocalStore, why: str) -> None:
        """The run cannot go on. What cannot be written now is found out by the next run, or by the daemon."""
        self.stop()
        has_begun = self._told or self._waiting or self._names
        with contextlib.suppress(PrecastError), store.writing() as db:
            self.end(store, db, "broken-off" if has_begun else "not-run", None, {}, why)

    def _is_batch(self) -> bool:
        return self._waiting_bytes >= BATCH_BYTES or len(self._waiting) >= BATCH_REPORTS

    def _take(self) -> bytes:
        """The next batch as a record; its numbers are given."""
        first, size_bytes = self._told + 1, 0
        batch: list[msgspec.Raw] = []
        while self._waiting and len(batch) < BATCH_REPORTS and (size_bytes < BATCH_BYTES or not batch):
            data = self._waiting.popleft()
            size_bytes += len(data)
            batch.append(msgspec.Raw(data))
        self._waiting_bytes -= size_bytes
        self._told += len(batch)
        return msgspec.json.encode(_Events(self._began.report, first, batch))

    # What follows runs in the thread.

    def _run(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_ending or self._is_batch(), BATCH_S)
            if self._is_ending:
                return
        try:
            store = self._reopen()
        except PrecastError:
            return  # the end of the run says the same louder
        try:
            self._tell(store)
        finally:
            store.close()

    def _tell(self, store: LocalStore) -> None:
        spool = Spool(store, self._limits)
        self._put(store, spool, wire.BEGAN, msgspec.json.encode(self._began))
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_ending or self._is_batch(), BATCH_S)
                if self._is_ending:
                    return
                body = self._take() if self._waiting else None
                self._changed.notify_all()
            if body is not None:
                self._put(store, spool, wire.EVENTS, body)

    def _put(self, store: LocalStore, spool: Spool, kind: str, body: bytes) -> None:
        try:
            with store.writing() as db:
                spool.putting(db, kind, body, Importance.EVENT)
                db.execute("UPDATE open_report SET events = ? WHERE id = ?", (self._told, self._began.report))
        except PrecastError:
            return  # a full disk must not stop the run; that these are missing is seen by their numbers
        knock(store.path.parent)


def closing(store: LocalStore, spool: Spool, db: sqlite3.Connection, why: str = "") -> None:
    """Tell runs that were left open as broken off, as part of a transaction. Nobody runs: the caller knows."""
    for report, began, events in db.execute("SELECT id, began, events FROM open_report").fetchall():
        body = _Ended(
            msgspec.json.decode(began, type=RunBegan),
            "broken-off",
            store.clock.now(),
            events=events,
            why=why or "its process ended before it did",
        )
        spool.putting(db, wire.ENDED, msgspec.json.encode(body), Importance.RESULT)
        db.execute("DELETE FROM open_report WHERE id = ?", (report,))


def close_open(store: LocalStore, spool: Spool, why: str = "") -> bool:
    """Tell runs that were left open as broken off, if nobody runs; whether there was one."""
    if not store.read("SELECT 1 FROM open_report LIMIT 1"):
        return False
    with unheld(store.path.parent) as is_free:
        if is_free:
            with store.writing() as db:
                closing(store, spool, db, why)
        return is_free
