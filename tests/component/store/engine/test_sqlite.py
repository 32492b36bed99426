"""The SQLite engine by itself: modes, settings, locks of other processes, and that it leaves nothing open."""

import asyncio
import contextlib
import gc
import os
import socket
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import (
    ConflictError,
    InputError,
    InternalError,
    NotFoundError,
    PrecastError,
    UnavailableError,
)
from precast.store.engine import sqlite_errors
from precast.store.engine.interface import DatabaseFailed, TransactionFailed
from precast.store.engine.query import Query, Row, Transaction
from precast.store.engine.sqlite import APPLICATION_ID, READERS, SqliteEngine

CREATE = Query("test.create", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, parent INTEGER REFERENCES note)")
INSERT = Query("test.insert", "INSERT INTO note (id, text, parent) VALUES (:id, :text, :parent)")
COUNT = Query("test.count", "SELECT count(*) FROM note")
TEXTS = Query("test.texts", "SELECT text FROM note")
PRAGMAS = Query(
    "test.pragmas",
    """
    SELECT j.journal_mode, s.synchronous, f.foreign_keys, q.query_only
    FROM pragma_journal_mode j, pragma_synchronous s, pragma_foreign_keys f, pragma_query_only q
    """,
)


def create() -> Transaction[None]:
    yield CREATE()


def insert(number: int, text: str = "x", parent: int | None = None) -> Transaction[None]:
    yield INSERT(id=number, text=text, parent=parent)


def count() -> Transaction[int]:
    ((number,),) = yield COUNT()
    return int(number)


def pragmas() -> Transaction[Row]:
    (row,) = yield PRAGMAS()
    return row


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.db"


@pytest.fixture
async def engine(path: Path) -> AsyncIterator[SqliteEngine]:
    opened = await SqliteEngine.open(path, may_create=True)
    await opened.transact([create])
    yield opened
    await opened.close()


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Another connection holds the write lock, as another process would: SQLite does not distinguish the two."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def open_files(path: Path) -> list[str]:
    """List the files of a database that this process has open."""
    names = []
    for handle in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            names.append(str(handle.readlink()))
    return [name for name in names if name.startswith(str(path))]


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("precast-")]


async def test_new_file_is_private_whatever_the_umask(no_umask: None, path: Path) -> None:
    engine = await SqliteEngine.open(path, may_create=True)
    await engine.transact([create])
    modes = {item.name: item.stat().st_mode & 0o777 for item in path.parent.iterdir()}
    await engine.close()
    assert modes == {"test.db": 0o600, "test.db-wal": 0o600, "test.db-shm": 0o600}


async def test_settings_of_writer_and_readers_are_durable(engine: SqliteEngine) -> None:
    (done,) = await engine.transact([pragmas])
    assert done.value == ("wal", 2, 1, 0)
    assert await engine.read(pragmas) == ("wal", 2, 1, 1)


async def test_immediate_read_sees_the_last_commit_beside_a_writer_and_cannot_write(
    engine: SqliteEngine, path: Path
) -> None:
    await engine.transact([lambda: insert(1)])
    with locked(path) as other:
        other.execute("INSERT INTO note (id, text) VALUES (2, 'y')")
        assert engine.read_immediately(COUNT()) == [(1,)]
        other.execute("COMMIT")
    assert engine.read_immediately(COUNT()) == [(2,)]
    with pytest.raises(PrecastError):
        engine.read_immediately(INSERT(id=3, parent=None, text="z"))
    assert engine.read_immediately(COUNT()) == [(2,)]


async def test_closed_engine_reads_nothing_immediately_and_holds_no_file(path: Path) -> None:
    engine = await SqliteEngine.open(path, may_create=True)
    await engine.transact([create])
    assert engine.read_immediately(COUNT()) == [(0,)]
    await engine.close()
    assert engine.read_immediately(COUNT()) is None
    assert open_files(path) == []


