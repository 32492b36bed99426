"""The files of a site's keys in a backup: of one moment, and never written anywhere else than into their two directories."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from precast.base.encryption.keys import Passphrase
from precast.base.errors import InputError, PrecastError, UnavailableError
from precast.services.identity.signer import key_backup
from precast.services.identity.signer.key_backup import KeyFiles, KeyPlace
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import SqliteLocation
from precast.store.schema import backup
from precast.store.schema.backup_format import FORMAT, End, FilePart, Frame, Header, new_backup, write_frame
from tests.e2e.precast_command import assert_fine
from tests.e2e.precast_server import Server, running

PASSPHRASE = Passphrase(b"correct horse", work=4)


class ChangedKeys:
    """The keys of a site, to which something happens after the rows were read."""

    def __init__(self, keys: KeyFiles, change: Callable[[], None]) -> None:
        self._keys, self._change, self.owner = keys, change, keys.owner

    @contextlib.contextmanager
    def opened(self) -> Iterator[Iterator[FilePart]]:
        self._change()
        with self._keys.opened() as parts:
            yield parts


async def opened(path: Path) -> Database:
    return await connect(SqliteLocation(path))


async def test_rotation_between_rows_and_keys_fails_the_backup_and_leaves_no_file(tmp_path: Path) -> None:
    server = Server.init(tmp_path / "data")
    keys = KeyFiles(server.data)

    def rotate() -> None:
        with running(server):
            assert_fine(server.command("ca", "rotate", "--json"))

    database = await opened(server.data / "precast.db")
    file = tmp_path / "backup"
    try:
        with pytest.raises(UnavailableError) as caught:
            await backup.take(database, file, PASSPHRASE, ChangedKeys(keys, rotate))
        assert caught.value.code == "CA-048"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
        # The same command again takes the keys of the new authority.
        await backup.take(database, file, PASSPHRASE, KeyFiles(server.data))
    finally:
        await database.close()
    with (place := KeyPlace(tmp_path / "restored")).filled():
        backup.restore_keys(file, PASSPHRASE, place)
    for name in ("key.pem", "certificate.pem", "chain.pem"):
        assert (tmp_path / "restored/authority" / name).read_bytes() == (server.data / "authority" / name).read_bytes()


def test_signer_that_is_stuck_fails_the_backup_instead_of_holding_it_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server.init(tmp_path / "data")
    keys = KeyFiles(server.data)
    monkeypatch.setattr(key_backup, "LOCK_S", 0.2)
    with (server.data / "signer/lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UnavailableError) as caught, keys.opened():
            pass
        assert caught.value.code == "CA-030"
    with keys.opened() as parts:
        assert "authority/key.pem" in {part.name for part in parts}


def write_backup(path: Path, *frames: Frame, keys_owner: str = "", schema: int = 1) -> None:
    with new_backup(path, None) as file:
        write_frame(file, Header(FORMAT, schema, 0, "SQLite", 0, "", keys_owner))
        for frame in frames:
            write_frame(file, frame)
        sizes = {frame.name: frame.offset + len(frame.data) for frame in frames if isinstance(frame, FilePart)}
        write_frame(file, End({}, sizes))


def restore(file: Path, place: Path) -> None:
    with (target := KeyPlace(place)).filled():
        backup.restore_keys(file, None, target)


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/etc/outside",
        "authority/../../outside",
        "authority/sub/outside",
        "authority/..",
        "authority/.hidden",
        "authority/",
        "other/key.pem",
        "authority",
        "authority/a\nb",
        "authority/a\0b",
        "signer/" + "x" * 300,
    ],
)
def test_name_that_no_backup_has_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    write_backup(tmp_path / "backup", FilePart("authority/key.pem", 0o600, 0, b"k"), FilePart(name, 0o600, 0, b"x"))
    with pytest.raises(InputError) as caught:
        restore(tmp_path / "backup", tmp_path / "a/place")
    assert caught.value.code == "STORE-033"
    assert len(caught.value.render().splitlines()) == 2
    assert not (tmp_path / "a/place").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "backup"]


def test_file_that_comes_twice_is_refused(tmp_path: Path) -> None:
    part = FilePart("authority/key.pem", 0o600, 0, b"")
    write_backup(tmp_path / "backup", part, part)
    with pytest.raises(InputError) as caught:
        restore(tmp_path / "backup", tmp_path / "place")
    assert caught.value.code == "STORE-033"
    assert not (tmp_path / "place").exists()


def test_modes_give_nothing_to_others_and_no_set_id_bit(tmp_path: Path) -> None:
    write_backup(tmp_path / "backup", FilePart("authority/key.pem", 0o6777, 0, b"k"))
    restore(tmp_path / "backup", tmp_path / "place")
    assert (tmp_path / "place/authority/key.pem").stat().st_mode & 0o7777 == 0o700
    assert (tmp_path / "place/authority").stat().st_mode & 0o7777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")
@pytest.mark.parametrize("owner", ["4294967295", "9" * 30, "a\0b", "١٢", "-1", "no such user"])
def test_owner_that_is_no_user_here_is_refused_in_a_line(tmp_path: Path, owner: str) -> None:
    write_backup(tmp_path / "backup", FilePart("authority/key.pem", 0o600, 0, b"k"), keys_owner=owner)
    with pytest.raises(InputError) as caught:
        restore(tmp_path / "backup", tmp_path / "place")
    assert caught.value.code == "STORE-040"
    assert not (tmp_path / "place").exists()


def test_place_that_cannot_be_written_is_named_and_not_the_backup(tmp_path: Path) -> None:
    write_backup(tmp_path / "backup", FilePart("authority/key.pem", 0o600, 0, b"k"))
    (tmp_path / "file").touch()
    with pytest.raises(PrecastError) as caught:
        restore(tmp_path / "backup", tmp_path / "file/place")
    assert caught.value.code == "CA-050"
    assert str(tmp_path / "file/place") in caught.value.message
