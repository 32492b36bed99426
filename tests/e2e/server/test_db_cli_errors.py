"""`precast db` where the database cannot be used: one line that says why, one that says what to do, and nothing changed."""

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
    Ran,
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
    """A port of this machine that refuses connections: bound, but nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def run_all(database: str | Path, directory: Path) -> dict[str, Ran]:
    """Every command on one database; what they would write lies in the directory."""
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
def test_file_of_somebody_else_is_refused_and_stays_as_it_is(tmp_path: Path, kind: str) -> None:
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


def test_directory_is_no_database(tmp_path: Path) -> None:
    for ran in run_all(tmp_path, tmp_path).values():
        assert_refused(ran, 75, "STORE-003")
    assert names_in(tmp_path) == ["some-file"]


def test_missing_file_is_made_by_migrate_only(tmp_path: Path) -> None:
    for words in (["check"], ["work"], ["backup", tmp_path / "backup"]):
        assert_refused(run(*words, "--database", tmp_path / "missing.db"), 66, "STORE-002")
    assert names_in(tmp_path) == []


def test_file_in_a_missing_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "some-file").touch()
    place = tmp_path / "nowhere" / "precast.db"
    for words in (["migrate"], ["restore", tmp_path / "some-file"]):
        assert_refused(run(*words, "--database", place), 75, "STORE-003", "No such file or directory")
    assert_refused(run("check", "--database", place), 66, "STORE-002")


@pytest.mark.parametrize("location", ["", "directory/", "mysql://db/precast", "sqlite:a%00b"])
def test_location_that_names_nothing_is_a_mistake_of_the_caller(location: str) -> None:
    assert_refused(run("migrate", "--database", location), 64, "STORE-001", "does not name a database")


@pytest.mark.needs("unshare")
def test_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "precast.db"
    make(path)
    path.chmod(0)
    for words in (["migrate"], ["check"], ["work"]):
        ran = run(*words, "--database", path, prefix=ORDINARY)
        assert_refused(ran, 75, "STORE-003", "Permission denied")


@pytest.mark.needs("unshare")
def test_directory_that_may_not_be_entered_is_told(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(0)
    for words in (["migrate"], ["check"], ["restore", tmp_path]):
        ran = run(*words, "--database", closed / "precast.db", prefix=ORDINARY)
        assert_refused(ran, 75, "STORE-003", "Permission denied")
    closed.chmod(0o700)


@pytest.mark.needs("unshare")
def test_directory_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    fixed, source = tmp_path / "fixed", tmp_path / "precast.db"
    make(source)
    back_up(source, tmp_path / "backup")
    fixed.mkdir()
    source.rename(fixed / "precast.db")
    fixed.chmod(0o500)
    for words in (["migrate"], ["restore", tmp_path / "backup"]):
        ran = run(*words, "--database", fixed / "new.db", prefix=ORDINARY)
        assert_refused(ran, 75, "STORE-003", "Permission denied")
    # The log of an existing one has no place either.
    assert_refused(run("check", "--database", fixed / "precast.db", prefix=ORDINARY), 75, "STORE-003")
    fixed.chmod(0o700)
    assert names_in(fixed) == ["precast.db"]


@pytest.mark.needs("unshare")
def test_backup_where_one_may_not_write_is_told(tmp_path: Path) -> None:
    fixed = tmp_path / "fixed"
    fixed.mkdir(0o500)
    make(tmp_path / "precast.db")
    ran = run("backup", fixed / "backup", "--database", tmp_path / "precast.db", prefix=ORDINARY)
    assert_refused(ran, 75, "STORE-031", "Permission denied")


@pytest.mark.needs("unshare")
def test_backup_onto_a_full_disk_is_told_and_leaves_no_part(tmp_path: Path) -> None:
    disk, database = tmp_path / "disk", SqliteLocation(tmp_path / "precast.db")
    disk.mkdir()
    # Its disk is mounted for it alone and gone when it ends.
    alone = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c"]
    mount = 'mount -t tmpfs -o size=16k tmpfs "$1"'
    if subprocess.run([*alone, mount, "sh", disk], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here, not even in a namespace of one's own")
    make(database.path)
    fill(database)
    execute(database, "UPDATE stream_record SET body = randomblob(300)")
    script = f'{mount} && shift && "$@"; code=$?; ls -A "$0" >&2; exit $code'
    words = [PRECAST, "db", "backup", f"{disk}/backup", "--database", str(database.path)]
    done = subprocess.run(
        [*alone, script, str(disk), str(disk), *words], capture_output=True, check=False, env=environment()
    )
    ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert_refused(ran, 75, "STORE-031", "No space left on device")


# servers


def test_server_that_is_down_is_told(tmp_path: Path, closed_port: int) -> None:
    for where in (f"postgresql://127.0.0.1:{closed_port}/precast", f"postgresql:///precast?host={tmp_path}"):
        for words in (["migrate"], ["check"], ["restore", tmp_path / "file"]):
            ran = run(*words, "--database", where)
            assert_refused(ran, 75, "STORE-003", f"cannot open the database {where}")


def test_database_that_the_server_does_not_have_is_told(postgres: PostgresServer) -> None:
    ran = run("migrate", "--database", postgres.url("absent"))
    assert_refused(ran, 75, "STORE-003", 'database "absent" does not exist')


def test_role_that_may_not_create_tables_is_told(postgres: PostgresServer) -> None:
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


def test_database_of_a_newer_program_is_refused_and_stays_as_it_is(location: Location, tmp_path: Path) -> None:
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
            assert ran.out.startswith("refused  the database has schema 99, which needs a program of schema 99")
        elif command == "restore":
            assert_refused(ran, 64, "STORE-033")  # the file is looked at first
        else:
            assert_refused(ran, 73, "STORE-020", "schema 99")
    assert contents(location) == before
    assert not (tmp_path / "backup").exists()
