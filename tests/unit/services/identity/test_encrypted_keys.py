"""Keys that are encrypted at rest: what is in the files, where the passphrase comes from, and rotation."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from precast.base.errors import PrecastError
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.passphrase import CREDENTIAL, find_passphrase

NOW = datetime.now(UTC)
PASSPHRASE = b"correct horse"


def create(directory: Path, passphrase: bytes | None) -> AuthorityFiles:
    files = AuthorityFiles(directory / "authority", passphrase)
    with files.created(Authority.new(NOW)):
        pass
    return files


def private_files(files: AuthorityFiles) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in files.directory.glob("*key.pem")}


def code_of(files: AuthorityFiles) -> str:
    with pytest.raises(PrecastError) as caught:
        files.load()
    return caught.value.code


def test_new_keys_are_encrypted_if_there_is_a_passphrase(tmp_path: Path) -> None:
    files = create(tmp_path, PASSPHRASE)
    assert files.is_encrypted
    assert all(data.startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----") for data in private_files(files).values())
    assert AuthorityFiles(files.directory, PASSPHRASE).load().fingerprint == files.load().fingerprint
    assert code_of(AuthorityFiles(files.directory)) == "CA-035"
    assert code_of(AuthorityFiles(files.directory, b"wrong")) == "CA-037"


def test_rotation_of_encrypted_keys_leaves_no_plain_key(tmp_path: Path) -> None:
    files = create(tmp_path, PASSPHRASE)
    seal = files.load_seal_key().private_bytes_raw()
    old, new = files.load(), Authority.new(NOW, files.load().certificate.subject)
    files.prepare(new, old.sign_successor(new, NOW))
    assert len(private_files(files)) == 3
    assert all(b"ENCRYPTED" in data for data in private_files(files).values())
    files.switch()
    files.retire()
    assert AuthorityFiles(files.directory, PASSPHRASE).load().fingerprint == new.fingerprint
    assert files.load_seal_key().private_bytes_raw() == seal


def test_existing_keys_are_encrypted_and_decrypted_in_place(tmp_path: Path) -> None:
    files = create(tmp_path, None)
    before, seal = files.load().fingerprint, files.load_seal_key().private_bytes_raw()
    files.encrypt(PASSPHRASE)
    encrypted = AuthorityFiles(files.directory, PASSPHRASE)
    assert encrypted.is_encrypted
    assert (encrypted.load().fingerprint, encrypted.load_seal_key().private_bytes_raw()) == (before, seal)
    assert {path.stat().st_mode & 0o777 for path in files.directory.iterdir()} == {0o600}
    encrypted.encrypt(None)
    assert AuthorityFiles(files.directory).load().fingerprint == before


def test_passphrase_comes_from_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    path = tmp_path / "passphrase"
    path.write_bytes(PASSPHRASE + b"\n")
    path.chmod(0o640)
    with pytest.raises(PrecastError, match="0600"):
        find_passphrase(path, "", may_ask=False)
    path.chmod(0o600)
    assert find_passphrase(path, "false", may_ask=False) == PASSPHRASE
    path.write_bytes(b"\n")
    with pytest.raises(PrecastError, match="0 bytes"):
        find_passphrase(path, "", may_ask=False)


def test_passphrase_comes_from_a_credential_of_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert find_passphrase(None, "", may_ask=False) is None
    (tmp_path / CREDENTIAL).write_bytes(PASSPHRASE)
    (tmp_path / CREDENTIAL).chmod(0o400)
    assert find_passphrase(None, "", may_ask=False) == PASSPHRASE


def test_passphrase_comes_from_a_command_whose_failure_shows_no_output(tmp_path: Path) -> None:
    assert find_passphrase(None, "printf '%s\\n' 'correct horse'", may_ask=False) == PASSPHRASE
    for command, reason in (
        ("sh -c 'echo hunter2; exit 3'", "exit code 3"),
        ("/does/not/exist", "No such file"),
        ("'", "No closing quotation"),
    ):
        with pytest.raises(PrecastError, match=reason) as caught:
            find_passphrase(None, command, may_ask=False)
        assert "hunter2" not in caught.value.render()
    assert os.environ.get("CREDENTIALS_DIRECTORY") is None


def test_only_keys_that_exist_and_are_encrypted_need_a_passphrase(tmp_path: Path) -> None:
    assert not AuthorityFiles(tmp_path / "none").needs_passphrase
    assert not create(tmp_path / "plain", None).needs_passphrase
    assert AuthorityFiles(create(tmp_path / "encrypted", PASSPHRASE).directory, b"another").needs_passphrase
