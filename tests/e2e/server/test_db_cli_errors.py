"""`precast db` with an unusable database: one line with the error, one with a hint, and no change."""

import contextlib
import os
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.postgres import PostgresServer
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from tests.e2e.precast_command import (
    ORDINARY,
    PRECAST,
    CommandResult,
    address,
    assert_refused,
    back_up,
    contents,
    environment,
    execute,
    fill,
    make,
    names_in,
    run,
)

SECRET = "s3cret"


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that refuses connections: it is bound, but not listened on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def run_all(database: str | Path, directory: Path) -> dict[str, CommandResult]:
    """Run every command on one database; they write into the directory."""
    (directory / "some-file").touch()
    return {
        "migrate": run("migrate", "--database", database),
        "check": run("check", "--database", database),
        "work": run("work", "--database", database),
        "backup": run("backup", directory / "backup", "--database", database),
        "restore": run("restore", directory / "some-file", "--database", database),
    }


# files


@pytest.mark.parametrize("kind", ["text", "foreign"])
def test_foreign_file_is_refused_and_unchanged(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "theirs"
    if kind == "text":
        path.write_text("Dear diary\n" * 1000)
    else:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as theirs:
            theirs.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    for ran in run_all(path, tmp_path).values():
        assert_refused(ran, 73, "STORE-004", f"{path} is not a Precast database")
    assert path.read_bytes() == before
    assert names_in(tmp_path) == ["some-file", "theirs"]


def test_directory_is_refused(tmp_path: Path) -> None:
    for ran in run_all(tmp_path, tmp_path).values():
        assert_refused(ran, 75, "STORE-003")
    assert names_in(tmp_path) == ["some-file"]


def test_missing_file_is_created_only_by_migrate(tmp_path: Path) -> None:
    for words in (["check"], ["work"], ["backup", tmp_path / "backup"]):
        assert_refused(run(*words, "--database", tmp_path / "missing.db"), 66, "STORE-002")
    assert names_in(tmp_path) == []


def test_file_in_a_missing_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "some-file").touch()
    path = tmp_path / "nowhere" / "precast.db"
    for words in (["migrate"], ["restore", tmp_path / "some-file"]):
        assert_refused(run(*words, "--database", path), 75, "STORE-003", "No such file or directory")
    assert_refused(run("check", "--database", path), 66, "STORE-002")


@pytest.mark.parametrize("location", ["", "directory/", "mysql://db/precast", "sqlite:a%00b"])
def test_invalid_location_is_a_usage_error(location: str) -> None:
    assert_refused(run("migrate", "--database", location), 64, "STORE-001", "does not name a database")


@pytest.mark.needs("unshare")
def test_unreadable_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "precast.db"
    make(path)
    path.chmod(0)
    for words in (["migrate"], ["check"], ["work"]):
        ran = run(*words, "--database", path, prefix=ORDINARY)
        assert_refused(ran, 75, "STORE-003", "Permission denied")


