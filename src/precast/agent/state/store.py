"""The agent's local store: what must outlive the daemon, in one SQLite file that the daemon and its children share.

Every method is one short transaction, flushed to the disk when it returns. Its SQL is plain: SQLite on older systems has no
RETURNING and no JSON. The file is a node's memory of what it has said: a new one is a new `instance`, so that its numbers are not
taken for those of the old one. A file that is damaged is set aside, never repaired in silence; only the daemon does that, because
it alone knows that nobody else is about to use it.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from precast.agent import issues
from precast.agent.state.places import STATE
from precast.base.clock import Clock, SystemClock, from_optional_micros, to_micros
from precast.base.errors import PrecastError

NAME = "state.db"
# How long a process waits for another one's transaction.
BUSY_S = 10.0
FREE_PAGES = 64

_MIGRATIONS = (
    """
    CREATE TABLE session (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      instance TEXT NOT NULL,
      attempts TEXT NOT NULL DEFAULT '[]',
      epoch INTEGER NOT NULL DEFAULT 0,
      received INTEGER NOT NULL DEFAULT 0,
      given INTEGER NOT NULL DEFAULT 0,
      horizon_s REAL NOT NULL DEFAULT 0,
      facts_digest TEXT NOT NULL DEFAULT '',
      records INTEGER NOT NULL DEFAULT 0,
      bytes INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE record (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      number INTEGER UNIQUE,
      kind TEXT NOT NULL,
      version INTEGER NOT NULL,
      importance INTEGER NOT NULL,
      at INTEGER NOT NULL,
      acked_at INTEGER,
      size INTEGER NOT NULL,
      body BLOB NOT NULL
    );
    CREATE INDEX record_unsent ON record (importance, id) WHERE number IS NULL;
    CREATE INDEX record_acked ON record (number) WHERE acked_at IS NOT NULL;
    CREATE TRIGGER record_added AFTER INSERT ON record BEGIN
      UPDATE session SET records = records + 1, bytes = bytes + NEW.size;
    END;
    CREATE TRIGGER record_removed AFTER DELETE ON record BEGIN
      UPDATE session SET records = records - 1, bytes = bytes - OLD.size;
    END;
    CREATE TRIGGER record_resized AFTER UPDATE OF size ON record BEGIN
      UPDATE session SET bytes = bytes + NEW.size - OLD.size;
    END;
    CREATE TABLE pending_order (kind TEXT PRIMARY KEY, why TEXT NOT NULL);
    CREATE TABLE note (name TEXT PRIMARY KEY, value BLOB NOT NULL);
    """,
    """
    CREATE TABLE run_lease (only INTEGER PRIMARY KEY CHECK (only = 1), token INTEGER NOT NULL, holder TEXT NOT NULL);
    INSERT INTO run_lease (only, token, holder) VALUES (1, 0, '');
    CREATE TABLE resource_state (ref TEXT PRIMARY KEY, state BLOB NOT NULL, applied_at INTEGER);
    CREATE TABLE promise (key TEXT PRIMARY KEY, value BLOB NOT NULL, at INTEGER NOT NULL);
    """,
    """
    CREATE TABLE run_order (id TEXT PRIMARY KEY, state TEXT NOT NULL, body BLOB NOT NULL, at INTEGER NOT NULL);
    CREATE INDEX run_order_state ON run_order (state);
    """,
    """
    CREATE TABLE open_report (id TEXT PRIMARY KEY, began BLOB NOT NULL, events INTEGER NOT NULL);
    """,
    """
    CREATE TABLE exec_order (id TEXT PRIMARY KEY, state TEXT NOT NULL, body BLOB NOT NULL, at INTEGER NOT NULL);
    CREATE INDEX exec_order_state ON exec_order (state);
    """,
    """
    ALTER TABLE session ADD COLUMN received_at INTEGER;
    """,
)

T = TypeVar("T", bound=msgspec.Struct)


class Standing(NamedTuple):
    """Where the session with the servers stands."""

    instance: str
    attempts: list[str]
    epoch: int
    received: int  # of the servers' records, stored through this number
    received_at: datetime | None  # when the server made that one
    facts_digest: str  # of the stable facts that the servers have, as far as is known


class Numbered(Protocol):
    """A server's record, of which the store knows no more than this."""

    @property
    def number(self) -> int: ...

    @property
    def at(self) -> datetime: ...


class LocalStore:
    """One open file. Used by one thread."""

    def __init__(self, path: Path, connection: sqlite3.Connection, clock: Clock) -> None:
        self.path = path
        self.clock = clock
        self._connection = connection

    @classmethod
    def open(cls, root: Path, new_id: Callable[[], str], clock: Clock | None = None) -> "LocalStore":
        """Open the store below a root, or make it. Raises UnavailableError AGENT-010 to AGENT-012."""
        path = place(root)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise issues.NO_STORE.error(path=path, reason=getattr(error, "strerror", None) or error) from error
        store = cls(path, connection, clock or SystemClock())
        try:
            store._prepare(new_id)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is on the disk at the end, or nothing. Raises UnavailableError AGENT-010 to AGENT-012."""
        with self._translating():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def read(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one query. Raises as `writing` does."""
        with self._translating():
            return self._connection.execute(sql, values).fetchall()

    def standing(self) -> Standing:
        ((instance, attempts, epoch, received, at, digest),) = self.read(
            "SELECT instance, attempts, epoch, received, received_at, facts_digest FROM session"
        )
        known = msgspec.json.decode(attempts, type=list[str])
        return Standing(instance, known, epoch, received, from_optional_micros(at), digest)

    def attempt(self, new: str) -> list[str]:
        """Note an attempt before it is made; all since the last that was welcomed, newest first."""
        from precast.wire.sessions import (
            MAX_ATTEMPTS,  # only the daemon has sessions; a run does not wait for their messages
        )

        with self.writing() as db:
            ((known,),) = db.execute("SELECT attempts FROM session").fetchall()
            attempts = [new, *msgspec.json.decode(known, type=list[str])][:MAX_ATTEMPTS]
            db.execute("UPDATE session SET attempts = ?", (msgspec.json.encode(attempts).decode(),))
        return attempts

    def take(self, record: Numbered, kind: str | None, why: str = "") -> bool:
        """Store a server's record; False if it is stored already. Of a kind that is not known only the number is kept."""
        with self.writing() as db:
            is_new = receiving(db, record)
            if is_new and kind is not None:
                db.execute("INSERT OR REPLACE INTO pending_order (kind, why) VALUES (?, ?)", (kind, why))
        return is_new

    def orders(self) -> dict[str, str]:
        """What servers have ordered and is not done yet, with why."""
        return dict(self.read("SELECT kind, why FROM pending_order"))

    def fulfil(self, kind: str) -> None:
        with self.writing() as db:
            db.execute("DELETE FROM pending_order WHERE kind = ?", (kind,))

    def know_facts(self, digest: str) -> None:
        """Note which stable facts the servers have; empty if that is not known any more."""
        with self.writing() as db:
            db.execute("UPDATE session SET facts_digest = ?", (digest,))

    def note(self, value: msgspec.Struct) -> None:
        """Keep the newest note of this type."""
        with self.writing() as db:
            noting(db, value)

    def noted(self, kind: type[T]) -> T | None:
        """The newest note of a type; None if there is none, or another version of us wrote it."""
        for (value,) in self.read("SELECT value FROM note WHERE name = ?", (kind.__name__,)):
            with contextlib.suppress(msgspec.MsgspecError):
                return msgspec.json.decode(value, type=kind)
        return None

    def check(self) -> None:
        """Read the whole file. Raises UnavailableError AGENT-011 if it is damaged."""
        if self.read("PRAGMA quick_check(1)") != [("ok",)]:
            raise issues.DAMAGED_STORE.error(path=self.path)

    def shrink(self) -> None:
        """Give back what is free, if it is worth the writing."""
        ((free,),) = self.read("PRAGMA freelist_count")
        if free > FREE_PAGES:
            with self._translating():
                # As a script, because only that runs to the end.
                self._connection.executescript("PRAGMA incremental_vacuum")

    def _prepare(self, new_id: Callable[[], str]) -> None:
        with self._translating():
            # What is free is given back; the cache stays small, because an idle agent is.
            for setting in ("auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = FULL"):
                self._connection.execute(f"PRAGMA {setting}")
            for setting in ("cache_size = -256", "journal_size_limit = 1048576", "temp_store = MEMORY"):
                self._connection.execute(f"PRAGMA {setting}")
        ((version,),) = self.read("PRAGMA user_version")
        if version == len(_MIGRATIONS):
            return
        with self.writing() as db:
            # Again inside: another process may have done it meanwhile.
            ((version,),) = db.execute("PRAGMA user_version").fetchall()
            if version > len(_MIGRATIONS):
                raise issues.NEWER_STORE.error(path=self.path)
            for statements in _MIGRATIONS[version:]:
                for statement in _split(statements):
                    db.execute(statement)
            db.execute("INSERT OR IGNORE INTO session (only, instance) VALUES (1, ?)", (new_id(),))
            db.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")

    @contextlib.contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _translated(self.path, error) from error


def receiving(db: sqlite3.Connection, record: Numbered) -> bool:
    """Note that a server's record is stored, as part of the transaction that does it; False if it is stored already."""
    moved = db.execute(
        "UPDATE session SET received = ?, received_at = ? WHERE received < ?",
        (record.number, to_micros(record.at), record.number),
    )
    return bool(moved.rowcount)


def noting(db: sqlite3.Connection, value: msgspec.Struct) -> None:
    """Keep the newest note of its type, as part of a transaction."""
    db.execute(
        "INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)", (type(value).__name__, msgspec.json.encode(value))
    )


def place(root: Path) -> Path:
    return root / STATE / NAME


def set_aside(path: Path, at: datetime) -> Path:
    """Rename a store that is damaged, with what belongs to it; its new name. Raises UnavailableError AGENT-010."""
    kept = path.with_name(f"{path.name}.damaged-{at:%Y%m%dT%H%M%SZ}")
    try:
        for ending in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + ending).rename(kept.with_name(kept.name + ending))
    except OSError as error:
        raise issues.NO_STORE.error(path=path, reason=error.strerror) from error
    return kept


def _split(statements: str) -> Iterator[str]:
    """One at a time: `executescript` would end the transaction."""
    rest = ""
    for line in statements.splitlines():
        rest += line + "\n"
        if sqlite3.complete_statement(rest):
            yield rest
            rest = ""


def _translated(path: Path, error: sqlite3.Error) -> PrecastError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return issues.DAMAGED_STORE.error(path=path)
    return issues.NO_STORE.error(path=path, reason=error)
