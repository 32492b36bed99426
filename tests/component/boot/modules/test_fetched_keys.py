"""Keys that are fetched: people's ssh keys, and keys of package sources. A server may return anything."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from precast.boot.modules import ssh_import_id
from precast.resources.apt import openpgp
from tests.unit.boot.http_servers import Service, served
from tests.unit.boot.modules import scratch
from tests.unit.boot.modules.test_users import KEY

OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJaDRGEsCpPa0PDaeLBZKAEwS3Cx6SVnwxAJ1cNGTvZm"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: useradd and its kin")


@as_root
async def test_keys_of_people_are_added_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = scratch.make_root(tmp_path)
    answers = {"gh/ada.keys": f"{KEY}\n\n{OTHER}\n", "lp/bob": "<html>no keys</html>\n"}
    config = {
        "users": [{"name": "ada", "ssh_import_id": ["gh:ada", "bob", "gh:none", "../etc"]}],
        "ssh_import_id": ["gh:ada"],
        "user": "ada",
    }
    async with served(Service(answers)) as base:
        addresses = {"gh": f"{base}/gh/{{name}}.keys", "lp": f"{base}/lp/{{name}}"}
        monkeypatch.setattr(ssh_import_id, "ADDRESSES", addresses)
        for _ in range(2):
            ran = await asyncio.to_thread(scratch.run, config, root, only=("users", "ssh_import_id"))
    lines = (root / "home/ada/.ssh/authorized_keys").read_text().splitlines()
    assert lines == [f"{key} # ssh-import-id gh:ada" for key in (KEY, OTHER)]
    message = ran.errors["ssh_import_id[ada]"].message
    assert "gh/none.keys cannot be fetched: the server responded 404" in message
    assert "'../etc' is neither gh:NAME nor lp:NAME" in message
    assert any("is not a public key" in warning for warning in ran.warnings)


class Ring:
    """A keyring with keys that are generated for a test."""

    def __init__(self, home: Path) -> None:
        self._home = str(home)
        self._gpg = ["gpg", "--homedir", self._home, "--batch", "-q"]
        home.mkdir(mode=0o700)
        for name in ("a", "b"):
            self.run("--passphrase", "", "--quick-gen-key", f"{name}@example", "ed25519", "sign", "never")
        self.fingerprints = self.list_fingerprints(self.run("--armor", "--export"))

    def run(self, *words: str, stdin: bytes = b"") -> bytes:
        return subprocess.run([*self._gpg, *words], input=stdin, capture_output=True, check=True).stdout

    def close(self) -> None:
        """Stop the process that gpg leaves behind."""
        subprocess.run(["gpgconf", "--homedir", self._home, "--kill", "all"], check=True, capture_output=True)

    def list_fingerprints(self, block: bytes) -> list[str]:
        listing = self.run("--show-keys", "--with-colons", stdin=block).decode()
        return [line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr")]


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[Ring]:
    if shutil.which("gpg") is None:
        pytest.skip("needs gpg")
    ring = Ring(tmp_path / "ring")
    yield ring
    ring.close()


async def test_key_of_a_source_is_fetched_and_only_the_requested_key_is_kept(tmp_path: Path, ring: Ring) -> None:
    root = scratch.make_root(tmp_path / "root")
    (root / "etc/apt").mkdir()
    first, second = ring.fingerprints
    both = ring.run("--armor", "--export")
    asked = {f"pks/lookup?op=get&options=mr&search=0x{number}": both for number in (first, second[-16:], "0" * 40)}
    source = "deb [signed-by=$KEY_FILE] http://x/ y z"
    async with served(Service(asked)) as base:
        sources: dict[str, Any] = {
            "whole": {
                "source": source,
                "keyid": " ".join(first[at : at + 4] for at in range(0, 40, 4)),
                "keyserver": base,
            },
            "short": {"source": source, "keyid": f"0x{second[-16:]}", "keyserver": base.replace("http:", "hkp:")},
            "other": {"source": source, "keyid": "0" * 40, "keyserver": base},
            "wrong": {"source": source, "keyid": "not a number", "keyserver": base},
        }
        ran = await asyncio.to_thread(scratch.run, {"apt": {"sources": sources}}, root, only=("apt",))
    for name, number in (("whole", first), ("short", second)):
        assert ring.list_fingerprints((root / f"etc/apt/keyrings/precast-boot-{name}.asc").read_bytes()) == [number]
    message = ran.errors["apt"].message
    assert "the response contains no key with this id" in message
    assert "keyid must be a fingerprint" in message
    assert not (root / "etc/apt/sources.list.d/other.list").exists()


def test_id_of_a_subkey_matches_no_key(ring: Ring) -> None:
    ring.run("--passphrase", "", "--quick-add-key", ring.fingerprints[0], "ed25519", "sign", "never")
    block = ring.run("--armor", "--export", ring.fingerprints[0])
    first, sub = ring.list_fingerprints(block)
    assert ring.list_fingerprints(openpgp.extract_key(block, first).encode()) == [first, sub]
    with pytest.raises(ValueError, match="no key with this id"):
        openpgp.extract_key(block, sub)


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"<html>", b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n!!!\n-----END PGP PUBLIC KEY BLOCK-----\n",
        b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQINBGO9u+MBEADm\n-----END PGP PUBLIC KEY BLOCK-----\n",
        b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n" + b" \n" * 400_000,
        b"-----END PGP PUBLIC KEY BLOCK-----\n\n-----BEGIN PGP PUBLIC KEY BLOCK-----\n",
        b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nxv8=\n-----END PGP PUBLIC KEY BLOCK-----\n",
    ],
)  # fmt: skip
def test_response_that_is_not_a_key_is_refused(answer: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a valid key|truncated"):
        openpgp.extract_key(answer, "0" * 40)
