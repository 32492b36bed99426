"""`precast db` from the command line, on both databases: migrate, check, backup, restore, work."""

import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.postgres import PostgresServer
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.schema.migrations.all import MIGRATIONS
from tests.e2e.precast_command import (
    COUNTS,
    PRECAST,
    address,
    assert_fine,
    assert_refused,
    back_up,
    contents,
    environment,
    execute,
    fill,
    finish,
    make,
    names_in,
    run,
    start,
)

ALL = [migration.number for migration in MIGRATIONS]
NEWEST = ALL[-1]


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Location]:
    """A second location of either kind: a file that does not exist yet, or a database without tables."""
    if request.param == "sqlite":
        yield SqliteLocation(tmp_path / "target.db")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create_database()
    yield PostgresLocation(server.url(name))
    server.drop_database(name)


@pytest.fixture(scope="module")
def whole_backup(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A filled SQLite database, and its backup."""
    directory = tmp_path_factory.mktemp("whole")
    source = make(directory / "source.db")
    fill(SqliteLocation(source))
    back_up(source, directory / "backup")
    return source, (directory / "backup").read_bytes()


# migrate


def test_migrate_of_a_new_database_creates_the_schema_once(empty_location: Location) -> None:
    database = address(empty_location)
    first = run("migrate", "--database", database)
    assert_fine(first)
    assert first.out == "".join(
        f"expanded to schema {migration.number}: {migration.name}\n" for migration in MIGRATIONS
    )
    again = run("migrate", "--database", database)
    assert_fine(again)
    assert again.out == f"nothing to do: {empty_location} has schema {NEWEST}\n"


def test_migrate_with_json_prints_the_same(empty_location: Location) -> None:
    database = address(empty_location)
    first, again = (run("migrate", "--json", "--contract", "--database", database) for _ in range(2))
    assert json.loads(first.out) == {"schema": NEWEST, "expanded": ALL, "contracted": []}
    assert json.loads(again.out) == {"schema": NEWEST, "expanded": [], "contracted": []}


def test_concurrent_migrations_are_applied_once(empty_location: Location) -> None:
    database = address(empty_location)
    results = [finish(process) for process in [start("migrate", "--json", "--database", database) for _ in range(2)]]
    for result in results:
        assert_fine(result)
    assert sorted(json.loads(result.out)["expanded"] for result in results) == [[], ALL]


def test_migrate_creates_a_private_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert_fine(run("migrate", "--database", tmp_path / "new.db"))
    finally:
        os.umask(before)
    assert names_in(tmp_path) == ["new.db"]
    assert (tmp_path / "new.db").stat().st_mode & 0o777 == 0o600


def test_database_comes_from_the_environment_unless_a_flag_names_it(tmp_path: Path) -> None:
    variables = {"PRECAST_DATABASE": f"sqlite:///{tmp_path.relative_to('/')}/environment.db"}
    assert_fine(run("migrate", env=variables))
    assert_fine(run("migrate", "--database", tmp_path / "named.db", env=variables))
    assert names_in(tmp_path) == ["environment.db", "named.db"]


# check


def test_check_of_a_sound_database_finds_nothing_and_prints_the_same_in_json(location: Location) -> None:
    plain = run("check", "--database", address(location))
    assert_fine(plain)
    in_json = run("check", "--json", "--database", address(location))
    assert_fine(in_json)
    findings = json.loads(in_json.out)
    assert findings[0] == {"level": "ok", "text": f"schema {NEWEST}", "hint": ""}
    assert {finding["level"] for finding in findings} <= {"ok", "warning"}
    lines = [f"{finding['level']:8} {finding['text']}" for finding in findings]
    assert [line for line in plain.out.splitlines() if "hint:" not in line] == lines


def test_check_of_an_unmigrated_database_is_refused(empty_location: Location) -> None:
    if isinstance(empty_location, SqliteLocation):
        empty_location.path.touch(0o600)
    ran = run("check", "--database", address(empty_location))
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines()[:2] == [
        f"refused  the database has schema 0, this program needs {NEWEST}",
        "         hint: run `precast db migrate`",
    ]
    for command in (["work"], ["backup", "never"]):
        assert_refused(run(*command, "--database", address(empty_location)), 73, "STORE-021")


def test_check_of_a_file_that_others_may_open_warns(tmp_path: Path) -> None:
    path = tmp_path / "open.db"
    make(path)
    path.chmod(0o644)
    ran = run("check", "--database", path)
    assert_fine(ran)
    assert f"warning  others may open the file (mode 644)\n         hint: chmod 600 {path}\n" in ran.out


@pytest.mark.parametrize("within", [(0, 40), (1000, 1300)], ids=["header", "cells"])
def test_check_of_a_damaged_page_is_refused(tmp_path: Path, within: tuple[int, int]) -> None:
    path = tmp_path / "damaged.db"
    make(path)
    fill(SqliteLocation(path))
    content = bytearray(path.read_bytes())
    page_start = _leaf_of_records(path) * 4096
    for offset in range(page_start + within[0], page_start + within[1]):
        content[offset] ^= 0xFF
    path.write_bytes(content)
    ran = run("check", "--database", path)
    assert (ran.code, ran.err) == (1, "")
    refused = [line for line in ran.out.splitlines() if line.startswith("refused")]
    assert refused
    assert all("damaged: " in line for line in refused)
    assert "restore a backup" in ran.out
    assert all(line.split()[0] in ("ok", "refused", "hint:") for line in ran.out.splitlines())
    assert {finding["level"] for finding in json.loads(run("check", "--json", "--database", path).out)} >= {"refused"}
    assert_refused(run("backup", tmp_path / "backup", "--database", path), 75, "STORE-010")
    assert names_in(tmp_path) == ["damaged.db"]


def _leaf_of_records(path: Path) -> int:
    """The number, from 0, of the last page that contains a body of stream_record."""
    content = path.read_bytes()
    return content.rindex(bytes([200]) * 250) // 4096


def test_check_of_a_server_that_would_lose_data_is_refused(tmp_path: Path) -> None:
    with PostgresServer(settings={"fsync": "off"}) as server:
        plain = run("check", "--database", server.url())
        in_json = run("check", "--json", "--database", server.url())
        migrate = run("migrate", "--database", server.url())
    assert (plain.code, plain.err, in_json.code) == (1, "", 1)
    text = "the database would lose acknowledged data: fsync is off"
    assert plain.out.splitlines()[0] == f"refused  {text}"
    assert [(finding["level"], finding["text"]) for finding in json.loads(in_json.out)] == [("refused", text)]
    assert_refused(migrate, 64, "STORE-015", "fsync is off")


# backup and restore


def test_backup_is_restored_completely_into_either_database(
    location: Location, target: Location, tmp_path: Path
) -> None:
    fill(location)
    file = tmp_path / "backup"
    backed_up = run("backup", file, "--database", address(location))
    assert_fine(backed_up)
    summary = f"{sum(COUNTS.values())} rows (1 node, 0 reports, 1 audit entry), no keys"
    assert re.fullmatch(rf"{re.escape(f'{file}: {summary}')}, \d+ kB, not encrypted\n", backed_up.out)
    restored = run("restore", file, "--database", address(target))
    assert_fine(restored)
    assert restored.out == f"restored into {target}: {summary}\n"
    assert contents(target) == contents(location)
    assert [name for name in names_in(tmp_path) if name.startswith(".")] == []
    again = run("restore", file, "--database", address(target))
    assert_refused(again, 73, "STORE-034", "already holds data (work_item)")
    assert contents(target) == contents(location)


def test_backup_and_restore_with_json_print_the_same(location: Location, tmp_path: Path) -> None:
    fill(location)
    backed_up = run("backup", "--json", tmp_path / "backup", "--database", address(location))
    restored = run("restore", "--json", tmp_path / "backup", "--database", tmp_path / "new.db")
    size_bytes = (tmp_path / "backup").stat().st_size
    assert json.loads(backed_up.out) == {"tables": COUNTS, "keys": {}, "bytes": size_bytes, "is_encrypted": False}
    assert json.loads(restored.out) == {"tables": COUNTS, "keys": {}}
    assert (tmp_path / "new.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["file", "directory", "dangling link"])
def test_backup_over_an_existing_path_is_refused_and_leaves_it(
    whole_backup: tuple[Path, bytes], tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "taken"
    database, _ = whole_backup
    match kind:
        case "file":
            file.write_text("precious")
        case "directory":
            file.mkdir()
        case _:
            file.symlink_to(tmp_path / "nowhere")
    before = names_in(tmp_path)
    assert_refused(run("backup", file, "--database", database), 73, "STORE-030")
    assert names_in(tmp_path) == before
    assert kind != "file" or file.read_text() == "precious"


def test_backup_into_a_missing_directory_is_reported(location: Location, tmp_path: Path) -> None:
    ran = run("backup", tmp_path / "nowhere" / "backup", "--database", address(location))
    assert_refused(ran, 75, "STORE-031", "No such file or directory")


@pytest.mark.parametrize("content", ["cut off", "empty", "text", "missing", "directory"])
def test_restore_of_an_incomplete_backup_leaves_nothing_behind(
    target: Location, whole_backup: tuple[Path, bytes], tmp_path: Path, content: str
) -> None:
    file = tmp_path / "backup"
    _, whole = whole_backup
    match content:
        case "cut off":
            file.write_bytes(whole[: len(whole) * 2 // 3])
        case "empty":
            file.touch()
        case "text":
            file.write_text("no backup")
        case "directory":
            file.mkdir()
    before = names_in(tmp_path)
    is_there = content not in ("missing", "directory")
    ran = run("restore", file, "--database", address(target))
    assert_refused(ran, *((64, "STORE-033") if is_there else (66, "STORE-032")))
    assert names_in(tmp_path) == before
    assert isinstance(target, SqliteLocation) or run("check", "--database", target.url).code == 1


@pytest.mark.parametrize(("share", "refusal"), [(1, (73, "STORE-034")), (0.5, (64, "STORE-033"))])
def test_restore_overtaken_by_another_leaves_the_other_result(
    whole_backup: tuple[Path, bytes], tmp_path: Path, share: float, refusal: tuple[int, str]
) -> None:
    """The restore that finishes late must not delete a file that it did not create."""
    file, database, pipe = (tmp_path / name for name in ("backup", "new.db", "pipe"))
    source, content = whole_backup
    file.write_bytes(content)
    os.mkfifo(pipe)
    late = start("restore", pipe, "--database", database)
    with pipe.open("wb", buffering=0) as slowly:  # opening waits until the restore reads
        assert_fine(run("restore", file, "--database", database))
        slowly.write(content[: int(share * len(content))])
    assert_refused(finish(late), *refusal)
    assert contents(SqliteLocation(database)) == contents(SqliteLocation(source))
    assert names_in(tmp_path) == ["backup", "new.db", "pipe"]


def test_restore_below_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = run("restore", tmp_path / "backup", "--database", tmp_path / "file" / "new.db")
    assert_refused(ran, 75, "STORE-003", "Not a directory")


# work


def test_work_of_an_empty_queue_prints_only_the_heads(location: Location) -> None:
    ran = run("work", "--database", address(location))
    assert_fine(ran)
    assert ran.out == "KIND  WAITING  CLAIMED  DEAD  OLDEST\n"
    assert json.loads(run("work", "--json", "--database", address(location)).out) == []


def test_work_shows_counts_items_and_dead_letters_also_in_json(location: Location) -> None:
    fill(location)

    def plain(*options: str) -> list[list[str]]:
        ran = run("work", *options, "--database", address(location))
        assert_fine(ran)
        return [line.split() for line in ran.out.splitlines()]

    def data(*options: str) -> list[dict[str, object]]:
        ran = run("work", "--json", *options, "--database", address(location))
        assert_fine(ran)
        rows: list[dict[str, object]] = json.loads(ran.out)
        return rows

    assert [row[:4] for row in plain()] == [
        ["KIND", "WAITING", "CLAIMED", "DEAD"],
        ["compile", "0", "1", "1"],
        ["deliver", "3", "0", "0"],
    ]
    counts = [(row["kind"], row["waiting"], row["held"], row["dead"]) for row in data()]
    assert counts == [("compile", 0, 1, 1), ("deliver", 3, 0, 0)]
    keys = [("compile", "held"), ("deliver", "knöten0"), ("deliver", "knöten1"), ("deliver", "knöten2")]
    rows = plain("--items")[1:]
    assert [(row[0], row[1]) for row in rows] == keys
    assert rows[0][2:4] == ["worker-2", "1"]
    items = data("--items")
    assert [(item["kind"], item["key"]) for item in items] == keys
    assert [item["owner"] for item in items] == ["worker-2", None, None, None]
    (dead,) = plain("--dead")[1:]
    assert dead[:3] == ["compile", "dead", "1"]
    assert " ".join(dead[5:]) == r"it wasn’t\u{a}to be"
    (letter,) = data("--dead")
    assert (letter["kind"], letter["key"], letter["last_error"]) == ("compile", "dead", "it wasn’t\nto be")


def test_requeued_letter_waits_again_and_is_no_longer_dead(location: Location) -> None:
    fill(location)
    database = address(location)
    ran = run("work", "--requeue", "compile", "dead", "--database", database)
    assert_fine(ran)
    assert ran.out == "requeued compile dead\n"
    assert json.loads(run("work", "--dead", "--json", "--database", database).out) == []
    items = json.loads(run("work", "--items", "--json", "--database", database).out)
    assert ("compile", "dead", 0) in [(item["kind"], item["key"], item["attempts"]) for item in items]
    assert_refused(run("work", "--requeue", "compile", "dead", "--database", database), 66, "WORK-004")


def test_requeue_with_json_prints_whether_it_requeued(location: Location) -> None:
    fill(location)
    execute(location, "UPDATE work_item SET key = 'dead' WHERE key = 'held'")
    ran = run("work", "--json", "--requeue", "compile", "dead", "--database", address(location))
    assert_fine(ran)
    assert json.loads(ran.out) == {"kind": "compile", "key": "dead", "requeued": False}


def test_requeue_of_an_unknown_letter_is_not_found(location: Location) -> None:
    ran = run("work", "--requeue", "compile", "nobody", "--database", address(location))
    assert_refused(ran, 66, "WORK-004", "there is no dead letter compile nobody")


def test_requeue_of_a_key_that_is_not_utf_8_is_a_usage_error() -> None:
    ran = run("work", "--requeue", "compile", os.fsdecode(b"\xff"))
    assert_refused(ran, 64, "CLI-001", "is not valid UTF-8")


# the edges of the process


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["mirgate"], "did you mean 'migrate'?"),
        (["chekc"], "did you mean 'check'?"),
        (["check", "--databse", "x"], "did you mean '--database'?"),
        (["work", "--ded"], "did you mean '--dead'?"),
        (["work", "--dead", "--items"], "not allowed with argument"),
        (["work", "--requeue", "compile"], "expected 2 arguments"),
        (["backup"], "FILE"),
        (["check", "surplus"], "unexpected argument 'surplus'"),
    ],
)
def test_typo_is_refused_with_a_suggestion(words: list[str], text: str) -> None:
    assert_refused(run(*words), 64, "CLI-001", text)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_closed_output_is_not_an_error(tmp_path: Path, options: list[str]) -> None:
    make(tmp_path / "new.db")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [PRECAST, "db", "check", "--database", tmp_path / "new.db", *options],
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
            env=environment(),
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    with sqlite3.connect(tmp_path / "new.db") as connection:
        assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
    connection.close()


# clock


def test_clock_that_jumped_is_shown_and_confirmed_by_an_operator(location: Location) -> None:
    """Both databases were last trusted at a time that has not come yet, as after a clock that was ahead."""
    trusted = run("clock", "--database", address(location), "--json")
    assert_fine(trusted)
    assert json.loads(trusted.out)["last_trusted_at"] is None
    execute(
        location, "INSERT INTO clock_mark (id, at, boot_id, boot, confirmed) VALUES (1, 32503680000000000, 'b', 0, 0)"
    )
    held = run("clock", "--database", address(location))
    assert held.code == 1
    assert "behind the time last trusted here" in held.out
    assert "hint: set the clock right; if it is right, confirm it with `precast db clock --confirm`" in held.out
    assert "behind the time last trusted here" in run("check", "--database", address(location)).out
    confirmed = run("clock", "--confirm", "--database", address(location))
    assert_fine(confirmed)
    assert_fine(run("clock", "--database", address(location)))
