"""users, groups and their members, on account files below a root without programs."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.boot.modules import scratch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: useradd and its kin")

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMS4oVJ0Kn1sjtMDQUvoRzIYlEnTZdpOPDhZ8VtQ6dYx"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return scratch.make_root(tmp_path)


def users(root: Path) -> dict[str, list[str]]:
    return {line.split(":")[0]: line.split(":") for line in (root / "etc/passwd").read_text().splitlines()}


def passwords(root: Path) -> dict[str, str]:
    return {line.split(":")[0]: line.split(":")[1] for line in (root / "etc/shadow").read_text().splitlines()}


def groups(root: Path) -> dict[str, str]:
    return {line.split(":")[0]: line.split(":")[3] for line in (root / "etc/group").read_text().splitlines()}


def test_user_is_created_with_all_its_properties(root: Path) -> None:
    entry = {
        "name": "alice", "gecos": "Alice A.", "homedir": "/srv/alice", "uid": "2001", "primary_group": "team",
        "groups": "sudo, extra", "expiredate": "2032-09-01", "sudo": "ALL=(ALL) NOPASSWD:ALL", "lock-passwd": False,
        "passwd": "$6$salt$hash", "ssh_authorized_keys": [f"{KEY} alice@home", "no key at all"],
    }  # fmt: skip
    ran = scratch.run({"users": [entry]}, root, only=("users",))
    assert users(root)["alice"][2:6] == ["2001", groups_id(root, "team"), "Alice A.", "/srv/alice"]
    assert passwords(root)["alice"] == "$6$salt$hash"
    assert groups(root)["sudo"] == "alice"
    assert groups(root)["extra"] == "alice"
    rules = root / "etc/sudoers.d/90-cloud-init-users"
    assert rules.read_text() == "# User rules for alice\nalice ALL=(ALL) NOPASSWD:ALL\n"
    assert (rules.stat().st_mode & 0o777, rules.parent.stat().st_mode & 0o777) == (0o440, 0o750)
    keys = root / "srv/alice/.ssh/authorized_keys"
    assert keys.read_text() == f"{KEY} alice@home\n"
    assert (keys.stat().st_mode & 0o777, keys.stat().st_uid) == (0o600, 2001)
    assert [text for text in ran.warnings if "not a public key" in text]
    assert ran.errors == {}


def groups_id(root: Path, name: str) -> str:
    return next(line.split(":")[2] for line in (root / "etc/group").read_text().splitlines() if line.startswith(name))


def test_password_is_locked_by_default(root: Path) -> None:
    scratch.run({"users": ["bob", {"name": "carol", "plain_text_passwd": "Secret-7"}]}, root, only=("users",))
    assert passwords(root)["bob"].startswith("!")
    assert passwords(root)["carol"].startswith("!$6$")


def test_plain_password_is_hashed_and_never_shown(root: Path) -> None:
    entry = {"name": "dave", "plain_text_passwd": "Secret-7", "lock_passwd": False}
    ran = scratch.run({"users": [entry]}, root, only=("users",))
    assert passwords(root)["dave"].startswith("$6$")
    assert "Secret-7" not in f"{ran}"


def test_second_run_changes_nothing(root: Path) -> None:
    config: dict[str, Any] = {
        "groups": [{"admingroup": ["root", "sys"]}, "cloud-users"],
        "users": ["default", {"name": "erin", "ssh_authorized_keys": KEY, "sudo": ["ALL=(ALL) ALL"]}],
    }
    first = scratch.run(config, root, only=("groups", "users", "group_members"))
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    again = scratch.run(config, root, only=("groups", "users", "group_members"))
    assert first.errors == {}
    assert [text for outcome in again.outcomes.values() for text in outcome.changes] == []
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_default_user_is_the_distributions_unless_the_image_defines_one(root: Path) -> None:
    scratch.run({}, root, only=("users",))
    assert users(root)["debian"][5] == "/home/debian"
    assert groups(root)["sudo"] == "debian"
    assert "audio" not in groups(root)  # groups of the image's user are optional and not created
    scratch.run({"system_info": {"default_user": {"name": "pi"}}, "users": ["default"]}, root, only=("users",))
    assert "pi" in users(root)
    scratch.run({"user": "renamed"}, root, only=("users",))
    assert "renamed" in users(root)


def test_empty_list_of_users_creates_none(root: Path) -> None:
    ran = scratch.run({"users": []}, root, only=("users",))
    assert ran.order == []
    assert set(users(root)) == {"root", "sys"}


def test_existing_user_keeps_home_and_uid_and_gets_keys(root: Path) -> None:
    scratch.run({"users": [{"name": "frank", "uid": 3000}]}, root, only=("users",))
    entry = {"name": "frank", "uid": 4000, "homedir": "/elsewhere", "ssh_authorized_keys": [KEY]}
    scratch.run({"users": [entry]}, root, only=("users",))
    assert users(root)["frank"][2:6:3] == ["3000", "/home/frank"]
    assert (root / "home/frank/.ssh/authorized_keys").read_text() == f"{KEY}\n"


def test_dry_run_reports_and_changes_nothing(root: Path) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    config: dict[str, Any] = {
        "groups": ["g"],
        "users": [{"name": "gina", "sudo": "ALL=(ALL) ALL", "plain_text_passwd": "x"}],
    }
    ran = scratch.run(config, root, only=("groups", "users"), is_dry_run=True)
    assert ran.errors == {}
    assert "User[gina]: created" in ran.changes("users[gina]")
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "users_",
    [
        7,
        [7, None, True, {"name": ["a"]}],
        [{"gecos": "nobody"}],
        {"hans": {"uid": "many"}},
        [{"name": "ida", "sudo": {"a": 1}, "groups": 5, "shell": []}],
        "kim, lou",
        [["nested"]],
    ],
)
def test_invalid_values_affect_nothing_else(root: Path, users_: Any) -> None:
    ran = scratch.run({"users": users_, "groups": {"g": None}}, root, only=("groups", "users"))
    assert ran.errors == {}
    assert "g" in groups(root)
    assert users_ == "kim, lou" or ran.findings


def test_link_of_the_user_does_not_lead_keys_elsewhere(root: Path) -> None:
    scratch.run({"users": ["mallory"]}, root, only=("users",))
    home = root / "home/mallory"
    uid = home.stat().st_uid
    (root / "root/.ssh").mkdir()
    (home / ".ssh").symlink_to("/root/.ssh")
    os.lchown(home / ".ssh", uid, uid)
    ran = scratch.run({"users": [{"name": "mallory", "ssh_authorized_keys": [KEY]}]}, root, only=("users",))
    assert list((root / "root/.ssh").iterdir()) == []
    assert ran.errors or not (home / ".ssh").is_symlink()


def test_invalid_values_do_not_prevent_the_user(root: Path) -> None:
    entry = {
        "name": "nora",
        "expiredate": "soon",
        "homedir": "relative",
        "gecos": "a:b",
        "shell": "zsh",
        "inactive": "x",
    }
    ran = scratch.run({"users": [entry]}, root, only=("users",))
    assert ran.errors == {}
    assert users(root)["nora"][4:6] == ["", "/home/nora"]
    assert sorted(finding.location.partition(".")[2] for finding in ran.findings) == sorted(set(entry) - {"name"})


def test_name_with_a_path_is_invalid_in_every_form(root: Path) -> None:
    evil = "../../srv/evil"
    for given in ({evil: {"sudo": "ALL=(ALL) ALL"}, "zoe": {}}, [{"name": evil, "sudo": "ALL=(ALL) ALL"}, "zoe"]):
        ran = scratch.run({"users": given, "groups": {evil: [], "crew": ["zoe"]}}, root, only=("users", "groups"))
        assert any("letters and digits" in finding.text for finding in ran.findings), ran.findings
    assert "zoe" in users(root)
    assert "crew" in groups(root)
    assert not list(root.rglob("*evil*"))


def ids(root: Path) -> dict[str, int]:
    return {name: int(fields[2]) for name, fields in users(root).items() if int(fields[2]) >= 1000}


def test_users_get_ids_in_the_order_of_the_list_and_the_default_user_the_last(root: Path) -> None:
    config = {"groups": ["crew"], "users": ["default", {"name": "zoe", "groups": "builders"}, {"name": "ada"}]}
    ran = scratch.run(config, root, only=("groups", "users"))
    assert ran.errors == {}
    assert ids(root) == {"zoe": 1000, "ada": 1001, "debian": 1002}
    numbers = [groups_id(root, name) for name in ("crew", "builders", "zoe", "ada", "debian")]
    assert numbers == ["1000", "1001", "1002", "1003", "1004"]


def test_names_in_one_text_are_sorted(root: Path) -> None:
    scratch.run({"users": "zoe, ada"}, root, only=("users",))
    assert ids(root) == {"ada": 1000, "zoe": 1001}


def test_key_user_always_requests_the_default_user_and_null_removes_a_property(root: Path) -> None:
    image = {"default_user": {"name": "debian", "sudo": ["ALL=(ALL) ALL"], "groups": ["sudo"], "gecos": "Debian"}}
    config = {
        "system_info": image,
        "user": {"name": "admin", "sudo": None, "gecos": "Boss"},
        "users": [{"name": "ada"}],
    }
    ran = scratch.run(config, root, only=("users",))
    assert (ran.errors, ran.findings) == ({}, [])
    assert ids(root) == {"ada": 1000, "admin": 1001}
    assert (users(root)["admin"][4], groups(root)["sudo"]) == ("Boss", "admin")
    assert not (root / "etc/sudoers.d").exists()


def test_mapping_of_users_switches_names_on_and_off(root: Path) -> None:
    given = {"ada": {"gecos": "Ada"}, "default": True, "bob": False, "carol": True}
    ran = scratch.run({"users": given}, root, only=("users",))
    assert (ran.errors, ran.findings) == ({}, [])
    assert ids(root) == {"ada": 1000, "carol": 1001, "debian": 1002}


def test_first_value_counts_if_a_name_occurs_twice(root: Path) -> None:
    image = {"default_user": {"name": "debian", "groups": ["sudo"], "gecos": "Debian"}}
    listed = [{"name": "ada", "gecos": "One"}, {"name": "ada", "gecos": "Two", "uid": 3000},
              {"name": "debian", "gecos": "Mine", "groups": ["ops"]}, "default"]  # fmt: skip
    scratch.run({"system_info": image, "users": listed}, root, only=("users",))
    assert (users(root)["ada"][4], ids(root)["ada"]) == ("One", 3000)
    assert (users(root)["debian"][4], groups(root)["ops"], groups(root)["sudo"]) == ("Debian", "debian", "debian")


def test_entry_without_a_name_changes_the_default_user_and_is_reported(root: Path) -> None:
    ran = scratch.run({"users": [{"ssh_authorized_keys": [KEY]}, {"snapuser": "a@b"}]}, root, only=("users",))
    assert list(ids(root)) == ["debian"]
    assert (root / "home/debian/.ssh/authorized_keys").read_text() == f"{KEY}\n"
    assert [(finding.text, finding.is_warning) for finding in ran.findings] == [
        ("lacks name, so it changes the default user", True), ("is not supported", True), ("lacks name", False),
    ]  # fmt: skip


def test_shell_that_a_package_installs_later_is_set_and_reported(root: Path) -> None:
    ran = scratch.run({"users": [{"name": "ada", "shell": "/usr/bin/zsh"}]}, root, only=("users",))
    assert users(root)["ada"][6] == "/usr/bin/zsh"
    assert any("/usr/bin/zsh is not installed" in warning for warning in ran.warnings)


def test_of_several_passwords_the_hash_wins_and_plain_text_wins_over_passwd(root: Path) -> None:
    both = {"plain_text_passwd": "Secret-7", "lock_passwd": False}
    listed = [
        {"name": "ada", "hashed_passwd": "$6$salt$hash", **both},
        {"name": "bob", "passwd": "$6$salt$hash", **both},
    ]
    scratch.run({"users": listed}, root, only=("users",))
    assert passwords(root)["ada"] == "$6$salt$hash"
    assert passwords(root)["bob"] not in ("$6$salt$hash", "!")


def test_account_without_a_password_is_locked_too(root: Path) -> None:
    scratch.run({"users": [{"name": "sys"}]}, root, only=("users",))
    assert passwords(root)["sys"] == "!*"


def test_sudo_reads_the_rules_and_their_directory_is_closed(root: Path) -> None:
    (root / "etc/sudoers.d").mkdir(mode=0o755)
    (root / "etc/sudoers").write_text("root ALL=(ALL:ALL) ALL\n")
    listed = [{"name": "ada", "sudo": "ALL=(ALL) ALL"}, {"name": "b.ob", "sudo": ["ALL=(ALL) A", "ALL=(ALL) B"]}]
    for _ in range(2):
        scratch.run({"users": listed}, root, only=("users",))
        lines = (root / "etc/sudoers.d/90-cloud-init-users").read_text().splitlines()
        assert [line for line in lines if not line.startswith("#")] == [
            "ada ALL=(ALL) ALL", "b.ob ALL=(ALL) A", "b.ob ALL=(ALL) B",
        ]  # fmt: skip
        assert (root / "etc/sudoers").read_text() == "root ALL=(ALL:ALL) ALL\n@includedir /etc/sudoers.d\n"
    assert (root / "etc/sudoers.d").stat().st_mode & 0o777 == 0o750


def test_members_that_exist_come_before_the_users_of_this_boot(root: Path) -> None:
    config = {"groups": [{"crew": ["zoe", "sys"]}], "users": [{"name": "ada", "groups": "crew"}, {"name": "zoe"}]}
    ran = scratch.run(config, root, only=("groups", "users", "group_members"))
    assert (ran.errors, ran.warnings) == ({}, [])
    assert set(groups(root)["crew"].split(",")) == {"sys", "ada", "zoe"}
    again = scratch.run({"groups": [{"more": ["sys"]}], "users": [{"name": "eve", "groups": "more"}]}, root,
                        only=("groups", "users", "group_members"))  # fmt: skip
    assert again.errors == {}
    assert groups(root)["more"] == "sys,eve"
