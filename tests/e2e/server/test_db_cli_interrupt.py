"""Ctrl-C: the command ends at once with 130, prints nothing, and leaves nothing incomplete."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from precast.store.engine import sqlite_errors
from precast.store.engine.location import PostgresLocation, SqliteLocation
from tests.e2e.precast_command import assert_fine, back_up, fill, finish, make, names_in, run, start

# Much less than any timeout for a lock or a response, much more than a busy machine needs to end a process.
SOON_S = sqlite_errors.BUSY_S / 2
WAITING = (
    "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = $1)"
)


def interrupt(process: "subprocess.Popen[str]") -> None:
    """Send Ctrl-C; the command must end soon, with 130 and without output."""
    process.send_signal(signal.SIGINT)
    interrupted_s = time.monotonic()
    ran = finish(process)
    assert (ran.code, ran.out, ran.err) == (130, "", "")
    assert time.monotonic() - interrupted_s < SOON_S


def wait_until(is_reached: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    """Poll until the process has reached a state."""
    end_s = time.monotonic() + 30
    while not is_reached():
        assert process.poll() is None, finish(process)
        assert time.monotonic() < end_s, "the command never reached the state"
        time.sleep(0.01)


def has_open(process: "subprocess.Popen[str]", path: Path) -> bool:
    open_files = []
    with contextlib.suppress(OSError):
        for handle in Path(f"/proc/{process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                open_files.append(str(handle.readlink()))
    return str(path) in open_files


@pytest.fixture
def migrated(tmp_path: Path) -> Path:
    path = tmp_path / "precast.db"
    make(path)
    return path


def test_interrupt_while_another_process_locks_the_file_ends_at_once(migrated: Path) -> None:
    with contextlib.closing(sqlite3.connect(migrated, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        process = start("migrate", "--database", migrated)
        wait_until(lambda: has_open(process, Path(f"{migrated}-shm")), process)
        interrupt(process)
        other.execute("COMMIT")
    assert_fine(run("check", "--database", migrated))


@contextlib.contextmanager
def locked(location: PostgresLocation, lock: str) -> Iterator[Callable[[], bool]]:
    """Hold a lock in PostgreSQL; yields a function that tells whether a transaction waits for a lock."""
    name = location.url.partition("?")[0].rpartition("/")[2]
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(location.url))
        runner.run(connection.execute(f"BEGIN; {lock}"))
        yield lambda: bool(runner.run(connection.fetchval(WAITING, name)))
        runner.run(connection.close())


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_interrupt_while_another_process_migrates_ends_at_once(location: PostgresLocation) -> None:
    with locked(location, "SELECT pg_advisory_xact_lock(5791290347)") as is_waiting:
        process = start("migrate", "--database", location.url)
        wait_until(is_waiting, process)
        interrupt(process)
    assert_fine(run("check", "--database", location.url))


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_interrupt_of_a_backup_leaves_no_part_of_it(location: PostgresLocation, tmp_path: Path) -> None:
    with locked(location, "LOCK TABLE stream_record IN ACCESS EXCLUSIVE MODE") as is_waiting:
        process = start("backup", tmp_path / "backup", "--database", location.url)
        wait_until(is_waiting, process)
        assert len(names_in(tmp_path)) == 1
        interrupt(process)
    assert names_in(tmp_path) == []


def test_interrupt_of_a_restore_leaves_no_database(migrated: Path, tmp_path: Path) -> None:
    fill(SqliteLocation(migrated))
    back_up(migrated, tmp_path / "backup")
    os.mkfifo(tmp_path / "pipe")
    process = start("restore", tmp_path / "pipe", "--database", tmp_path / "new.db")
    # Opening a pipe waits for its reader: from here on the restore is reading, and blocked.
    with (tmp_path / "pipe").open("wb", buffering=0) as pipe:
        pipe.write((tmp_path / "backup").read_bytes()[:100])
        process.send_signal(signal.SIGINT)
    ran = finish(process)
    assert (ran.code, ran.out, ran.err) == (130, "", "")
    assert names_in(tmp_path) == ["backup", "pipe", "precast.db"]
