"""The key pairs of a server: files of one directory for each environment, whatever path the code names."""

import base64
from pathlib import Path

import pytest

from lab.key_pairs import OPENSSL, PRIVATE, PUBLIC, encrypt, make_pair
from precast.base.errors import PrecastError
from precast.services.code.decryption import KeyDirectory, ServerKeys

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl makes the keys and envelopes")
OPTIONS = {"pkcs7_private_key": f"/etc/puppetlabs/puppet/eyaml/{PRIVATE}", "pkcs7_public_key": f"./keys/{PUBLIC}"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("eyaml")
    make_pair(directory / "production")
    make_pair(directory / "staging")
    return directory


def envelope(root: Path, text: str = "hunter2") -> bytes:
    return base64.b64decode(encrypt(text, root / "production" / PUBLIC)[len("ENC[PKCS7,") : -1])


def test_path_in_the_code_names_a_file_of_the_environments_directory(root: Path) -> None:
    keys = KeyDirectory(root).find("production")
    assert len(keys.fingerprint(OPTIONS) or "") == 64
    assert keys.decrypt(envelope(root), OPTIONS) == b"hunter2"


def test_environments_have_keys_of_their_own(root: Path) -> None:
    keys = KeyDirectory(root)
    assert keys.find("production").fingerprint(OPTIONS) != keys.find("staging").fingerprint(OPTIONS)
    assert keys.find("test").fingerprint(OPTIONS) is None
    with pytest.raises(PrecastError, match="another key") as caught:
        keys.find("staging").decrypt(envelope(root), OPTIONS)
    assert caught.value.code == "HIERA-052"


@pytest.mark.parametrize(
    "name", ["..", "a/..", "", ".", "/", "x\0y", "missing.pem", "../staging/missing.pem", "k" * 5_000]
)
def test_name_that_leads_nowhere_is_an_absent_key(root: Path, name: str) -> None:
    keys = KeyDirectory(root).find("production")
    assert keys.fingerprint({**OPTIONS, "pkcs7_private_key": name}) is None
    with pytest.raises(PrecastError) as caught:
        keys.decrypt(b"", {**OPTIONS, "pkcs7_private_key": name})
    assert caught.value.code == "HIERA-053"


def test_unusable_pair_has_its_reason_as_fingerprint_and_fails_where_it_is_used(tmp_path: Path, root: Path) -> None:
    (tmp_path / PRIVATE).touch(0o600)
    (tmp_path / PRIVATE).write_bytes((root / "production" / PRIVATE).read_bytes())
    keys = ServerKeys(tmp_path)
    assert "No such file" in (keys.fingerprint(OPTIONS) or "")
    with pytest.raises(PrecastError) as caught:
        keys.decrypt(envelope(root), OPTIONS)
    assert caught.value.code == "HIERA-053"


def test_private_key_that_others_may_read_is_not_used(tmp_path: Path) -> None:
    make_pair(tmp_path)
    (tmp_path / PRIVATE).chmod(0o644)
    keys = ServerKeys(tmp_path)
    assert "0600" in (keys.fingerprint(OPTIONS) or "")
    with pytest.raises(PrecastError, match="0600"):
        keys.decrypt(b"", OPTIONS)
    (tmp_path / PRIVATE).chmod(0o600)
    assert len(keys.fingerprint(OPTIONS) or "") == 64


def test_replaced_key_is_read_again(tmp_path: Path, root: Path) -> None:
    keys = ServerKeys(tmp_path)
    assert keys.fingerprint(OPTIONS) is None
    make_pair(tmp_path)
    first = keys.fingerprint(OPTIONS)
    for name in (PRIVATE, PUBLIC):
        (tmp_path / name).write_bytes((root / "production" / name).read_bytes())
    assert first != keys.fingerprint(OPTIONS) == KeyDirectory(root).find("production").fingerprint(OPTIONS)
    assert keys.decrypt(envelope(root), OPTIONS) == b"hunter2"
