"""The keys of a site in its backup: always encrypted, never left out silently, never of another site, restored for their owners."""

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from precast.store.engine.location import SqliteLocation
from tests.e2e.identity.separate_signer import SERVER_UID, SIGNER_UID, as_user, missing_tools, separate_site
from tests.e2e.precast_command import (
    DEADLINE_S,
    assert_fine,
    assert_refused,
    contents,
    environment,
    names_in,
    start,
)
from tests.e2e.precast_server import Server, precast, running

PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "back-up-and-restore.md"


@pytest.fixture
def site(tmp_path: Path) -> Server:
    return Server.init(tmp_path / "data")


def recipient_in(directory: Path) -> str:
    ran = precast("db", "keygen", directory / "key", "--json")
    assert_fine(ran)
    assert (directory / "key").stat().st_mode & 0o777 == 0o600
    return str(json.loads(ran.out)["recipient"])


def files_in(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(directory)): (path.read_bytes(), path.stat().st_mode)
        for name in ("authority", "signer")
        for path in (directory / name).iterdir()
        if path.name != "lock"
    }


def test_backup_with_keys_is_restored_with_its_modes_and_is_readable_by_its_recipient_only(
    site: Server, tmp_path: Path
) -> None:
    recipient, file, new = recipient_in(tmp_path), tmp_path / "backup", tmp_path / "new" / "data"
    new.parent.mkdir()
    taken = precast("db", "backup", "--data", site.data, "--recipient", recipient, file, "--json")
    assert_fine(taken)
    assert {"authority/key.pem", "authority/seal-key.pem", "signer/log.jsonl"} <= set(json.loads(taken.out)["keys"])
    assert file.stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE KEY" not in file.read_bytes()
    restore = ("db", "restore", "--data", new, file)
    assert_refused(precast(*restore), 64, "STORE-036")
    recipient_in(new.parent)
    assert_refused(precast(*restore, "--identity", new.parent / "key"), 64, "STORE-037")
    assert names_in(new.parent) == ["key"]
    assert_fine(precast(*restore, "--identity", tmp_path / "key"))
    assert files_in(new) == files_in(site.data)
    assert contents(SqliteLocation(new / "precast.db")) == contents(SqliteLocation(site.data / "precast.db"))
    again = precast(
        "db", "restore", "--data", new, "--database", tmp_path / "x.db", file, "--identity", tmp_path / "key"
    )
    assert_refused(again, 73, "CA-047")
    assert not (tmp_path / "x.db").exists()


def test_secrets_key_is_in_a_backup_on_demand_only(site: Server, tmp_path: Path) -> None:
    recipient, key = recipient_in(tmp_path), site.data / "secrets.key"
    back_up = ("db", "backup", "--data", site.data, "--recipient", recipient, "--json")
    without, with_it = tmp_path / "without", tmp_path / "with"
    ran = precast(*back_up, without)
    assert_fine(ran)
    assert "secrets.key" not in json.loads(ran.out)["keys"]
    ran = precast(*back_up, with_it, "--with-secrets-key")
    assert_fine(ran)
    assert json.loads(ran.out)["is_encrypted"]
    assert json.loads(ran.out)["keys"]["secrets.key"] == key.stat().st_size
    refused = precast("db", "backup", "--data", site.data, tmp_path / "plain", "--with-secrets-key", "--without-keys")
    assert refused.code == 64
    restore = ("db", "restore", "--identity", tmp_path / "key", "--data")
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    assert_fine(precast(*restore, one, without))
    assert not (one / "secrets.key").exists()
    assert_fine(precast(*restore, two, with_it))
    assert (two / "secrets.key").read_bytes() == key.read_bytes()
    assert (two / "secrets.key").stat().st_mode & 0o777 == 0o600
    # One that was put there before stays if it is the same, and is never replaced by another.
    three.mkdir()
    shutil.copy(key, three)
    assert_fine(precast(*restore, three, with_it))
    shutil.rmtree(three)
    three.mkdir()
    (three / "secrets.key").write_text("another")
    assert_refused(precast(*restore, three, with_it), 73, "SECRET-005")
    assert names_in(three) == ["secrets.key"]


