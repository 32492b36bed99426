"""SQLite: one writer thread with group commit, and reader threads beside it.

WAL lets readers go on while the writer writes; `synchronous=FULL` flushes the log at every commit, so an acknowledged write is
on the disk. Every connection belongs to one thread at a time: the writer's to the writer thread, a reader's to the thread that took it
from the list of idle ones. Other processes may use the same file; a writer waits for their lock up to ten seconds.
"""

import asyncio
import contextlib
import errno
import hashlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from precast.store import issues
from precast.store.engine import sqlite_errors
from precast.store.engine.interface import (
    DatabaseFailed,
    TransactionFactory,
    TransactionFailed,
    TransactionResult,
    TransactionStepper,
)
from precast.store.engine.query import Computation, Dialect, ManyRows, Rows, Statement

T = TypeVar("T")
# Runs a computation that a transaction needs, and returns its value.
Compute = Callable[[Callable[[], Any]], Any]

READERS = 4
NEEDED_VERSION = (3, 37, 0)  # STRICT tables
APPLICATION_ID = 0x50434153  # "PCAS", so that `file` and we know the file as ours
WAL_LIMIT_BYTES = 64 * 1024 * 1024
# The pages that a group changes should fit into the cache: a page that is evicted early is written a second time at the commit.
WRITER_CACHE_KB = 16 * 1024
# How long the log grows before a checkpoint: pages that many groups change are then written to the file once.
CHECKPOINT_PAGES = 4_000
# A writer polls the lock of other processes in steps of this length: SQLite's own steps grow to 100 ms, in which the lock may be free.
BUSY_STEP_S = 0.001
# While the writer thread waits for a computation, it checks this often whether the engine is being closed.
CLOSING_STEP_S = 0.2


def _sha256_hex(text: str) -> str:
    """For statements; PostgreSQL has a function of its own."""
    return hashlib.sha256(text.encode()).hexdigest()


def compute_here(work: Callable[[], Any]) -> Any:
    return work()