@pytest.mark.needs("unshare")
def test_inaccessible_directory_is_reported(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(0)
    for words in (["migrate"], ["check"], ["restore", tmp_path]):
        ran = run(*words, "--database", closed / "precast.db", prefix=ORDINARY)
        assert_refused(ran, 75, "STORE-003", "Permission denied")
    closed.chmod(0o700)


@pytest.mark.needs("unshare")
def test_unwritable_directory_is_reported(tmp_path: Path) -> None:
    fixed, source = tmp_path / "fixed", tmp_path / "precast.db"
    make(source)
    back_up(source, tmp_path / "backup")
    fixed.mkdir()
    source.rename(fixed / "precast.db")
    fixed.chmod(0o500)
    for words in (["migrate"], ["restore", tmp_path / "backup"]):
        ran = run(*words, "--database", fixed / "new.db", prefix=ORDINARY)
        assert_refused(ran, 75, "STORE-003", "Permission denied")
    # The log of an existing database cannot be written either.
    assert_refused(run("check", "--database", fixed / "precast.db", prefix=ORDINARY), 75, "STORE-003")
    fixed.chmod(0o700)
    assert names_in(fixed) == ["precast.db"]


@pytest.mark.needs("unshare")
def test_backup_into_an_unwritable_directory_is_reported(tmp_path: Path) -> None:
    fixed = tmp_path / "fixed"
    fixed.mkdir(0o500)
    make(tmp_path / "precast.db")
    ran = run("backup", fixed / "backup", "--database", tmp_path / "precast.db", prefix=ORDINARY)
    assert_refused(ran, 75, "STORE-031", "Permission denied")


@pytest.mark.needs("unshare")
def test_backup_onto_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    disk, database = tmp_path / "disk", SqliteLocation(tmp_path / "precast.db")
    disk.mkdir()
    # The disk is mounted in a namespace of its own and disappears with the command.
    alone = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c"]
    mount = 'mount -t tmpfs -o size=16k tmpfs "$1"'
    if subprocess.run([*alone, mount, "sh", disk], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here, not even in a namespace")
    make(database.path)
    fill(database)
    execute(database, "UPDATE stream_record SET body = randomblob(300)")
    script = f'{mount} && shift && "$@"; code=$?; ls -A "$0" >&2; exit $code'
    words = [PRECAST, "db", "backup", f"{disk}/backup", "--database", str(database.path)]
    done = subprocess.run(
        [*alone, script, str(disk), str(disk), *words], capture_output=True, check=False, env=environment()
    )
    ran = CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert_refused(ran, 75, "STORE-031", "No space left on device")


@pytest.mark.needs("unshare")
def test_restore_onto_a_full_disk_is_reported_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    disk, source = tmp_path / "disk", SqliteLocation(tmp_path / "precast.db")
    disk.mkdir()
    alone = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c"]
    mount = 'mount -t tmpfs -o size=2m tmpfs "$1"'
    if subprocess.run([*alone, mount, "sh", disk], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here, not even in a namespace")
    make(source.path)
    fill(source)
    execute(source, "UPDATE stream_record SET body = randomblob(30000)")
    back_up(source.path, tmp_path / "backup")
    script = f'{mount} && shift && "$@"; code=$?; ls -A "$0" >&2; exit $code'
    words = [PRECAST, "db", "restore", str(tmp_path / "backup"), "--database", f"{disk}/precast.db"]
    done = subprocess.run(
        [*alone, script, str(disk), str(disk), *words], capture_output=True, check=False, env=environment()
    )
    assert_refused(CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode()), 75, "STORE-006")


# servers


def test_unreachable_server_is_reported(tmp_path: Path, closed_port: int) -> None:
    for url in (f"postgresql://127.0.0.1:{closed_port}/precast", f"postgresql:///precast?host={tmp_path}"):
        for words in (["migrate"], ["check"], ["restore", tmp_path / "file"]):
            ran = run(*words, "--database", url)
            assert_refused(ran, 75, "STORE-003", f"cannot open the database {url}")


def test_missing_database_of_a_server_is_reported(postgres: PostgresServer) -> None:
    ran = run("migrate", "--database", postgres.url("absent"))
    assert_refused(ran, 75, "STORE-003", 'database "absent" does not exist')


def test_role_without_create_privilege_is_reported(postgres: PostgresServer) -> None:
    name = postgres.create_database()
    owner = PostgresLocation(postgres.url(name))
    execute(owner, "CREATE ROLE guest LOGIN")
    execute(owner, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    ran = run("migrate", "--database", owner.url.replace("precast@", "guest@"))
    execute(owner, "DROP ROLE guest")
    postgres.drop_database(name)
    assert_refused(ran, 75, "STORE-003", "permission denied for schema public")


@pytest.mark.parametrize(
    "form",
    [
        "postgresql://me:{secret}@127.0.0.1:{port}/precast",
        "postgresql://127.0.0.1:{port}/precast?user=me&password={secret}",
        "postgresql://127.0.0.1:{port}/precast?passwrod={secret}",
        "postgresql://127.0.0.1:{port}/precast?password={secret}&sslmode=nonsense",
        "postgresql://me:{secret}/x@127.0.0.1:{port}/precast",
        "postgresql://me:{secret}@127.0.0.1:{port}x/precast",
        "postgresql:me:{secret}@127.0.0.1/precast",
        "host=127.0.0.1 port={port} password={secret}",
        "mysql://me:{secret}@127.0.0.1/precast",
    ],
)
def test_password_is_never_printed(form: str, closed_port: int, tmp_path: Path) -> None:
    location = form.format(secret=SECRET, port=closed_port)
    for ran in (
        run("check", "--database", location),
        run("restore", tmp_path / "file", env={"PRECAST_DATABASE": location, "PRECAST_DEBUG": "1"}),
    ):
        assert ran.code in (64, 75)
        assert SECRET not in ran.out + ran.err
        assert "precast: error: " in ran.err


# a newer database


def test_database_of_a_newer_version_is_refused_and_unchanged(location: Location, tmp_path: Path) -> None:
    fill(location)
    execute(
        location,
        "INSERT INTO schema_migration (number, name, runs_with, expanded_at) VALUES (99, 'far away', 99, 0)",
    )
    before = contents(location)
    assert before["schema_migration"][-1] == (99, "far away", 99)
    for command, ran in run_all(address(location), tmp_path).items():
        if command == "check":
            assert (ran.code, ran.err) == (1, "")
            assert ran.out.startswith("refused  the database has schema 99, which needs a program with schema 99")
        elif command == "restore":
            assert_refused(ran, 64, "STORE-033")  # the backup file is checked first
        else:
            assert_refused(ran, 73, "STORE-020", "schema 99")
    assert contents(location) == before
    assert not (tmp_path / "backup").exists()
