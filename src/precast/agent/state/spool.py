"""The spool: records for the servers, written by any process of the agent and kept until a server has stored them and a while longer.

A record gets its number when it is first sent. A record that is dropped before that leaves no gap, and a numbered record is never
dropped before a server has stored it. The spool is bounded in records and bytes. When it is full, it drops acknowledged records first,
then the least important ones, and among these the oldest. Unsent records that it drops are counted in a record of kind `loss`, which
is never dropped. Acknowledged records are kept for the ack horizon, because a server that has lost its newest writes asks for them again.
"""

import sqlite3
from collections.abc import Iterator
from datetime import datetime
from enum import IntEnum
from typing import NamedTuple

import msgspec

from precast.agent import issues
from precast.agent.state.store import LocalStore
from precast.base.clock import from_micros, to_micros
from precast.base.clock_differences import TOLERANCE
from precast.wire.sessions import FACTS, LOSS, MAX_FRAME_BYTES, LossBody, Record

# The part of a frame around a record's body, at most.
FRAME_BYTES = 512
MAX_BODY_BYTES = MAX_FRAME_BYTES - FRAME_BYTES
# How many bytes a row counts beside its body.
ROW_BYTES = 100


class Importance(IntEnum):
    """The order in which unsent records are dropped when the spool is full, the lowest first. A loss record is never dropped."""

    ROUTINE = 10  # a later record will replace it
    EVENT = 20  # reports something that happened
    RESULT = 30  # a server waits for it


class SpoolLimits(NamedTuple):
    """The bounds of a spool."""

    records: int = 10_000
    bytes: int = 64 * 1024 * 1024


class SpoolCounts(NamedTuple):
    """The content of a spool, counted."""

    unsent: int
    unacknowledged: int
    acknowledged: int
    bytes: int
    lost: int  # dropped records that no server has been told of yet