class SqliteEngine:
    """One open database file. Reads beyond `READERS` at the same time wait for a connection; each is short."""

    dialect = Dialect.SQLITE
    # A page that many writers of a group change is written once: under load, larger groups save a quarter of all work.
    gather_s = 0.002

    def __init__(self, path: Path) -> None:
        self._path = path
        self.location = str(path)
        self._writer: sqlite3.Connection | None = None
        self._readers: list[sqlite3.Connection] = []
        self._immediate_reader: sqlite3.Connection | None = None
        self._free_reader = asyncio.Semaphore(READERS)
        self._is_closing = threading.Event()
        self._writer_thread = ThreadPoolExecutor(1, thread_name_prefix="precast-writer")
        self._reader_threads = ThreadPoolExecutor(READERS, thread_name_prefix="precast-reader")

    @classmethod
    async def open(cls, path: Path, *, may_create: bool) -> "SqliteEngine":
        """Open the file, creating it (0600) if allowed.

        Raises NotFoundError STORE-002, ConflictError STORE-004 for a foreign file, UnavailableError STORE-003.
        """
        if sqlite3.sqlite_version_info < NEEDED_VERSION:
            needed = ".".join(map(str, NEEDED_VERSION))
            raise issues.TOO_OLD_ENGINE.error(engine="SQLite", version=sqlite3.sqlite_version, needed=needed)
        engine = cls(path)
        try:
            await engine._run_in(engine._writer_thread, engine._prepare, may_create)
        except BaseException:
            await engine.close()
            raise
        return engine

    async def transact(self, factories: Sequence[TransactionFactory]) -> list[TransactionResult]:
        compute = partial(self._compute_in_loop, asyncio.get_running_loop())
        return await self._run_in(self._writer_thread, self._transact, factories, compute)

    async def read(self, factory: TransactionFactory) -> Any:
        async with self._free_reader:
            return await self._run_in(self._reader_threads, self._read, factory)

    def read_immediately(self, statement: Statement) -> Rows | None:
        # Rows by their key are a few pages, nearly always in memory: switching to a thread takes longer than reading them. This never
        # blocks: if the file is locked, while its log is being recovered, the caller reads in a thread instead.
        if self._is_closing.is_set():
            return None
        try:
            if self._immediate_reader is None:
                self._immediate_reader = self._connect_reader(busy_s=0.0)
            # A single statement is its own snapshot.
            return self._execute(self._immediate_reader, statement)
        except DatabaseFailed as failure:
            if issues.BUSY.matches(failure.error):
                return None
            raise failure.error from failure

    async def close(self) -> None:
        """Release everything. This waits for work whose caller was cancelled, but not for locks of other processes."""
        self._is_closing.set()
        await asyncio.to_thread(self._shut_down)

    async def _run_in(self, threads: ThreadPoolExecutor, call: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, call, *args)

    # The methods below run in a thread of ours.

    def _shut_down(self) -> None:
        # Threads first: one that is still busy has taken a connection and puts it back.
        self._writer_thread.shutdown()
        self._reader_threads.shutdown()
        for connection in (self._writer, self._immediate_reader, *self._readers):
            if connection is not None:
                connection.close()
        self._writer = self._immediate_reader = None
        self._readers.clear()

    def _prepare(self, may_create: bool) -> None:
        try:
            self._find_or_create(may_create)
            self._writer = self._connect()
            self._refuse_foreign_file(self._writer)
            # The mode is stored in the file: reading it first avoids the lock that setting it takes.
            if self._writer.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                self._writer.execute("PRAGMA journal_mode = WAL")
            (mode,) = self._writer.execute("PRAGMA journal_mode").fetchone()
            self._writer.execute(f"PRAGMA busy_timeout = {min(BUSY_STEP_S, sqlite_errors.BUSY_S) * 1000:.0f}")
        except sqlite3.Error as error:
            raise sqlite_errors.translate_open_error(error, self._path) from error
        except OSError as error:
            raise issues.CANNOT_OPEN.error(location=self._path, reason=error.strerror) from error
        if mode != "wal":
            raise issues.CANNOT_OPEN.error(
                location=self._path, reason="its file system does not support a write-ahead log"
            )

    def _find_or_create(self, may_create: bool) -> None:
        """Find the file or create it; SQLite reports anything but a regular file as a failing disk."""
        try:
            is_file = stat.S_ISREG(self._path.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            if not may_create:
                raise issues.NO_DATABASE.error(location=self._path) from None
            # Private from the start; the log and its index inherit the mode of the file. An existing file is not opened
            # here: closing it would drop every POSIX lock that this process has on it.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            return
        if not is_file:
            raise issues.CANNOT_OPEN.error(location=self._path, reason="it is not a regular file")
        if not os.access(self._path, os.R_OK, effective_ids=True):
            raise issues.CANNOT_OPEN.error(location=self._path, reason=os.strerror(errno.EACCES))

    def _connect(self, *, is_reader: bool = False, busy_s: float = sqlite_errors.BUSY_S) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=busy_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}")
            if is_reader:
                connection.execute("PRAGMA query_only = ON")
            else:
                connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KB}")
                connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.create_function("sha256_hex", 1, _sha256_hex, deterministic=True)
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_foreign_file(self, connection: sqlite3.Connection) -> None:
        # On one snapshot: another process may be creating this very database.
        connection.execute("BEGIN")
        try:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            self._roll_back(connection)
        if application == APPLICATION_ID:
            return
        if application or tables:
            raise issues.NOT_OURS.error(location=self._path)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _transact(self, factories: Sequence[TransactionFactory], compute: Compute) -> list[TransactionResult]:
        connection = self._writer
        assert connection is not None, "open() has prepared the writer"
        results: list[TransactionResult] = []
        try:
            self._begin(connection)
            for index, factory in enumerate(factories):
                try:
                    results.append(self._run(connection, factory, compute))
                except DatabaseFailed:
                    raise
                except Exception as error:
                    raise TransactionFailed(index) from error
            self._commit(connection)
        except BaseException:
            self._roll_back(connection)
            raise
        return results

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Acquire the write lock; wait for other processes up to `BUSY_S`."""
        deadline_s = time.monotonic() + sqlite_errors.BUSY_S
        while True:
            try:
                return self._command(connection, "BEGIN IMMEDIATE")
            except DatabaseFailed as failure:
                is_over = time.monotonic() > deadline_s or self._is_closing.is_set()
                if is_over or not issues.BUSY.matches(failure.error):
                    raise

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise DatabaseFailed(sqlite_errors.translate_commit_error(error, self._path)) from error

    def _read(self, factory: TransactionFactory) -> Any:
        try:
            connection = self._readers.pop() if self._readers else self._connect_reader()
            try:
                self._command(connection, "BEGIN")
                return self._run(connection, factory).value
            finally:
                self._roll_back(connection)
                self._readers.append(connection)
        except DatabaseFailed as failure:
            raise failure.error from failure

    def _connect_reader(self, busy_s: float = sqlite_errors.BUSY_S) -> sqlite3.Connection:
        try:
            return self._connect(is_reader=True, busy_s=busy_s)
        except sqlite3.Error as error:
            raise DatabaseFailed(sqlite_errors.translate(error, self._path, "opening")) from error

    def _compute_in_loop(self, loop: asyncio.AbstractEventLoop, work: Callable[[], Any]) -> Any:
        """Run a computation on the event loop and wait for its value."""
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001 - the writer thread raises it
                future.set_exception(error)

        loop.call_soon_threadsafe(run)
        while not future.done():
            if self._is_closing.is_set():
                raise issues.CLOSED.error()
            wait([future], CLOSING_STEP_S)
        return future.result()

    def _run(
        self, connection: sqlite3.Connection, factory: TransactionFactory, compute: Compute = compute_here
    ) -> TransactionResult:
        stepper = TransactionStepper(factory())
        step = stepper.first()
        while step is not None:
            step = stepper.next(
                compute(step.work) if isinstance(step, Computation) else self._execute(connection, step)
            )
        assert stepper.result is not None, "a transaction without a next step has ended"
        return stepper.result

    def _execute(self, connection: sqlite3.Connection, statement: Statement | ManyRows) -> Rows:
        try:
            if isinstance(statement, Statement):
                return connection.execute(statement.query.sqlite, statement.values).fetchall()
            if not statement.query.multi_row_sql:
                connection.executemany(statement.query.numbered, statement.rows)
                return ()
            before = connection.total_changes
            rows = [
                row for text, values in statement.multi_row_statements() for row in connection.execute(text, values)
            ]
            return [(connection.total_changes - before,)] if statement.is_counted else rows
        except sqlite3.Error as error:
            raise sqlite_errors.translate_statement_error(error, self._path, statement.query.name) from error
        except (UnicodeEncodeError, OverflowError) as error:  # a value that SQLite cannot store
            raise issues.FAILED.error(query=statement.query.name, reason=error) from error

    def _command(self, connection: sqlite3.Connection, command: str) -> None:
        try:
            connection.execute(command)
        except sqlite3.Error as error:
            raise DatabaseFailed(sqlite_errors.translate(error, self._path, command)) from error

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        # SQLite rolls back by itself after some errors. Where the disk fails, ROLLBACK may fail too, and the next
        # BEGIN reports it.
        if connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
