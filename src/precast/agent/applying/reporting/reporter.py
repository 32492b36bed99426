"""Reports a run to the servers while it takes place, through the spool of the local store.

A thread with its own connection to the store writes the reports of resources in batches, so the run itself does not wait for the disk
unless the unwritten reports exceed a bound. A run that ends before the first batch is due is reported by one record, in the transaction
that notes its end. The run's report is marked as open under its lease, before anything else is done. The next run or the daemon, which
finds an open report while no run is active, reports that run as broken off.

A report that cannot be written never stops a run. Its number is used up all the same, so that the server sees the gap.
"""

import contextlib
import heapq
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime

import msgspec

from precast.agent.applying.lease import runs_blocked
from precast.agent.applying.reporting.encoding import UntouchedNames, encode_report, is_reported
from precast.agent.state.spool import Importance, Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.agent.state.wakeup import wake_daemon
from precast.base.errors import PrecastError
from precast.wire.reports import records as wire
from precast.wire.reports.events import ResourceReport, Summary
from precast.wire.reports.records import RunBegan, RunEndState, SlowResource, Timings

# A batch is written at the latest so long after its first report.
BATCH_S = 0.25
# Or as soon as it has this size.
BATCH_BYTES = 32 * 1024
BATCH_REPORTS = 500
# Backpressure: a run waits while it has more unwritten reports than this.
MAX_QUEUED_BYTES = 4 * 1024 * 1024
SLOWEST = 10
# Faster resources are not listed among the slowest.
MIN_SLOW_S = 0.001
MAX_WHY_CHARS = 2_000


class _EncodedEvents(msgspec.Struct):
    """`RunEvents` with reports that are encoded already."""

    report: str
    first: int
    reports: list[msgspec.Raw]


class _EncodedEnd(msgspec.Struct, omit_defaults=True):
    """`RunEnded` with reports that are encoded already."""

    began: RunBegan
    how: RunEndState
    ended_at: datetime
    summary: Summary | None = None
    events: int = 0
    reports: list[msgspec.Raw] = []
    timings: Timings = Timings()
    rest: bytes = b""
    why: str = ""