async def test_missing_parent_is_a_conflict(engine: SqliteEngine) -> None:
    with pytest.raises(TransactionFailed) as caught:
        await engine.transact([lambda: insert(1, parent=2)])
    assert isinstance(caught.value.__cause__, ConflictError)
    assert await engine.read(count) == 0


async def test_write_while_another_process_holds_the_lock_fails_after_the_wait(
    engine: SqliteEngine, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_errors, "BUSY_S", 0.05)
    other = await SqliteEngine.open(path, may_create=False)
    with locked(path):
        with pytest.raises(DatabaseFailed) as caught:
            await other.transact([lambda: insert(1)])
        assert caught.value.error.code == "STORE-005"
        assert "0.05 s" in caught.value.error.message
    await other.transact([lambda: insert(1)])
    assert await other.read(count) == 1
    await other.close()


async def test_write_waits_for_a_lock_that_is_released_in_time(engine: SqliteEngine, path: Path) -> None:
    with locked(path) as other:
        writing = asyncio.create_task(engine.transact([lambda: insert(1)]))
        with contextlib.suppress(TimeoutError):  # long enough for several looks at the lock
            await asyncio.wait_for(asyncio.shield(writing), 0.5)
        assert not writing.done()
        other.execute("COMMIT")
        await writing
    assert await engine.read(count) == 1


async def test_read_proceeds_while_another_process_holds_the_lock(engine: SqliteEngine, path: Path) -> None:
    with locked(path) as other:
        other.execute("INSERT INTO note (id) VALUES (1)")
        assert await engine.read(count) == 0
        other.execute("COMMIT")
    assert await engine.read(count) == 1


async def test_close_leaves_no_file_and_no_thread(path: Path) -> None:
    engine = await SqliteEngine.open(path, may_create=True)
    await engine.transact([create])
    await asyncio.gather(*(engine.read(count) for _ in range(2 * READERS)))
    assert open_files(path)
    assert our_threads()
    await engine.close()
    assert open_files(path) == []
    assert our_threads() == []
    assert [item.name for item in path.parent.iterdir()] == ["test.db"]


async def test_close_after_a_cancelled_read_waits_for_it_and_leaves_nothing(engine: SqliteEngine, path: Path) -> None:
    loop = asyncio.get_running_loop()
    has_begun, may_end = asyncio.Event(), threading.Event()

    def read_slowly() -> Transaction[int]:
        number = yield from count()
        loop.call_soon_threadsafe(has_begun.set)
        assert may_end.wait(30)
        return number

    reading = asyncio.create_task(engine.read(read_slowly))
    await has_begun.wait()
    reading.cancel()
    closing = asyncio.create_task(engine.close())
    await asyncio.wait([reading])
    may_end.set()
    await closing
    assert open_files(path) == []
    assert our_threads() == []


async def test_close_does_not_wait_for_the_lock_of_another_process(engine: SqliteEngine, path: Path) -> None:
    """A write whose caller was cancelled, as after Ctrl-C, gives up when the engine is closed."""
    with locked(path):
        writing = asyncio.create_task(engine.transact([lambda: insert(1)]))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(writing, 0.05)
        async with asyncio.timeout(sqlite_errors.BUSY_S / 2):
            await engine.close()
    assert our_threads() == []


async def test_open_of_a_file_that_is_open_here_keeps_its_locks(engine: SqliteEngine, path: Path) -> None:
    """If the lock were lost, another process would believe that it is the last user, and remove the log."""
    again = await SqliteEngine.open(path, may_create=True)
    visit = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM note'); c.close()"
    visitor = await asyncio.create_subprocess_exec(sys.executable, "-c", visit, path)
    assert await visitor.wait() == 0
    assert Path(f"{path}-wal").exists()
    await again.close()


