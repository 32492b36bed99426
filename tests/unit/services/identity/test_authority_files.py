"""The authority's directory: it is created atomically, and stays valid after a crash at any point of a rotation."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from precast.base.errors import PrecastError
from precast.base.files import write_private
from precast.services.identity import certificates
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles, LoadedAuthority

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def files(tmp_path: Path) -> AuthorityFiles:
    made = AuthorityFiles(tmp_path / "authority")
    with made.created(Authority.new(NOW)):
        return made


def code_of(attempt: Callable[[], object]) -> str:
    with pytest.raises(PrecastError) as caught:
        attempt()
    return caught.value.code


def create(files: AuthorityFiles) -> None:
    with files.created(Authority.new(NOW)):
        pass


def test_authority_loaded_again_is_the_same_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    files, authority = AuthorityFiles(tmp_path / "data" / "authority"), Authority.new(NOW)
    with files.created(authority):
        assert not files.directory.exists()
    assert files.load().fingerprint == authority.fingerprint
    assert files.load().key.private_numbers() == authority.key.private_numbers()
    assert files.directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in files.directory.iterdir()} == {0o600}


def test_failed_creation_of_an_authority_leaves_nothing(tmp_path: Path) -> None:
    files = AuthorityFiles(tmp_path / "authority")
    with pytest.raises(ZeroDivisionError), files.created(Authority.new(NOW)):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    files.directory.mkdir()
    assert code_of(files.load) == "CA-001"
    create(files)


def test_authority_is_never_overwritten(files: AuthorityFiles) -> None:
    before = files.key.read_bytes()
    files.certificate.unlink()
    assert code_of(files.refuse_existing) == "CA-002"
    assert code_of(lambda: create(files)) == "CA-002"
    assert files.key.read_bytes() == before
    assert [path.name for path in files.directory.parent.iterdir()] == ["authority"]


@pytest.mark.parametrize("damage", ["no key", "no certificate", "empty key", "other key", "empty certificate"])
def test_damaged_authority_is_reported(files: AuthorityFiles, damage: str) -> None:
    match damage:
        case "no key":
            files.key.unlink()
        case "no certificate":
            files.certificate.unlink()
        case "empty key":
            files.key.write_bytes(b"")
        case "empty certificate":
            files.certificate.write_bytes(b"")
        case _:
            files.key.write_bytes(certificates.private_pem(ec.generate_private_key(ec.SECP256R1())))
    assert code_of(files.load) == "CA-014"


def prepare(files: AuthorityFiles) -> Authority:
    old = files.load()
    new = Authority.new(NOW, old.certificate.subject)
    files.prepare(new, old.sign_successor(new, NOW))
    return new


def test_rotation_trusts_the_old_then_both_then_the_new_authority(files: AuthorityFiles) -> None:
    old = files.load()
    new = prepare(files)
    now = files.load()
    assert (now.fingerprint, now.chain, files.is_prepared) == (old.fingerprint, (), True)
    assert {certificates.fingerprint(certificate) for certificate in now.issuers} == {old.fingerprint, new.fingerprint}
    files.switch()
    now = files.load()
    assert (now.fingerprint, len(now.chain), files.is_prepared) == (new.fingerprint, 1, False)
    assert [certificates.fingerprint(certificate) for certificate in now.others] == [old.fingerprint]
    assert certificates.private_pem(old.key) not in [path.read_bytes() for path in files.directory.iterdir()]
    files.retire()
    now = files.load()
    assert (now.fingerprint, now.others, now.chain) == (new.fingerprint, (), ())
    assert sorted(path.name for path in files.directory.iterdir()) == ["certificate.pem", "key.pem", "seal-key.pem"]


def rotate_whole(files: AuthorityFiles) -> None:
    """Do what an operator does, from any state."""
    if files.load().others and not files.is_prepared:
        files.retire()
    if not files.is_prepared:
        prepare(files)
    files.switch()
    files.retire()


@pytest.mark.parametrize("fatal", range(1, 6))
def test_rotation_interrupted_at_any_write_can_be_continued(
    files: AuthorityFiles, monkeypatch: pytest.MonkeyPatch, fatal: int
) -> None:
    written: list[str] = []

    def fail(path: Path, data: bytes) -> None:
        written.append(path.name)
        if len(written) == fatal:
            raise OSError(28, "No space left on device")
        write_private(path, data)

    before = files.load()
    monkeypatch.setattr("precast.services.identity.authority_files.write_private", fail)
    with pytest.raises(OSError, match="No space"):
        rotate_whole(files)
    monkeypatch.undo()
    now = files.load()
    assert before.fingerprint in map(certificates.fingerprint, now.issuers)
    rotate_whole(files)
    after = files.load()
    assert (after.others, after.fingerprint == before.fingerprint) == ((), False)


def test_loaded_authority_follows_the_directory(files: AuthorityFiles) -> None:
    held = LoadedAuthority(files)
    assert not held.reload()
    new = prepare(files)
    files.switch()
    assert held.current.fingerprint != new.fingerprint
    assert held.reload()
    assert held.current.fingerprint == new.fingerprint
    assert not held.reload()
    files.key.write_bytes(b"half")
    assert code_of(held.reload) == "CA-014"
    assert held.current.fingerprint == new.fingerprint


def test_directory_is_locked_against_concurrent_changes(files: AuthorityFiles) -> None:
    with files.locked():
        assert code_of(lambda: AuthorityFiles(files.directory).locked().__enter__()) == "CA-012"
    with files.locked():
        pass
