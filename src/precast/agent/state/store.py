"""The agent's local store: the state that must survive the daemon, in one SQLite file that the daemon and its children share.

Every method is one short transaction, flushed to the disk when the method returns. The SQL is plain, because SQLite on older systems
has neither RETURNING nor JSON. The file holds the numbers of the records that the node has sent: a new file is a new `instance`, so
that servers do not mistake its numbers for those of the old file. So is a file whose machine was enrolled again (`life`): what it held of
the earlier life is discarded when it is opened, and processes that opened it before can write nothing more. A damaged file is set
aside, never repaired silently; only the daemon does that, because it holds the lock that keeps other daemons away.
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
from precast.agent.state import life as lives
from precast.agent.state.paths import STATE, make_state_directory
from precast.agent.state.schema import MIGRATIONS
from precast.base.clock import Clock, SystemClock, from_optional_micros, to_micros
from precast.base.errors import PrecastError

NAME = "state.db"
# How long a process waits for the transaction of another process.
BUSY_S = 10.0
# The file is shrunk when it has more free pages than this.
FREE_PAGES = 64

T = TypeVar("T", bound=msgspec.Struct)


class SessionState(NamedTuple):
    """The state of the session with the servers."""

    instance: str
    attempts: list[str]
    epoch: int
    received: int  # the servers' records are stored through this number
    received_at: datetime | None  # when the server made the record of that number
    facts_digest: str  # of the stable facts that the servers are known to have
    term: int  # the highest term of a database that a server has told


class NumberedRecord(Protocol):
    """The part of a server's record that the store needs."""

    @property
    def number(self) -> int: ...

    @property
    def at(self) -> datetime: ...


class LocalStore:
    """One open store file. Used by one thread."""

    def __init__(self, path: Path, connection: sqlite3.Connection, clock: Clock) -> None:
        self.path = path
        self.clock = clock
        self.life = ""  # that the rows belong to; empty before the first enrolment
        self.dropped: int | None = (
            None  # records of an earlier life that this process has discarded when it opened the store
        )
        self._connection = connection

    @classmethod
    def open(
        cls, root: Path, new_id: Callable[[], str], clock: Clock | None = None, life: str | None = None
    ) -> "LocalStore":
        """Open the store below a root, creating it if necessary, and discard what it has of an earlier life.

        Raises UnavailableError AGENT-010 to AGENT-012, ConflictError AGENT-023 if `life` is given and has ended.
        """
        path = store_path(root)
        try:
            make_state_directory(root)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise issues.NO_STORE.error(path=path, reason=getattr(error, "strerror", None) or error) from error
        store = cls(path, connection, clock or SystemClock())
        try:
            store._prepare(new_id)
            store._enter_life(root, new_id)
            if life is not None and lives.has_changed(life, store.life):
                raise issues.OTHER_LIFE.error()
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in one transaction, which is flushed to the disk or rolled back as a whole.

        Raises UnavailableError AGENT-010 to AGENT-012, ConflictError AGENT-023 if another life has begun since the store was opened.
        """
        with self._errors_translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._check_life()
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def read(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one query. Raises as `transaction` does."""
        with self._errors_translated():
            return self._connection.execute(sql, values).fetchall()

    def session_state(self) -> SessionState:
        ((instance, attempts, epoch, received, at, digest, term),) = self.read(
            "SELECT instance, attempts, epoch, received, received_at, facts_digest, term FROM session"
        )
        decoded = msgspec.json.decode(attempts, type=list[str])
        return SessionState(instance, decoded, epoch, received, from_optional_micros(at), digest, term)

    def add_attempt(self, new: str) -> list[str]:
        """Store the id of a connection attempt before the attempt is made.

        Returns the ids of all attempts since the last one that a server welcomed, newest first. None is ever forgotten, because it may be
        the one that a server has stored: when there are too many, the last one is repeated.
        """
        from precast.wire.sessions import (
            MAX_ATTEMPTS,  # only the daemon has sessions; runs should not pay for the import
        )

        with self.transaction() as db:
            ((stored,),) = db.execute("SELECT attempts FROM session").fetchall()
            attempts = msgspec.json.decode(stored, type=list[str])
            if len(attempts) < MAX_ATTEMPTS:
                attempts.insert(0, new)
                db.execute("UPDATE session SET attempts = ?", (msgspec.json.encode(attempts).decode(),))
        return attempts

    def drop_attempt(self, attempt: str) -> None:
        """Forget an attempt that a server knows as an earlier one: it must not be repeated."""
        with self.transaction() as db:
            ((stored,),) = db.execute("SELECT attempts FROM session").fetchall()
            attempts = [known for known in msgspec.json.decode(stored, type=list[str]) if known != attempt]
            db.execute("UPDATE session SET attempts = ?", (msgspec.json.encode(attempts).decode(),))

    def set_facts_digest(self, digest: str) -> None:
        """Store the digest of the stable facts that the servers have; empty if that is no longer known."""
        with self.transaction() as db:
            db.execute("UPDATE session SET facts_digest = ?", (digest,))

    def write_note(self, value: msgspec.Struct) -> None:
        """Store a note; it replaces the earlier note of its type."""
        with self.transaction() as db:
            put_note(db, value)

    def read_note(self, kind: type[T]) -> T | None:
        """Return the note of a type; None if there is none, or if another version of Precast wrote it in another form."""
        for (value,) in self.read("SELECT value FROM note WHERE name = ?", (kind.__name__,)):
            with contextlib.suppress(msgspec.MsgspecError):
                return msgspec.json.decode(value, type=kind)
        return None

    def check(self) -> None:
        """Check the whole file. Raises UnavailableError AGENT-011 if it is damaged."""
        if self.read("PRAGMA quick_check(1)") != [("ok",)]:
            raise issues.DAMAGED_STORE.error(path=self.path)

    def shrink(self) -> None:
        """Return free pages to the file system, if there are enough of them to be worth the write."""
        ((free,),) = self.read("PRAGMA freelist_count")
        if free > FREE_PAGES:
            with self._errors_translated():
                # As a script: `execute` would stop after the first page.
                self._connection.executescript("PRAGMA incremental_vacuum")

    def _prepare(self, new_id: Callable[[], str]) -> None:
        with self._errors_translated():
            # Free pages can be returned to the file system; the page cache is small, to keep an idle agent small.
            for setting in ("auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = FULL"):
                self._connection.execute(f"PRAGMA {setting}")
            # Deleted rows may have had values that are secret.
            self._connection.execute("PRAGMA secure_delete = ON")
            for setting in ("cache_size = -256", "journal_size_limit = 1048576", "temp_store = MEMORY"):
                self._connection.execute(f"PRAGMA {setting}")
        ((version,),) = self.read("PRAGMA user_version")
        if version == len(MIGRATIONS):
            return
        with self.transaction() as db:
            # Read again inside the transaction: another process may have migrated the file meanwhile.
            ((version,),) = db.execute("PRAGMA user_version").fetchall()
            if version > len(MIGRATIONS):
                raise issues.NEWER_STORE.error(path=self.path)
            for statements in MIGRATIONS[version:]:
                for statement in _split(statements):
                    db.execute(statement)
            db.execute("INSERT OR IGNORE INTO session (only, instance) VALUES (1, ?)", (new_id(),))
            db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _check_life(self) -> None:
        """Raise ConflictError AGENT-023 if another life has begun. The caller holds the write lock."""
        if not self.life:
            return
        ((life,),) = self._connection.execute("SELECT life FROM session").fetchall()
        if life != self.life:
            raise issues.OTHER_LIFE.error()

    def _enter_life(self, root: Path, new_id: Callable[[], str]) -> None:
        """Make the rows of this store those of the current life: discard those of an earlier one, with its cached files."""
        ((stored,),) = self.read("SELECT life FROM session")
        if (current := lives.read_life(root)) in ("", stored):
            self.life = stored
            return
        with lives.life_locked(root):
            current = lives.read_life(root)
            if lives.has_changed(stored, current):
                # The files first: if the machine stops in between, the store still has the old life, and this is repeated.
                lives.discard_cached_files(root)
            with self.transaction() as db:
                # Read again inside the transaction: another process may have done this meanwhile.
                ((stored,),) = db.execute("SELECT life FROM session").fetchall()
                if lives.has_changed(stored, current):
                    self.dropped = _discard_rows(db, new_id())
                db.execute("UPDATE session SET life = ?", (current,))
        self.life = current

    @contextlib.contextmanager
    def _errors_translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _translate(self.path, error) from error