class Spool:
    """The records of a local store."""

    def __init__(self, store: LocalStore, limits: SpoolLimits) -> None:
        self._store = store
        self.limits = limits
        # Since when the clock has been steady, by the monotonic clock, and how far it is ahead of that one.
        self._steady_since_s = store.clock.monotonic_s()
        self._offset_s = self._read_offset_s()

    def put(self, kind: str, body: bytes, importance: Importance, *, supersedes: bool = False) -> None:
        """Store a record; it is flushed to the disk when this returns. With `supersedes`, unsent records of its kind are deleted.

        Raises InputError AGENT-013 if it is too large to be sent, UnavailableError as the store does.
        """
        with self._store.transaction() as db:
            if supersedes:
                db.execute("DELETE FROM record WHERE number IS NULL AND kind = ?", (kind,))
            self.put_within(db, kind, body, importance)

    def put_within(self, db: sqlite3.Connection, kind: str, body: bytes, importance: Importance) -> None:
        """Store a record in the transaction `db`. Raises as `put` does."""
        if len(body) > MAX_BODY_BYTES:
            raise issues.LARGE_RECORD.error(kind=kind, size_bytes=len(body), limit_bytes=MAX_BODY_BYTES)
        _insert(db, kind, body, importance, self._now())
        self._make_room(db)

    def withdraw(self, kind: str) -> None:
        """Delete the unsent records of a kind, because their content has reached the server by another way."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM record WHERE number IS NULL AND kind = ?", (kind,))

    def number_range(self) -> tuple[int, int]:
        """Return the lowest number that is stored (or the next number, if none is stored), and the highest number that was given."""
        ((first, given),) = self._store.read("SELECT (SELECT min(number) FROM record), given FROM session")
        return (given + 1 if first is None else first), given

    def begin_session(
        self, attempt: str, epoch: int, received: int, horizon_s: float, facts_digest: str, term: int = 0
    ) -> int:
        """Begin a session with a server that has stored records through `received`. Returns the number after which sending begins."""
        now = self._now()
        with self._store.transaction() as db:
            # The server has more than this store ever numbered if the store is an old copy. Those numbers are used up, and the copy's
            # own numbered records are on the server already.
            db.execute("DELETE FROM record WHERE number IS NOT NULL AND ? > (SELECT given FROM session)", (received,))
            db.execute(
                "UPDATE session SET attempts = ?, epoch = ?, horizon_s = ?, facts_digest = ?, given = max(given, ?),"
                " term = max(term, ?)",
                (msgspec.json.encode([attempt]).decode(), epoch, horizon_s, facts_digest, received, term),
            )
            db.execute("UPDATE record SET acked_at = NULL WHERE number > ? AND acked_at IS NOT NULL", (received,))
            db.execute("UPDATE record SET acked_at = ? WHERE number <= ? AND acked_at IS NULL", (now, received))
            self._make_room(db)
        return max(received, self.number_range()[0] - 1)

    def next_batch(self, after: int, records: int, size_bytes: int, least: int = 1) -> list[Record]:
        """Return the records after a number, at most `records` and `size_bytes` of them, but at least `least` whatever their size.

        If there are no numbered ones left, unsent records get their numbers.
        """
        numbered = self._numbered(after, records, size_bytes, least)
        if numbered:
            return numbered
        with self._store.transaction() as db:
            ((given,),) = db.execute("SELECT given FROM session").fetchall()
            unsent = db.execute("SELECT id, size FROM record WHERE number IS NULL ORDER BY id LIMIT ?", (records,))
            chosen = list(_within(unsent.fetchall(), size_bytes, least))
            for number, (record_id, _) in enumerate(chosen, given + 1):
                db.execute("UPDATE record SET number = ? WHERE id = ?", (number, record_id))
            db.execute("UPDATE session SET given = given + ?", (len(chosen),))
        return self._numbered(after, records, size_bytes, least) if chosen else []

    def acknowledge(self, through: int) -> None:
        """Mark records as acknowledged through a number, and delete those that were acknowledged longer ago than the horizon.

        A clock that was set makes them look older than they are: none is deleted by age until it has been steady for a horizon.
        """
        now = self._now()
        steady_s = self._measure_steady_s()
        with self._store.transaction() as db:
            _note_acknowledged_facts(db, through)
            db.execute("UPDATE record SET acked_at = ? WHERE number <= ? AND acked_at IS NULL", (now, through))
            db.execute(
                "DELETE FROM record WHERE acked_at < ? - (SELECT CAST(horizon_s * 1000000 AS INTEGER) FROM session)"
                " AND ? >= (SELECT horizon_s FROM session)",
                (now, steady_s),
            )
            self._make_room(db)
        self._store.shrink()

    def has_unacknowledged(self, kind: str) -> bool:
        """Whether the spool has records of a kind that no server has acknowledged."""
        return bool(self._store.read("SELECT 1 FROM record WHERE kind = ? AND acked_at IS NULL LIMIT 1", (kind,)))

    def counts(self) -> SpoolCounts:
        ((unsent, sent, acked, size),) = self._store.read(
            "SELECT coalesce(sum(number IS NULL), 0), coalesce(sum(number IS NOT NULL AND acked_at IS NULL), 0),"
            " coalesce(sum(acked_at IS NOT NULL), 0), coalesce(sum(size), 0) FROM record"
        )
        losses = self._store.read("SELECT body FROM record WHERE kind = ? AND acked_at IS NULL", (LOSS,))
        lost = sum(msgspec.json.decode(body, type=LossBody).count for (body,) in losses)
        return SpoolCounts(unsent, sent, acked, size, lost)

    def _numbered(self, after: int, records: int, size_bytes: int, least: int) -> list[Record]:
        rows = self._store.read(
            "SELECT id, size FROM record WHERE number > ? ORDER BY number LIMIT ?", (after, records)
        )
        return [self._load(record_id) for record_id, _ in _within(rows, size_bytes, least)]

    def _load(self, record_id: int) -> Record:
        ((number, kind, at, body, version),) = self._store.read(
            "SELECT number, kind, at, body, version FROM record WHERE id = ?", (record_id,)
        )
        return Record(number, kind, from_micros(at), msgspec.Raw(body), version)

    def _make_room(self, db: sqlite3.Connection) -> None:
        while self._is_full(db):
            if db.execute(
                "DELETE FROM record WHERE number = (SELECT min(number) FROM record WHERE acked_at IS NOT NULL)"
            ).rowcount:
                continue
            least = db.execute(
                "SELECT id, kind, at FROM record WHERE number IS NULL AND kind != ? ORDER BY importance, id LIMIT 1",
                (LOSS,),
            ).fetchone()
            if least is None:
                return
            record_id, kind, at = least
            db.execute("DELETE FROM record WHERE id = ?", (record_id,))
            self._count_loss(db, kind, at)

    def _is_full(self, db: sqlite3.Connection) -> bool:
        ((records, size_bytes),) = db.execute("SELECT records, bytes FROM session").fetchall()
        return bool(records > self.limits.records or size_bytes > self.limits.bytes)

    def _count_loss(self, db: sqlite3.Connection, kind: str, at: int) -> None:
        """Add a dropped record to the unsent loss record of its kind, or insert a new loss record."""
        lost_at = from_micros(at)
        loss = LossBody(kind, 1, lost_at, lost_at)
        for record_id, body in db.execute("SELECT id, body FROM record WHERE number IS NULL AND kind = ?", (LOSS,)):
            counted = msgspec.json.decode(body, type=LossBody)
            if counted.kind == kind:
                merged = msgspec.json.encode(_add_loss(counted, lost_at))
                db.execute(
                    "UPDATE record SET body = ?, size = ? WHERE id = ?", (merged, len(merged) + ROW_BYTES, record_id)
                )
                return
        _insert(db, LOSS, msgspec.json.encode(loss), Importance.RESULT, self._now())

    def _measure_steady_s(self) -> float:
        """For how long the clock has not been set, as far as this process has seen."""
        clock, offset_s = self._store.clock, self._read_offset_s()
        if abs(offset_s - self._offset_s) > TOLERANCE.total_seconds():
            self._steady_since_s = clock.monotonic_s()
        self._offset_s = offset_s
        return clock.monotonic_s() - self._steady_since_s

    def _read_offset_s(self) -> float:
        return self._store.clock.now().timestamp() - self._store.clock.monotonic_s()

    def _now(self) -> int:
        return to_micros(self._store.clock.now())


class _FactsSummary(msgspec.Struct):
    """The fields of a fact set that the spool reads."""

    digest: str
    stable: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _note_acknowledged_facts(db: sqlite3.Connection, through: int) -> None:
    """Note the digest of stable facts that a server acknowledges: they need not be sent again."""
    acknowledged = db.execute(
        "SELECT body FROM record WHERE number <= ? AND acked_at IS NULL AND kind = ? ORDER BY number", (through, FACTS)
    )
    for (body,) in acknowledged.fetchall():
        facts = msgspec.json.decode(body, type=_FactsSummary)
        if facts.stable is not msgspec.UNSET:
            db.execute("UPDATE session SET facts_digest = ?", (facts.digest,))


def _insert(db: sqlite3.Connection, kind: str, body: bytes, importance: Importance, now: int) -> None:
    db.execute(
        "INSERT INTO record (kind, version, importance, at, size, body) VALUES (?, 1, ?, ?, ?, ?)",
        (kind, importance, now, len(body) + ROW_BYTES, body),
    )


def _add_loss(counted: LossBody, at: datetime) -> LossBody:
    return LossBody(counted.kind, counted.count + 1, min(counted.first_at, at), max(counted.last_at, at))


def _within(rows: list[tuple[int, int]], size_bytes: int, least: int) -> Iterator[tuple[int, int]]:
    """Yield the first rows that fit into `size_bytes`, and at least `least` of them."""
    left_bytes = size_bytes
    for index, row in enumerate(rows):
        left_bytes -= row[1]
        if left_bytes < 0 and index >= least:
            return
        yield row
