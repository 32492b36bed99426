"""user and group: real programs of the shadow suite on files below a root."""

import os
from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.machine import Machine
from precast.base.errors import InputError, UnavailableError
from precast.resources.files import safe_reads
from precast.resources.files.safe_paths import ParentCache
from precast.resources.files.safe_reads import FileContent
from precast.resources.user import User
from tests.unit.resources.applied_resource import apply_resource, differences, handler, machine

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: useradd and its kin")


@pytest.fixture
def node(tmp_path: Path) -> Machine:
    for name in ("etc/skel", "home", "bin", "var/mail"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "etc/skel/.profile").write_text("hello\n")
    for shell in ("sh", "bash"):
        (tmp_path / "bin" / shell).write_text("")
    (tmp_path / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nold:x:1500:1500::/home/old:/bin/sh\n")
    (tmp_path / "etc/shadow").write_text("root:*:20000:0:99999:7:::\nold:!:20000::::::\n")
    (tmp_path / "etc/group").write_text("root:x:0:\nadm:x:4:old\nops:x:1501:old\nold:x:1500:\n")
    (tmp_path / "etc/gshadow").write_text("root:*::\nadm:*::old\nops:!::old\nold:!::\n")
    return machine(tmp_path)


def entry(node: Machine, file: str, name: str) -> str:
    lines = Path(node.path(f"/etc/{file}")).read_text().splitlines()
    return next((line for line in lines if line.startswith(f"{name}:")), "")


@AS_ROOT
def test_group_is_made_changed_and_removed(node: Machine) -> None:
    assert apply_resource(node, "group", "devs", gid="4242") == ["ensure: created"]
    assert entry(node, "group", "devs") == "devs:x:4242:"
    assert apply_resource(node, "group", "devs", ensure="present", gid=4243) == ["gid: gid changed 4242 to 4243"]
    assert apply_resource(node, "group", "devs", ensure="absent") == ["ensure: removed"]
    assert entry(node, "group", "devs") == ""


@AS_ROOT
def test_group_with_nothing_but_a_name_is_wanted(node: Machine) -> None:
    assert apply_resource(node, "group", "plain") == ["ensure: created"]
    assert apply_resource(node, "group", "low", system=True) == ["ensure: created"]
    assert int(entry(node, "group", "low").split(":")[2]) < 1000


@AS_ROOT
def test_group_takes_a_used_number_only_when_allowed(node: Machine) -> None:
    with pytest.raises(UnavailableError, match="GID '4' already exists"):
        apply_resource(node, "group", "adm2", gid=4)
    assert apply_resource(node, "group", "adm2", gid=4, allowdupe=True) == ["ensure: created"]


@AS_ROOT
def test_user_is_made_with_all_its_properties(node: Machine) -> None:
    apply_resource(node, "group", "devs", gid=4242)
    messages = apply_resource(
        node, "user", "alice", ensure="present", uid=4001, gid="devs", groups=["ops", "adm"], home="/home/alice",
        managehome=True, shell="/bin/sh", comment="Alice Ä", password="$6$abc$def", password_max_age=90,
        password_min_age=1, password_warn_days="5", expiry="2030-01-02",
    )  # fmt: skip
    assert messages == ["ensure: created"]
    assert entry(node, "passwd", "alice") == "alice:x:4001:4242:Alice Ä:/home/alice:/bin/sh"
    assert entry(node, "shadow", "alice").split(":")[1] == "$6$abc$def"
    assert entry(node, "shadow", "alice").split(":")[3:] == ["1", "90", "5", "", "21916", ""]
    assert entry(node, "group", "adm") == "adm:x:4:old,alice"
    assert Path(node.path("/home/alice/.profile")).stat().st_uid == 4001


@AS_ROOT
def test_group_that_has_the_users_name_becomes_the_users_own(node: Machine) -> None:
    apply_resource(node, "group", "alice", gid=4300)
    assert apply_resource(node, "user", "alice", ensure="present") == ["ensure: created"]
    assert entry(node, "passwd", "alice").split(":")[3] == "4300"


@AS_ROOT
def test_changes_are_told_in_puppets_order_and_words(node: Machine) -> None:
    apply_resource(node, "user", "old", expiry="2030-01-02")
    messages = apply_resource(
        node, "user", "old", groups="root", membership="inclusive", gid="ops", home="/home/new", shell="/bin/bash",
        comment="C", uid=1600, expiry="absent", password="$6$a$b", password_max_age=91,
    )  # fmt: skip
    assert messages == [
        "home: home changed '/home/old' to '/home/new'",
        "uid: uid changed 1500 to 1600",
        "gid: gid changed 1500 to 'ops'",
        "comment: comment changed '' to 'C'",
        "shell: shell changed '/bin/sh' to '/bin/bash'",
        "password: changed [redacted] to [redacted]",
        "password_max_age: password_max_age changed -1 to 91",
        "groups: groups changed adm,ops to ['root']",
        "expiry: undefined 'expiry' from '2030-01-02'",
    ]
    assert entry(node, "passwd", "old") == "old:x:1600:1501:C:/home/new:/bin/bash"
    assert entry(node, "group", "adm") == "adm:x:4:"


@AS_ROOT
def test_groups_are_a_minimum_unless_they_are_all(node: Machine) -> None:
    assert differences(node, "user", "old", groups=["adm"]) == []
    assert apply_resource(node, "user", "old", groups=["root"]) == [
        "groups: groups changed adm,ops to ['adm', 'ops', 'root']"
    ]


@AS_ROOT
def test_members_are_a_minimum_unless_they_are_all(node: Machine) -> None:
    assert apply_resource(node, "group", "adm", members=["root"]) == ["members: members changed ['old'] to ['root']"]
    assert entry(node, "group", "adm") == "adm:x:4:old,root"
    apply_resource(node, "group", "adm", members="root", auth_membership=True)
    assert entry(node, "group", "adm") == "adm:x:4:root"


@AS_ROOT
def test_user_goes_with_its_home_only_if_that_is_managed(node: Machine) -> None:
    for name, manages in (("kept", False), ("gone", True)):
        apply_resource(node, "user", name, ensure="present", managehome=True)
        apply_resource(node, "user", name, ensure="absent", managehome=manages)
    assert [each.name for each in Path(node.path("/home")).iterdir()] == ["kept"]


@AS_ROOT
def test_empty_password_and_locked_one_are_set(node: Machine) -> None:
    apply_resource(node, "user", "old", password="")
    assert entry(node, "shadow", "old").split(":")[1] == ""
    apply_resource(node, "user", "old", password="!")
    assert entry(node, "shadow", "old").split(":")[1] == "!"


def test_user_without_any_property_is_not_managed(node: Machine) -> None:
    assert differences(node, "user", "nobody-at-all") == []


def test_users_are_listed_as_they_are(node: Machine) -> None:
    instances = {instance.title: instance.properties for instance in User.instances(node)}
    assert instances["old"]["groups"] == ["adm", "ops"]
    assert (instances["old"]["password_max_age"], instances["root"]["password_max_age"]) == (-1, 99999)
    assert "comment" not in instances["old"]


def test_who_may_not_read_hashes_still_sees_accounts(node: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    read = safe_reads.read_file

    def forbidden(parents: ParentCache, path: str) -> FileContent | None:
        if path.endswith("shadow"):
            raise PermissionError(13, "Permission denied")
        return read(parents, path)

    monkeypatch.setattr(safe_reads, "read_file", forbidden)
    instances = {instance.title: instance.properties for instance in User.instances(node)}
    assert (instances["old"]["uid"], instances["old"]["password"]) == (1500, "x")


@AS_ROOT
def test_missing_shell_is_refused(node: Machine) -> None:
    with pytest.raises(InputError, match="shell cannot be '/no/such': it must exist"):
        apply_resource(node, "user", "x", shell="/no/such")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"uid": "x"}, "uid cannot be 'x'"),
        ({"groups": "a,b"}, "groups cannot be 'a,b'"),
        ({"expiry": "2030-1-1"}, "expiry cannot be"),
        ({"home": "here"}, "home cannot be"),
        ({"comment": "a:b"}, "comment cannot be"),
        ({"managehome": "perhaps"}, "managehome cannot be"),
        ({"ensure": "role"}, "ensure cannot be 'role'"),
    ],
)
def test_wrong_values_fail_when_planned(node: Machine, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        handler(node, "user", "x", **parameters)