def note_received(db: sqlite3.Connection, record: NumberedRecord) -> bool:
    """Note in the current transaction that a server's record is stored; False if a record of that number was stored before."""
    updated = db.execute(
        "UPDATE session SET received = ?, received_at = ? WHERE received < ?",
        (record.number, to_micros(record.at), record.number),
    )
    return bool(updated.rowcount)


def put_note(db: sqlite3.Connection, value: msgspec.Struct) -> None:
    """Store a note in the current transaction; it replaces the earlier note of its type."""
    db.execute(
        "INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)", (type(value).__name__, msgspec.json.encode(value))
    )


# What belongs to one life of the node. The lease of runs does not: its token only grows. Nor do orders whose signatures are still valid.
_OF_ONE_LIFE = (
    "record",
    "note",
    "standing_order",
    "queued_order",
    "resource_state",
    "promise",
    "subscription",
    "received_value",
    "bound_value",
    "open_report",
)


def _discard_rows(db: sqlite3.Connection, instance: str) -> int:
    """Delete the rows of an earlier life in the current transaction. Returns how many records no server had acknowledged."""
    ((dropped,),) = db.execute("SELECT count(*) FROM record WHERE acked_at IS NULL").fetchall()
    for table in _OF_ONE_LIFE:
        db.execute(f"DELETE FROM {table}")  # noqa: S608 - from the list above
    db.execute("DELETE FROM session")
    db.execute("INSERT INTO session (only, instance) VALUES (1, ?)", (instance,))
    return int(dropped)


def store_path(root: Path) -> Path:
    return root / STATE / NAME


def set_aside(path: Path, at: datetime) -> Path:
    """Rename a damaged store together with its WAL files, and return the new path. Raises UnavailableError AGENT-010."""
    damaged = path.with_name(f"{path.name}.damaged-{at:%Y%m%dT%H%M%SZ}")
    try:
        for suffix in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(damaged.with_name(damaged.name + suffix))
    except OSError as error:
        raise issues.NO_STORE.error(path=path, reason=error.strerror) from error
    return damaged


def _split(statements: str) -> Iterator[str]:
    """Split a script into statements: `executescript` would commit the transaction."""
    rest = ""
    for line in statements.splitlines():
        rest += line + "\n"
        if sqlite3.complete_statement(rest):
            yield rest
            rest = ""


def _translate(path: Path, error: sqlite3.Error) -> PrecastError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return issues.DAMAGED_STORE.error(path=path)
    return issues.NO_STORE.error(path=path, reason=error)
