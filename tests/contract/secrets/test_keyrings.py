"""The keyrings of servers on one database: they share the keys of environments, and one without the site's master key does not start."""

from pathlib import Path

import pytest

from precast.base.errors import ConflictError, UnavailableError
from precast.services.secrets.key_source import KeyCommand, KeyFile, KeySource
from precast.services.secrets.keyring import Keyring
from precast.services.secrets.keys import MasterKey
from precast.store.engine.database import Database
from precast.store.secrets.keys import SecretKeys


async def opened(database: Database, source: KeySource) -> Keyring:
    keyring = Keyring(database, SecretKeys(database), source)
    await keyring.open()
    return keyring


def written(path: Path, *keys: MasterKey, mode: int = 0o600) -> KeyFile:
    path.write_text("".join(f"{key.line}\n" for key in keys))
    path.chmod(mode)
    return KeyFile(path)


async def test_first_server_makes_the_key_and_the_others_share_it(
    database: Database, other_database: Database, tmp_path: Path
) -> None:
    first = await opened(database, KeyFile(tmp_path / "data" / "secrets.key"))
    assert (tmp_path / "data" / "secrets.key").stat().st_mode & 0o777 == 0o600
    second = await opened(other_database, KeyFile(tmp_path / "data" / "secrets.key"))
    assert await first.keys("production") == await second.keys("production")
    assert await first.keys("production") != await first.keys("test")
    again = await opened(database, KeyFile(tmp_path / "data" / "secrets.key"))
    assert await again.keys("production") == await first.keys("production")


async def test_server_without_the_key_does_not_start(database: Database, tmp_path: Path) -> None:
    await opened(database, KeyFile(tmp_path / "secrets.key"))
    with pytest.raises(UnavailableError, match=r"not in .*missing\.key") as raised:
        await opened(database, KeyFile(tmp_path / "missing.key"))
    assert raised.value.code == "SECRET-001"
    assert not (tmp_path / "missing.key").exists()


async def test_server_with_another_key_does_not_start(database: Database, tmp_path: Path) -> None:
    own, other = MasterKey(b"1" * 32), MasterKey(b"2" * 32)
    await opened(database, written(tmp_path / "one", own))
    with pytest.raises(ConflictError, match=f"needs key {own.id}, and there is {other.id}"):
        await opened(database, written(tmp_path / "two", other))
    # The right one may stand anywhere in the file.
    await opened(database, written(tmp_path / "both", other, own))


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [("", 0o600, "no key"), ("nonsense", 0o600, "typing error"), (f"{MasterKey(bytes(32)).line}\n", 0o640, "0600")],
)
async def test_unusable_file_is_refused(database: Database, tmp_path: Path, text: str, mode: int, reason: str) -> None:
    path = tmp_path / "secrets.key"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(UnavailableError, match=reason):
        await opened(database, KeyFile(path))


async def test_command_prints_the_keys(database: Database, tmp_path: Path) -> None:
    key = MasterKey(b"1" * 32)
    by_file = await opened(database, written(tmp_path / "one", key))
    by_command = await opened(database, KeyCommand(f"/bin/cat {tmp_path / 'one'}"))
    assert await by_file.keys("production") == await by_command.keys("production")


@pytest.mark.parametrize("command", ["/bin/false", "/nowhere/at-all", "'", ""])
async def test_failing_command_is_refused_in_one_line(database: Database, command: str) -> None:
    with pytest.raises(UnavailableError, match="cannot be read") as raised:
        await opened(database, KeyCommand(command))
    assert "\n" not in raised.value.message
