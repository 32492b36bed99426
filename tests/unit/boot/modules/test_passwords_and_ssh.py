"""Passwords and ssh below a root without programs; the e2e tests cover what needs programs."""

import os
from pathlib import Path
from typing import Any

import pytest

from precast.boot.capabilities import Capability
from precast.boot.modules.passwords import list_requests
from precast.boot.modules.passwords import make_parts as make_password_parts
from precast.resources.ssh_authorized_key import parse
from tests.unit.boot.modules import scratch
from tests.unit.boot.modules.test_users import KEY, passwords

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: chpasswd and its kin")
HASH = "$6$salt$" + "x" * 20


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return scratch.make_root(tmp_path)


def aging(root: Path, name: str) -> str:
    """Return the day of the last change; 0 if the password must be changed."""
    return next(
        line.split(":")[2] for line in (root / "etc/shadow").read_text().splitlines() if line.startswith(f"{name}:")
    )


@pytest.mark.parametrize(
    "given",
    [
        {"list": "root:open-7\nsys:" + HASH},
        {"list": ["root:open-7", "sys:" + HASH]},
        {"users": [{"name": "root", "password": "open-7", "type": "text"}, {"name": "sys", "password": HASH}]},
    ],
)
@pytest.mark.parametrize("expires", [True, False, None])
def test_both_forms_set_passwords_of_existing_users(root: Path, given: dict[str, Any], expires: bool | None) -> None:
    config = {"chpasswd": {**given, **({} if expires is None else {"expire": expires})}, "users": []}
    ran = scratch.run(config, root, only=("passwords",))
    assert ran.errors == {}
    assert passwords(root)["root"].startswith("$6$")
    assert passwords(root)["sys"] == HASH
    assert (aging(root, "root") == "0") is (expires is not False)
    assert (aging(root, "sys") == "0") is (expires is not False)
    assert "open-7" not in f"{ran}"


def test_random_password_is_stored_for_root_only(root: Path) -> None:
    scratch.run({"chpasswd": {"list": ["root:RANDOM"]}}, root, only=("passwords",))
    kept = root / "var/lib/precast/boot/instance/passwords/root"
    assert len(kept.read_text().strip()) == 20
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_password_waits_for_its_user_only_and_missing_users_are_reported(root: Path) -> None:
    config = {"chpasswd": {"list": ["zoe:a", "root:b", "ghost:c"]}, "users": ["zoe", "yan"]}
    waits = {part.name: part.waits_for for part in make_password_parts(config)}
    assert waits["zoe"] == ("user:zoe exists",)
    ran = scratch.run(config, root)
    assert ran.order.index("users[zoe]") < ran.order.index("passwords[zoe]")
    assert list(ran.errors) == ["passwords[ghost]"]
    assert ran.errors["passwords[ghost]"].code == "BOOT-206"


def test_password_of_the_default_user_comes_from_the_configuration_or_the_source(root: Path) -> None:
    scratch.run({"password": "x1", "chpasswd": {"expire": False}}, root, only=("users", "passwords"))
    first = passwords(root)["debian"]
    assert first.startswith("$6$")
    ran = scratch.run({}, root, only=("passwords",), values={Capability.PASSWORD_GET: "given"})
    assert ran.errors == {}
    assert passwords(root)["debian"] not in (first, "!")


def test_password_for_the_default_user_counts_only_without_other_requests(root: Path) -> None:
    config = {"password": "x1", "chpasswd": {"list": ["root:b"]}}
    assert [request.user for request in list_requests({**config, "users": ["default"]})] == ["root"]
    assert list_requests({"password": "x1", "users": []}) == []


def ssh(root: Path, config: dict[str, Any], keys: tuple[str, ...] = ()) -> scratch.ScratchRun:
    return scratch.run(config, root, only=("users", "ssh"), values={Capability.PUBLIC_KEYS: keys} if keys else {})


def test_keys_of_the_data_source_authorize_the_default_user_and_redirect_root(root: Path) -> None:
    ssh(root, {"ssh_authorized_keys": [f"{KEY}A config"]}, (f"{KEY}B source",))
    assert (root / "home/debian/.ssh/authorized_keys").read_text() == f"{KEY}A config\n{KEY}B source\n"
    redirects = (root / "root/.ssh/authorized_keys").read_text()
    assert redirects.count('command="echo \'Please login as the user \\"debian\\" rather than') == 2
    assert (root / "root/.ssh/authorized_keys").stat().st_mode & 0o777 == 0o600