@pytest.mark.parametrize("content", [b"this is a text, and long enough to be read as one\n" * 100, b"short"])
async def test_open_of_a_text_file_is_refused_and_changes_nothing(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for may_create in (False, True):
        with pytest.raises(ConflictError) as caught:
            await SqliteEngine.open(path, may_create=may_create)
        assert caught.value.code == "STORE-004"
    del caught
    gc.collect()
    assert path.read_bytes() == content
    assert open_files(path) == []


@pytest.mark.parametrize("statement", ["CREATE TABLE theirs (x)", "PRAGMA application_id = 7"])
async def test_open_of_a_foreign_database_is_refused_and_changes_nothing(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as theirs:
        theirs.execute(statement)
    before = path.read_bytes()
    with pytest.raises(ConflictError) as caught:
        await SqliteEngine.open(path, may_create=True)
    assert caught.value.code == "STORE-004"
    assert path.read_bytes() == before
    assert open_files(path) == []


class Meddled:
    """A connection between whose statements another process creates the database."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def execute(self, sql: str) -> sqlite3.Cursor:
        cursor = self._connection.execute(sql)
        if "application_id" in sql:
            rows = cursor.fetchall()
            other = sqlite3.connect(self._path, isolation_level=None, timeout=0)
            # A reader in a transaction blocks it.
            with contextlib.closing(other), contextlib.suppress(sqlite3.OperationalError):
                other.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                other.execute("CREATE TABLE ours (x)")
            return self._connection.execute(f"SELECT {rows[0][0]}") if rows else cursor
        return cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_open_while_another_process_creates_the_database_succeeds(path: Path) -> None:
    engine = SqliteEngine(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        engine._refuse_foreign_file(Meddled(connection, path))  # type: ignore[arg-type]
        assert not connection.in_transaction
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


async def test_open_of_a_missing_file_is_not_found(path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        await SqliteEngine.open(path, may_create=False)
    assert caught.value.code == "STORE-002"
    assert not path.exists()


@pytest.mark.parametrize("may_create", [False, True])
@pytest.mark.parametrize("name", ["x" * 300, "file/below", "directory", "socket"])
async def test_open_of_an_impossible_path_is_refused(tmp_path: Path, name: str, may_create: bool) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "directory").mkdir()
    with contextlib.chdir(tmp_path), socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises((UnavailableError, NotFoundError)) as caught:
            await SqliteEngine.open(tmp_path / name, may_create=may_create)
    assert caught.value.code == ("STORE-002" if (name, may_create) == ("file/below", False) else "STORE-003")


async def test_open_of_a_pipe_is_refused_without_waiting(path: Path) -> None:
    os.mkfifo(path)
    for may_create in (False, True):
        with pytest.raises(UnavailableError, match="not a regular file") as caught:
            await SqliteEngine.open(path, may_create=may_create)
        assert caught.value.code == "STORE-003"


async def test_open_with_a_too_old_library_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 9))
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.36.9")
    with pytest.raises(InputError) as caught:
        await SqliteEngine.open(path, may_create=True)
    assert caught.value.code == "STORE-014"
    assert "3.36.9" in caught.value.message
    assert "3.37.0" in caught.value.hint
    assert not path.exists()


async def test_read_that_cannot_open_its_connection_raises_unavailable(
    engine: SqliteEngine, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **options: object) -> None:
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", refuse)
        with pytest.raises(UnavailableError) as caught:
            await engine.read(count)
    assert caught.value.code == "STORE-003"
    assert await engine.read(count) == 0


@pytest.mark.parametrize("text", ["lone \udcff surrogate", 2**70])
async def test_value_that_sqlite_cannot_store_is_an_internal_error(engine: SqliteEngine, text: Any) -> None:
    with pytest.raises(TransactionFailed) as caught:
        await engine.transact([lambda: insert(1, text=text)])
    assert isinstance(caught.value.__cause__, InternalError)
    assert "test.insert" in caught.value.__cause__.message
    assert await engine.read(count) == 0


async def test_text_that_is_not_utf8_is_reported_as_damage(engine: SqliteEngine, path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("INSERT INTO note (id, text) VALUES (1, CAST(x'ff' AS TEXT))")

    def texts() -> Transaction[int]:
        return len((yield TEXTS()))

    with pytest.raises(UnavailableError) as caught:
        await engine.read(texts)
    assert caught.value.code == "STORE-010"
