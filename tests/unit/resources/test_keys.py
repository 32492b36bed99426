"""ssh_authorized_key, sshkey and fstab lines below a root."""

import os
from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.machine import Machine
from precast.base.errors import DeniedError, InputError, NotFoundError
from precast.resources import mount, ssh_authorized_key
from precast.resources.contract import DesiredResource
from precast.resources.sshkey import Sshkey
from tests.unit.resources.applied_resource import apply_resource, differences, handler, machine

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIJ3"


@pytest.fixture
def node(tmp_path: Path) -> Machine:
    (tmp_path / "etc/ssh").mkdir(parents=True)
    (tmp_path / "home/kim").mkdir(parents=True)
    me = f"{os.getuid()}:{os.getgid()}"
    (tmp_path / "etc/passwd").write_text(f"kim:x:{me}::/home/kim:/bin/sh\n")
    return machine(tmp_path)


def authorized(node: Machine) -> Path:
    return Path(node.path("/home/kim/.ssh/authorized_keys"))


def test_key_is_added_changed_and_removed(node: Machine) -> None:
    key: dict[str, Any] = {"user": "kim", "type": "ed25519", "key": KEY}
    assert apply_resource(node, "ssh_authorized_key", "kim@laptop", **key) == ["ensure: created"]
    assert authorized(node).read_text() == f"ssh-ed25519 {KEY} kim@laptop\n"
    modes = [path.stat().st_mode & 0o777 for path in (authorized(node), authorized(node).parent)]
    assert modes == [0o600, 0o700]
    options = ["no-pty", 'command="/bin/x y, z"']
    assert apply_resource(node, "ssh_authorized_key", "kim@laptop", **key, options=options) == [
        """options: options changed ['absent'] to ['no-pty', 'command="/bin/x y, z"']"""
    ]
    assert apply_resource(node, "ssh_authorized_key", "kim@laptop", user="kim", ensure="absent") == ["ensure: removed"]
    assert authorized(node).read_text() == ""


def test_other_lines_keep_their_bytes(node: Machine) -> None:
    authorized(node).parent.mkdir()
    authorized(node).write_text("# mine\n\nno-pty   ssh-rsa AAAA  other@host\n")
    apply_resource(node, "ssh_authorized_key", "kim", user="kim", type="ssh-rsa", key="BBBB")
    assert authorized(node).read_text() == "# mine\n\nno-pty   ssh-rsa AAAA  other@host\nssh-rsa BBBB kim\n"


def test_linked_directory_is_not_followed_by_root(node: Machine) -> None:
    Path(node.path("/home/kim/.ssh")).symlink_to(Path(node.path("/etc/ssh")))
    with pytest.raises(DeniedError, match="behind a link"):
        apply_resource(node, "ssh_authorized_key", "kim", user="kim", type="ssh-rsa", key="BBBB")
    assert list(Path(node.path("/etc/ssh")).iterdir()) == []


def test_user_that_is_not_there_fails_when_it_is_applied(node: Machine) -> None:
    (change,) = differences(node, "ssh_authorized_key", "k", user="nobody-at-all", type="rsa", key="B")
    made = handler(node, "ssh_authorized_key", "k", user="nobody-at-all", type="rsa", key="B")
    with pytest.raises(NotFoundError, match="user nobody-at-all does not exist"):
        made.apply(change)


def test_key_without_an_account_fails_when_planned(node: Machine) -> None:
    with pytest.raises(InputError, match="user must be given"):
        handler(node, "ssh_authorized_key", "k", type="rsa", key="B")


def test_keys_that_nobody_declared_are_removed_with_purge_ssh_keys(node: Machine) -> None:
    authorized(node).parent.mkdir()
    authorized(node).write_text("# mine\nssh-rsa AAAA kim@desk\nssh-rsa BBBB stranger\nno-pty ssh-rsa CCCC\n")
    node.declare([DesiredResource("ssh_authorized_key", "kim@desk", {"user": "kim"})], {})
    user = handler(node, "user", "kim", purge_ssh_keys="%h/.ssh/authorized_keys")
    doomed = user.expand(user.read())
    assert [each.resource.title for each in doomed] == ["stranger", "/home/kim/.ssh/authorized_keys:unnamed-1"]
    for each in doomed:
        (change,) = each.compare(each.read())
        each.apply(change)
        assert each.compare(each.read()) == ()
    assert authorized(node).read_text() == "# mine\nssh-rsa AAAA kim@desk\n"
    assert handler(node, "user", "kim", purge_ssh_keys=False).expand({}) == ()


def test_options_with_quotes_and_commas_are_read() -> None:
    entry = ssh_authorized_key.parse('command="a, \\"b\\" c",no-pty ssh-rsa KEY the name')
    assert entry == (['command="a, \\"b\\" c"', "no-pty"], "ssh-rsa", "KEY", "the name")


def test_host_key_is_known_by_name_and_type(node: Machine) -> None:
    known = Path(node.path("/etc/ssh/ssh_known_hosts"))
    known.write_text("# ours\n@cert-authority * ssh-rsa CA\n")
    apply_resource(node, "sshkey", "git.example", type="ed25519", key="K1", host_aliases=["git", "10.0.0.3"])
    apply_resource(node, "sshkey", "git.example@ssh-rsa", key="K2")
    assert apply_resource(node, "sshkey", "git.example", type="ssh-ed25519", key="K3", host_aliases=["git"]) == [
        "key: key changed 'K1' to 'K3'",
        "host_aliases: host_aliases changed ['git', '10.0.0.3'] to ['git']",
    ]
    assert known.read_text().splitlines()[2:] == ["git.example,git ssh-ed25519 K3", "git.example ssh-rsa K2"]
    assert [each.title for each in Sshkey.instances(node)] == ["git.example@ssh-ed25519", "git.example@ssh-rsa"]


def test_line_of_fstab_is_read_with_its_defaults_and_blanks() -> None:
    assert mount.parse("tmpfs /mnt/a\\040b tmpfs") == ("tmpfs", "/mnt/a b", "tmpfs", "defaults", "0", "0")
    assert mount.parse("# tmpfs /mnt tmpfs") is None


def test_mount_is_refused_below_a_root_that_is_no_system(node: Machine) -> None:
    with pytest.raises(InputError, match="cannot be applied below"):
        handler(node, "mount", "/mnt", device="x", fstype="tmpfs")