def test_redirect_replaces_the_options_of_a_key(root: Path) -> None:
    """Two lists of options before a key would make the line invalid, and sshd would not show the message."""
    own = f'from="192.0.2.0/24",no-pty {KEY} desk'
    ssh(root, {"ssh_authorized_keys": [own]})
    assert (root / "home/debian/.ssh/authorized_keys").read_text() == f"{own}\n"
    [line] = (root / "root/.ssh/authorized_keys").read_text().splitlines()
    assert line.endswith(f'exit 142" {KEY} desk')
    assert "from=" not in line
    assert parse(line) is not None


def test_root_login_is_allowed_only_on_request(root: Path) -> None:
    ssh(root, {"disable_root": False, "users": []}, (f"{KEY} source",))
    assert (root / "root/.ssh/authorized_keys").read_text() == f"{KEY} source\n"


def test_every_user_gets_a_file_for_keys_that_user_data_can_append_to(root: Path) -> None:
    (root / "etc/ssh").mkdir()
    config = {"users": ["default", "ada", {"name": "svc", "system": True}]}
    assert ssh(root, config).errors == {}
    for home in ("home/debian", "home/ada", "root"):
        keys, owner = root / home / ".ssh/authorized_keys", (root / home).stat().st_uid
        assert (keys.read_bytes(), keys.stat().st_mode & 0o777, keys.stat().st_uid) == (b"", 0o600, owner)
        assert (keys.parent.stat().st_mode & 0o777, keys.parent.stat().st_uid) == (0o700, owner)
    assert not (root / "home/svc").exists()
    again = ssh(root, config)
    assert again.changes("ssh[keys]") == []


def test_public_keys_of_the_source_can_be_refused(root: Path) -> None:
    ran = ssh(root, {"allow_public_ssh_keys": False}, (f"{KEY} source",))
    assert ran.outcomes["ssh[keys]"].remark
    assert not (root / "root/.ssh").exists()


@pytest.mark.parametrize(("setting", "value"), [(True, "yes"), (False, "no"), ("yes", "yes")])
def test_password_login_is_set_before_what_the_image_says(root: Path, setting: Any, value: str) -> None:
    (root / "etc/ssh").mkdir()
    config = root / "etc/ssh/sshd_config"
    config.write_text("Port 22\nPasswordAuthentication maybe\nMatch User x\n  PasswordAuthentication no\n")
    ssh(root, {"ssh_pwauth": setting})
    text = f"Port 22\nPasswordAuthentication {value}\nMatch User x\n  PasswordAuthentication no\n"
    assert config.read_text() == text
    config.write_text("Include /etc/ssh/sshd_config.d/*.conf\n")
    ssh(root, {"ssh_pwauth": setting})
    beside = root / "etc/ssh/sshd_config.d/50-cloud-init.conf"
    assert beside.read_text() == f"PasswordAuthentication {value}\n"


def test_server_that_is_not_installed_yet_finds_no_configuration(root: Path) -> None:
    ssh(root, {"ssh_pwauth": True, "ssh_keys": {"rsa_private": "A", "rsa_public": "B", "rsa_certificate": "C"}})
    assert not (root / "etc/ssh/sshd_config").exists()
    beside = root / "etc/ssh/sshd_config.d/50-cloud-init.conf"
    assert sorted(beside.read_text().splitlines()) == [
        "HostCertificate /etc/ssh/ssh_host_rsa_key-cert.pub", "PasswordAuthentication yes",
    ]  # fmt: skip
    assert beside.stat().st_mode & 0o777 == 0o600


def test_host_keys_of_the_image_are_deleted_and_configured_ones_are_private(root: Path) -> None:
    (root / "etc/ssh").mkdir()
    for name in ("ssh_host_rsa_key", "ssh_host_rsa_key.pub", "moduli"):
        (root / "etc/ssh" / name).write_text("old")
    ran = ssh(root, {"ssh_keys": {"ed25519_private": "SECRET", "ed25519_public": f"{KEY} host", "rsa_nonsense": "x"}})
    names = {path.name: path.stat().st_mode & 0o777 for path in (root / "etc/ssh").iterdir()}
    assert names == {"moduli": 0o644, "ssh_host_ed25519_key": 0o600, "ssh_host_ed25519_key.pub": 0o644}
    assert "SECRET" not in f"{ran}"
    assert [finding.location for finding in ran.findings] == ["ssh_keys.rsa_nonsense"]
    # A second run for the same instance keeps the files of the first one.
    ssh(root, {"ssh_keys": {"ed25519_private": "SECRET", "ed25519_public": f"{KEY} host"}})
    assert (root / "etc/ssh/ssh_host_ed25519_key").exists()