class Reporter:
    """Reports one run. `begin` and `end` take part in transactions of the run."""

    def __init__(
        self,
        describe: Callable[[LocalStore], RunBegan],
        limits: SpoolLimits,
        reopen: Callable[[], LocalStore],
        noop_reason: str = "",
    ) -> None:
        """`noop_reason` says why a run that was to enforce is a no-op."""
        self._noop_reason = noop_reason
        self._describe = describe
        self._open: RunBegan | None = None
        self.limits = limits
        self._reopen = reopen
        self._changed = threading.Condition()
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._sent = 0  # the number of reports taken out of the queue
        self._is_ending = False
        self._thread: threading.Thread | None = None
        self._slowest: list[tuple[float, str]] = []
        self._names = UntouchedNames()

    def begin(self, store: LocalStore, db: sqlite3.Connection) -> None:
        """Mark the run's report as open. A report that an earlier run left open is reported as broken off first."""
        close_within(store, Spool(store, self.limits), db)
        self._open = self._describe(store)
        db.execute(
            "INSERT INTO open_report (id, began, events) VALUES (?, ?, 0)",
            (self._began.report, msgspec.json.encode(self._began)),
        )

    @property
    def _began(self) -> RunBegan:
        assert self._open is not None, "`begin` is called first"
        return self._open

    @property
    def report(self) -> str:
        """The id of the report, once it has begun."""
        return self._began.report

    def start(self) -> None:
        """Start the thread that writes the reports."""
        self._thread = threading.Thread(target=self._run, name="precast-report", daemon=True)
        self._thread.start()

    def add(self, report: ResourceReport) -> None:
        """Add the report of a resource. Waits only while there are too many unwritten reports."""
        if report.seconds > MIN_SLOW_S:
            heapq.heappush(self._slowest, (report.seconds, report.resource))
            if len(self._slowest) > SLOWEST:
                heapq.heappop(self._slowest)
        if not is_reported(report):
            self._names.add(report)
            return
        data = encode_report(report)
        with self._changed:
            self._queue.append(data)
            self._queued_bytes += len(data)
            if self._has_batch():
                self._changed.notify_all()
            while self._queued_bytes > MAX_QUEUED_BYTES and self._thread is not None and self._thread.is_alive():
                self._changed.wait(BATCH_S)

    def stop(self) -> None:
        """End the thread; the reports that it has not written are part of the run's end. Idempotent."""
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
        how: RunEndState,
        summary: Summary | None,
        phases: dict[str, float],
        why: str = "",
    ) -> None:
        """Report the end of the run in the transaction that notes it. Called after `stop`."""
        spool = Spool(store, self.limits)
        while self._has_batch():
            spool.put_within(db, wire.EVENTS, self._pop_batch(), Importance.EVENT)
        if summary is not None and summary.is_complete:
            why = why or self._noop_reason
        last = list(self._queue)
        events = self._sent + len(last)
        is_all_in_sync = not events and how == "ended" and summary is not None and summary.is_complete
        slow = [SlowResource(ref, round(seconds, 3)) for seconds, ref in sorted(self._slowest, reverse=True)]
        body = _EncodedEnd(
            self._began,
            how,
            store.clock.now(),
            summary,
            events,
            [msgspec.Raw(data) for data in last],
            Timings({name: round(seconds, 3) for name, seconds in phases.items()}, slow),
            self._names.compress(is_all_in_sync=is_all_in_sync),
            why[:MAX_WHY_CHARS],
        )
        spool.put_within(db, wire.ENDED, msgspec.json.encode(body), Importance.RESULT)
        db.execute("DELETE FROM open_report WHERE id = ?", (self._began.report,))

    def withdraw(self, store: LocalStore) -> None:
        """Delete the open report of a run that was refused."""
        with store.transaction() as db:
            db.execute("DELETE FROM open_report WHERE id = ?", (self._began.report,))

    def give_up(self, store: LocalStore, why: str) -> None:
        """Report that the run cannot go on. If that cannot be written now, the next run or the daemon finds the open report."""
        self.stop()
        has_begun = self._sent or self._queue or self._names
        with contextlib.suppress(PrecastError), store.transaction() as db:
            self.end(store, db, "broken-off" if has_begun else "not-run", None, {}, why)

    def _has_batch(self) -> bool:
        return self._queued_bytes >= BATCH_BYTES or len(self._queue) >= BATCH_REPORTS

    def _pop_batch(self) -> bytes:
        """Take the next batch out of the queue and encode it as a record, with the numbers of its reports."""
        first, size_bytes = self._sent + 1, 0
        batch: list[msgspec.Raw] = []
        while self._queue and len(batch) < BATCH_REPORTS and (size_bytes < BATCH_BYTES or not batch):
            data = self._queue.popleft()
            size_bytes += len(data)
            batch.append(msgspec.Raw(data))
        self._queued_bytes -= size_bytes
        self._sent += len(batch)
        return msgspec.json.encode(_EncodedEvents(self._began.report, first, batch))

    # The following methods run in the thread.

    def _run(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_ending or self._has_batch(), BATCH_S)
            if self._is_ending:
                return
        try:
            store = self._reopen()
        except PrecastError:
            return  # the end of the run will meet the same error, and raise it
        try:
            self._write_batches(store)
        finally:
            store.close()

    def _write_batches(self, store: LocalStore) -> None:
        spool = Spool(store, self.limits)
        self._put(store, spool, wire.BEGAN, msgspec.json.encode(self._began))
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_ending or self._has_batch(), BATCH_S)
                if self._is_ending:
                    return
                body = self._pop_batch() if self._queue else None
                self._changed.notify_all()
            if body is not None:
                self._put(store, spool, wire.EVENTS, body)

    def _put(self, store: LocalStore, spool: Spool, kind: str, body: bytes) -> None:
        try:
            with store.transaction() as db:
                spool.put_within(db, kind, body, Importance.EVENT)
                db.execute("UPDATE open_report SET events = ? WHERE id = ?", (self._sent, self._began.report))
        except PrecastError:
            return  # a full disk must not stop the run; the server sees by the numbers that these are missing
        wake_daemon(store.path.parent)


def close_within(store: LocalStore, spool: Spool, db: sqlite3.Connection, why: str = "") -> None:
    """Report the runs of open reports as broken off, in the transaction `db`. The caller makes sure that no run is active."""
    for report, began, events in db.execute("SELECT id, began, events FROM open_report").fetchall():
        body = _EncodedEnd(
            msgspec.json.decode(began, type=RunBegan),
            "broken-off",
            store.clock.now(),
            events=events,
            why=why or "its process ended before it did",
        )
        spool.put_within(db, wire.ENDED, msgspec.json.encode(body), Importance.RESULT)
        db.execute("DELETE FROM open_report WHERE id = ?", (report,))


def close_open_reports(store: LocalStore, spool: Spool, why: str = "") -> bool:
    """Report the runs of open reports as broken off, if no run is active; whether there were any."""
    if not store.read("SELECT 1 FROM open_report LIMIT 1"):
        return False
    with runs_blocked(store.path.parent) as is_free:
        if is_free:
            with store.transaction() as db:
                close_within(store, spool, db, why)
        return is_free
