"""Records on their way to a server: made by anyone on the node, kept until they are stored there and a while longer.

A record gets its number when it is first sent. So what is dropped before that leaves no gap, and what has a number is never
dropped before a server has it. The spool is bounded in records and bytes. When it is full, what servers have acknowledged goes
first, then the least important, and among these the oldest; what is lost that way is told by a record of kind `loss`, which is
never dropped. Acknowledged records stay for the ack horizon: a server that has lost its newest writes says so, and gets them again.
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
from precast.wire.sessions import FACTS, LOSS, MAX_FRAME_BYTES, LossBody, Record

# What a frame has around a body.
FRAME_BYTES = 512
MAX_BODY_BYTES = MAX_FRAME_BYTES - FRAME_BYTES
# What a row costs beside its body.
ROW_BYTES = 100


class Importance(IntEnum):
    """Who goes first when there is no more room; a loss never does."""

    ROUTINE = 10  # it comes again by itself
    EVENT = 20  # something happened
    RESULT = 30  # somebody waits for it


class Limits(NamedTuple):
    """How much a spool holds."""

    records: int = 10_000
    bytes: int = 64 * 1024 * 1024


class Counts(NamedTuple):
    """How much is in a spool."""

    unsent: int
    unacknowledged: int
    acknowledged: int
    bytes: int
    lost: int  # in all that is still to be told


class Spool:
    """The records in a local store."""

    def __init__(self, store: LocalStore, limits: Limits) -> None:
        self._store = store
        self.limits = limits

    def put(self, kind: str, body: bytes, importance: Importance, *, supersedes: bool = False) -> None:
        """Keep a record; with `supersedes` only the newest of its kind counts. It is on the disk when this returns.

        Raises InputError AGENT-013 if it is too large to be sent, UnavailableError as the store does.
        """
        with self._store.writing() as db:
            if supersedes:
                db.execute("DELETE FROM record WHERE number IS NULL AND kind = ?", (kind,))
            self.putting(db, kind, body, importance)

    def putting(self, db: sqlite3.Connection, kind: str, body: bytes, importance: Importance) -> None:
        """The same as a part of another transaction."""
        if len(body) > MAX_BODY_BYTES:
            raise issues.LARGE_RECORD.error(kind=kind, size_bytes=len(body), limit_bytes=MAX_BODY_BYTES)
        _insert(db, kind, body, importance, self._now())
        self._make_room(db)

    def withdraw(self, kind: str) -> None:
        """Forget what has not been sent of a kind: it came there another way."""
        with self._store.writing() as db:
            db.execute("DELETE FROM record WHERE number IS NULL AND kind = ?", (kind,))

    def span(self) -> tuple[int, int]:
        """The lowest number that is still kept, or would be given next, and the highest that was given."""
        ((first, given),) = self._store.read("SELECT (SELECT min(number) FROM record), given FROM session")
        return (given + 1 if first is None else first), given

    def welcomed(self, attempt: str, epoch: int, received: int, horizon_s: float, facts_digest: str) -> int:
        """Begin a session: what the server does not have is to be sent again. The number after which sending begins."""
        now = self._now()
        with self._store.writing() as db:
            # The server knows more than this store if the store is an old copy: those numbers are taken, and what it has is known.
            db.execute("DELETE FROM record WHERE number IS NOT NULL AND ? > (SELECT given FROM session)", (received,))
            db.execute(
                "UPDATE session SET attempts = ?, epoch = ?, horizon_s = ?, facts_digest = ?, given = max(given, ?)",
                (msgspec.json.encode([attempt]).decode(), epoch, horizon_s, facts_digest, received),
            )
            db.execute("UPDATE record SET acked_at = NULL WHERE number > ? AND acked_at IS NOT NULL", (received,))
            db.execute("UPDATE record SET acked_at = ? WHERE number <= ? AND acked_at IS NULL", (now, received))
            self._make_room(db)
        return max(received, self.span()[0] - 1)

    def batch(self, after: int, records: int, size_bytes: int, least: int = 1) -> list[Record]:
        """The records that follow a number, at most so many and so large, but `least` of them whatever their size. New ones are
        given their numbers."""
        found = self._numbered(after, records, size_bytes, least)
        if found:
            return found
        with self._store.writing() as db:
            ((given,),) = db.execute("SELECT given FROM session").fetchall()
            unsent = db.execute("SELECT id, size FROM record WHERE number IS NULL ORDER BY id LIMIT ?", (records,))
            chosen = list(_within(unsent.fetchall(), size_bytes, least))
            for number, (record_id, _) in enumerate(chosen, given + 1):
                db.execute("UPDATE record SET number = ? WHERE id = ?", (number, record_id))
            db.execute("UPDATE session SET given = given + ?", (len(chosen),))
        return self._numbered(after, records, size_bytes, least) if chosen else []

    def acknowledge(self, through: int) -> None:
        """A server has stored everything through a number. What was acknowledged long enough ago is removed."""
        now = self._now()
        with self._store.writing() as db:
            _learn_facts(db, through)
            db.execute("UPDATE record SET acked_at = ? WHERE number <= ? AND acked_at IS NULL", (now, through))
            db.execute(
                "DELETE FROM record WHERE acked_at < ? - (SELECT CAST(horizon_s * 1000000 AS INTEGER) FROM session)",
                (now,),
            )
            self._make_room(db)
        self._store.shrink()

    def has(self, kind: str) -> bool:
        """Whether records of a kind are under way."""
        return bool(self._store.read("SELECT 1 FROM record WHERE kind = ? AND acked_at IS NULL LIMIT 1", (kind,)))

    def counts(self) -> Counts:
        ((unsent, sent, acked, size),) = self._store.read(
            "SELECT coalesce(sum(number IS NULL), 0), coalesce(sum(number IS NOT NULL AND acked_at IS NULL), 0),"
            " coalesce(sum(acked_at IS NOT NULL), 0), coalesce(sum(size), 0) FROM record"
        )
        losses = self._store.read("SELECT body FROM record WHERE kind = ? AND acked_at IS NULL", (LOSS,))
        lost = sum(msgspec.json.decode(body, type=LossBody).count for (body,) in losses)
        return Counts(unsent, sent, acked, size, lost)

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
        while self._is_over(db):
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
            self._tell_loss(db, kind, at)

    def _is_over(self, db: sqlite3.Connection) -> bool:
        ((records, size_bytes),) = db.execute("SELECT records, bytes FROM session").fetchall()
        return bool(records > self.limits.records or size_bytes > self.limits.bytes)

    def _tell_loss(self, db: sqlite3.Connection, kind: str, at: int) -> None:
        """Count it in the loss of its kind that is still to be sent, or begin one."""
        moment = from_micros(at)
        loss = LossBody(kind, 1, moment, moment)
        for record_id, body in db.execute("SELECT id, body FROM record WHERE number IS NULL AND kind = ?", (LOSS,)):
            known = msgspec.json.decode(body, type=LossBody)
            if known.kind == kind:
                merged = msgspec.json.encode(_merge(known, moment))
                db.execute(
                    "UPDATE record SET body = ?, size = ? WHERE id = ?", (merged, len(merged) + ROW_BYTES, record_id)
                )
                return
        _insert(db, LOSS, msgspec.json.encode(loss), Importance.RESULT, self._now())

    def _now(self) -> int:
        return to_micros(self._store.clock.now())


_NULL = b"null"


class _Whole(msgspec.Struct):
    """All that is read of facts here."""

    digest: str
    stable: msgspec.Raw = msgspec.Raw(_NULL)


def _learn_facts(db: sqlite3.Connection, through: int) -> None:
    """Facts that came there whole are known there."""
    newly = db.execute(
        "SELECT body FROM record WHERE number <= ? AND acked_at IS NULL AND kind = ? ORDER BY number", (through, FACTS)
    )
    for (body,) in newly.fetchall():
        facts = msgspec.json.decode(body, type=_Whole)
        if bytes(facts.stable) != _NULL:
            db.execute("UPDATE session SET facts_digest = ?", (facts.digest,))


def _insert(db: sqlite3.Connection, kind: str, body: bytes, importance: Importance, now: int) -> None:
    db.execute(
        "INSERT INTO record (kind, version, importance, at, size, body) VALUES (?, 1, ?, ?, ?, ?)",
        (kind, importance, now, len(body) + ROW_BYTES, body),
    )


def _merge(known: LossBody, at: datetime) -> LossBody:
    return LossBody(known.kind, known.count + 1, min(known.first_at, at), max(known.last_at, at))


def _within(rows: list[tuple[int, int]], size_bytes: int, least: int) -> Iterator[tuple[int, int]]:
    """The first rows that fit, and at least so many."""
    left = size_bytes
    for at, row in enumerate(rows):
        left -= row[1]
        if left < 0 and at >= least:
            return
        yield row