def test_passphrase_comes_from_a_private_file_or_a_command(site: Server, tmp_path: Path) -> None:
    secret, file = tmp_path / "passphrase", tmp_path / "backup"
    secret.write_text("correct horse\n")
    words = ("db", "backup", "--data", site.data, file, "--passphrase-file", secret)
    assert_refused(precast(*words), 75, "CA-038")
    secret.chmod(0o600)
    assert_fine(precast(*words))
    command = f"cat {secret}"
    assert_fine(precast("db", "restore", "--data", tmp_path / "new", file, "--passphrase-command", command))
    assert files_in(tmp_path / "new") == files_in(site.data)


def test_backup_with_keys_is_never_plain_and_never_without_them_silently(site: Server, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    assert_refused(precast("db", "backup", "--data", site.data, file), 64, "STORE-039")
    shutil.move(site.data / "authority", tmp_path / "authority")
    words = ("db", "backup", "--data", site.data, "--recipient", recipient_in(tmp_path), file)
    assert_refused(precast(*words), 66, "CA-044")
    other = Server.init(tmp_path / "other")
    database = str(site.data / "precast.db")
    assert_refused(precast("db", "backup", "--data", other.data, "--database", database, file), 73, "CA-046")
    assert not file.exists()
    assert_fine(precast("db", "backup", "--data", site.data, "--without-keys", file))
    ran = precast("db", "restore", "--data", tmp_path / "new", "--only-keys", file)
    assert_refused(ran, 66, "CA-049")


@pytest.mark.parametrize("damage", ["truncated", "changed", "extended"])
def test_damaged_backup_with_keys_leaves_nothing_behind(site: Server, tmp_path: Path, damage: str) -> None:
    recipient, file, place = recipient_in(tmp_path), tmp_path / "backup", tmp_path / "place"
    assert_fine(precast("db", "backup", "--data", site.data, "--recipient", recipient, file))
    data = file.read_bytes()
    changed = data[:-100] + bytes([data[-100] ^ 1]) + data[-99:]
    file.write_bytes({"truncated": data[:-1], "changed": changed, "extended": data + b"x"}[damage])
    place.mkdir()
    words = ("db", "restore", "--data", place / "data", file, "--identity", tmp_path / "key")
    assert_refused(precast(*words), 64, "STORE-033")
    assert names_in(place) == []


def test_damage_that_is_found_after_the_keys_were_read_leaves_nothing_behind(site: Server, tmp_path: Path) -> None:
    recipient, file, place = recipient_in(tmp_path), tmp_path / "backup", tmp_path / "place"
    with (site.data / "signer/log.jsonl").open("ab") as log:
        log.write(secrets.token_bytes(3_000_000))
    assert_fine(precast("db", "backup", "--data", site.data, "--recipient", recipient, file))
    file.write_bytes(file.read_bytes()[:-1])
    place.mkdir()
    words = ("db", "restore", "--data", place / "data", file, "--identity", tmp_path / "key")
    for more in ((), ("--only-keys",)):
        assert_refused(precast(*words, *more), 64, "STORE-033")
        assert names_in(place) == []


def test_restore_that_was_killed_is_repeated_or_completed(site: Server, tmp_path: Path) -> None:
    recipient, file, pipe, new = (recipient_in(tmp_path), *(tmp_path / name for name in ("backup", "pipe", "new")))
    with (site.data / "signer/log.jsonl").open("ab") as log:
        log.write(secrets.token_bytes(1_000_000))
    assert_fine(precast("db", "backup", "--data", site.data, "--recipient", recipient, file))
    options: list[str | Path] = ["--data", new, "--identity", tmp_path / "key"]
    os.mkfifo(pipe)
    killed = start("restore", pipe, *options)
    with pipe.open("wb", buffering=0) as slowly:
        slowly.write(file.read_bytes()[:-1])
        deadline = time.monotonic() + DEADLINE_S
        while not list(new.glob(".precast-*/key.pem")):  # it has begun to write keys
            assert time.monotonic() < deadline
            time.sleep(0.05)
        killed.kill()
        killed.communicate(timeout=DEADLINE_S)
    assert not any((new / name).exists() for name in ("precast.db", "authority", "signer"))
    assert_fine(precast("db", "restore", *options, file))
    assert files_in(new) == files_in(site.data)
    # As if it had been killed later: the database is there, its keys are not.
    shutil.rmtree(new / "authority")
    shutil.rmtree(new / "signer")
    again = precast("db", "restore", *options, file)
    assert_refused(again, 73, "STORE-034")
    assert "--only-keys" in again.err
    only = precast("db", "restore", *options, "--only-keys", file)
    assert_fine(only)
    assert re.fullmatch(rf"restored into {re.escape(str(new))}: \d+ files of keys\n", only.out)
    assert files_in(new) == files_in(site.data)


def test_text_that_begins_as_an_encrypted_file_is_not_called_one(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a text\n")
    assert_refused(precast("db", "restore", "--data", tmp_path / "new", tmp_path / "text"), 64, "STORE-033")


@pytest.mark.needs("age")
def test_keys_alone_are_read_as_the_how_to_says_also_without_precast(site: Server, tmp_path: Path) -> None:
    recipient = recipient_in(tmp_path)
    (tmp_path / "key").rename(tmp_path / "backup.key")
    file = tmp_path / "monday.backup"
    assert_fine(precast("db", "backup", "--data", site.data, "--recipient", recipient, file))
    section = PAGE.read_text(encoding="utf-8").split("\n## Get only the keys\n")[1].split("\n## ")[0]
    (program,) = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    (tmp_path / "keys.py").write_text(program)
    commands = re.findall(r"^# (.*)$", section, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["precast", "age"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=tmp_path,
            env=environment({"PATH": path}),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert (done.returncode, done.stderr) == (0, ""), command
    assert files_in(tmp_path / "emergency") == files_in(tmp_path) == files_in(site.data)


def test_keys_alone_are_restored_beside_a_database_that_other_tools_restored(site: Server, tmp_path: Path) -> None:
    recipient, file = recipient_in(tmp_path), tmp_path / "backup"
    with running(site):
        assert_fine(precast("db", "backup", "--data", site.data, "--recipient", recipient, file))
        site.stop()
        shutil.rmtree(site.data / "authority")
        shutil.rmtree(site.data / "signer")
        assert_refused(precast("server", "init", "--data", site.data), 73, "CA-042")
        assert_fine(precast("db", "restore", "--data", site.data, "--only-keys", file, "--identity", tmp_path / "key"))
        site.start()
        assert site.command("node", "list").code == 0


@pytest.mark.skipif(bool(missing_tools()), reason=missing_tools())
def test_signer_of_another_user_is_backed_up_and_restored_by_root_alone(tmp_path: Path) -> None:
    recipient = recipient_in(tmp_path)
    with separate_site() as separate:
        words: list[str | Path] = [
            "db",
            "backup",
            "--with-secrets-key",
            "--data",
            separate.server_data,
            "--signer",
            separate.socket,
            "--recipient",
            recipient,
        ]
        environment = {"PRECAST_SIGNER_DATA": str(separate.signer_data)}
        inside = separate.server_data / "backup"
        denied = precast(*words, inside, env=environment, prefix=as_user(SERVER_UID, []))
        assert_refused(denied, 77, "CA-045")
        file = tmp_path / "backup"
        assert_fine(precast(*words, file, env=environment))
        separate.stop_signer()
        shutil.rmtree(separate.signer_data)
        shutil.rmtree(separate.server_data)
        words = ["db", "restore", "--data", separate.server_data, "--signer", separate.socket, file]
        assert_fine(precast(*words, "--identity", tmp_path / "key", env=environment))
        owners = {path.stat().st_uid for path in (separate.signer_data, *separate.signer_data.rglob("*"))}
        assert owners == {SIGNER_UID}
        owners = {path.stat().st_uid for path in (separate.server_data, *separate.server_data.rglob("*"))}
        assert owners == {SERVER_UID}
        separate.start_signer()
        with running(separate.server) as server:
            assert server.command("node", "list").code == 0
