"""A password that is sent to the platform, encrypted for the machine's key; and the platform's certificates."""

import asyncio
import base64
import json
import os
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from precast.boot.capabilities import Capability
from tests.e2e.boot.test_boot_cli import precast
from tests.unit.boot.http_servers import HttpRequest, Service, Writer, answer, served
from tests.unit.boot.modules import scratch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: chpasswd and its kin")
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
RSA = (
    KEY.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode() + " ada"
)
ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJaDRGEsCpPa0PDaeLBZKAEwS3Cx6SVnwxAJ1cNGTvZm ada"


class Platform(Service):
    """OpenStack's service, which accepts one password."""

    def __init__(self, *keys: str, status: int = 200) -> None:
        names = {f"k{at}": key for at, key in enumerate(keys)}
        meta = {"uuid": "u-1", "hostname": "cloud", "public_keys": names}
        user_data = "#cloud-config\npost_password: {user: root}\nusers: []\n"
        files = {"openstack/latest/meta_data.json": json.dumps(meta), "openstack/latest/user_data": user_data}
        super().__init__(files)
        self.posted: list[bytes] = []
        self.status = status

    async def __call__(self, asked: HttpRequest, writer: Writer) -> None:
        if asked.method != "POST":
            await super().__call__(asked, writer)
            return
        self.posted.append(asked.body)
        writer.write(answer(self.status))


async def boot(root: Path, platform: Platform, *words: str) -> "subprocess.CompletedProcess[str]":
    async with served(platform) as base:
        given = ["run", "--root", str(root), "--source", "openstack", "--address", f"openstack={base}", *words]
        return await asyncio.to_thread(precast, *given)


def opened(posted: bytes) -> str:
    return KEY.decrypt(base64.b64decode(posted), padding.PKCS1v15()).decode()


def is_password(root: Path, name: str, password: str) -> bool:
    line = next(line for line in (root / "etc/shadow").read_text().splitlines() if line.startswith(f"{name}:"))
    stored = line.split(":")[1]
    words = ["openssl", "passwd", "-6", "-salt", stored.split("$")[2], password]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() == stored


async def test_password_is_set_and_told_encrypted_and_kept_nowhere(tmp_path: Path) -> None:
    root, platform = scratch.make_root(tmp_path), Platform(ED25519, RSA)
    done = await boot(root, platform)
    assert done.returncode == 0, done.stdout + done.stderr
    (posted,) = platform.posted
    password = opened(posted)
    assert len(password) == 20
    assert is_password(root, "root", password)
    assert password not in done.stdout
    leaks = [path for path in root.rglob("*") if path.is_file() and password.encode() in path.read_bytes()]
    assert leaks == []
    again = await boot(root, platform)
    assert (again.returncode, len(platform.posted)) == (0, 1)


async def test_password_that_the_platform_refuses_is_told_and_tried_again_with_the_same_one(tmp_path: Path) -> None:
    root, platform = scratch.make_root(tmp_path), Platform(RSA, status=403)
    done = await boot(root, platform)
    assert done.returncode == 1
    assert "post_password: failed: " in done.stdout
    assert "responded with status 403" in done.stdout
    platform.status = 200
    again = await boot(root, platform, "--retry")
    assert again.returncode == 0, again.stdout
    first, second = (opened(each) for each in platform.posted)
    assert first == second
    assert is_password(root, "root", second)


@pytest.mark.parametrize("was_cut_off", [True, False])
async def test_platform_that_has_a_password_keeps_it_and_ours_is_not_left_on_the_disk(
    tmp_path: Path, was_cut_off: bool
) -> None:
    root, platform = scratch.make_root(tmp_path), Platform(RSA, status=409)
    kept = root / "var/lib/precast/boot/instances/u-1/passwords/to-post"
    if was_cut_off:  # after it was told, and before that was noted
        kept.parent.mkdir(parents=True)
        kept.write_text("told-already")
    done = await boot(root, platform)
    assert "accepts only the first" in done.stdout
    assert done.returncode == (0 if was_cut_off else 1), done.stdout
    assert [opened(each) == "told-already" for each in platform.posted] == [was_cut_off]
    assert not kept.exists()
    assert (await boot(root, platform)).returncode == 0
    assert len(platform.posted) == 1


async def test_key_that_cannot_encrypt_is_named_and_no_password_is_set(tmp_path: Path) -> None:
    root, platform = scratch.make_root(tmp_path), Platform(ED25519)
    before = (root / "etc/shadow").read_text()
    done = await boot(root, platform)
    assert done.returncode == 1
    assert "only be encrypted for an RSA key, and the machine was started with ssh-ed25519" in done.stdout
    assert (platform.posted, (root / "etc/shadow").read_text()) == ([], before)


def test_source_that_takes_no_password_is_told_as_the_reason(tmp_path: Path) -> None:
    root = scratch.make_root(tmp_path)
    seed = root / "var/lib/cloud/seed/nocloud"
    seed.mkdir(parents=True)
    (seed / "meta-data").write_text("instance-id: i-1\n")
    (seed / "user-data").write_text("#cloud-config\npost_password: true\n")
    done = precast("run", "--root", str(root))
    assert done.returncode == 0
    assert "post_password: not run: it needs password post: no present source offers it" in done.stdout
    assert "post_password: not run: it needs password post" in precast("status", "--root", str(root)).stdout
    # No key asks for certificates, so their absence is not reported.
    assert "certificates" not in done.stdout
    told = precast("explain", "--root", str(root), "platform_certificates")
    assert "module platform_certificates: not run: it needs certificates: no present source offers it" in told.stdout


def test_certificates_are_installed_under_their_thumbprints(tmp_path: Path) -> None:
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-keyout", "k.pem", "-out", "c.pem"]
    subprocess.run(["openssl", *words], cwd=tmp_path, check=True, capture_output=True)
    pem = (tmp_path / "c.pem").read_text()
    argv = ["openssl", "x509", "-noout", "-fingerprint", "-sha1", "-in", "c.pem"]
    said = subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    thumb = said.strip().partition("=")[2].replace(":", "")
    root = scratch.make_root(tmp_path / "root")
    values = {Capability.CERTIFICATES: (pem, "nonsense"), Capability.PLATFORM: "azure"}
    ran = scratch.run({}, root, values=values, only=("platform_certificates",))
    assert (root / f"var/lib/waagent/{thumb}.crt").read_text() == pem
    assert len(ran.warnings) == 1
    scratch.run({}, root, values={Capability.CERTIFICATES: (pem,)}, only=("platform_certificates",))
    assert (root / f"var/lib/cloud/certificates/{thumb}.crt").read_text() == pem
