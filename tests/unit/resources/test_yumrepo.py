"""yumrepo: sections of repository files, as the provider of yumrepo_core 3 decides; other lines keep their bytes."""

from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError
from precast.resources.yumrepo.handler import Yumrepo
from tests.unit.resources.applied_resource import apply_resource, differences, handler, machine

BASE = (
    "# ours\n[base]\nname = Base\nbaseurl=https://a.example/\n  https://b.example/\nenabled=1\n\n[extra]\nenabled=0\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc/yum.repos.d").mkdir(parents=True)
    (tmp_path / "etc/yum.conf").write_text("[main]\ngpgcheck=1\n")
    (tmp_path / "etc/os-release").write_text('ID=rocky\nVERSION_ID="9.4"\n')
    (tmp_path / "etc/yum.repos.d/base.repo").write_text(BASE)
    return tmp_path


@pytest.mark.parametrize(
    ("title", "given", "after"),
    [
        ("base", {"descr": "Base", "enabled": "1"}, BASE),
        ("base", {"enabled": True}, BASE.replace("enabled=1", "enabled=True")),
        (
            "base",
            {"baseurl": "http://c.example"},
            BASE.replace("https://a.example/\n  https://b.example/", "http://c.example"),
        ),
        ("base", {"descr": "absent", "gpgcheck": "absent"}, BASE.replace("name = Base\n", "")),
        ("base", {"priority": 10}, BASE.replace("enabled=1\n\n", "enabled=1\n\npriority=10\n")),
        ("extra", {"ensure": "absent"}, BASE.replace("[extra]\nenabled=0\n", "")),
        ("none", {"ensure": "absent"}, BASE),
        ("extra", {"proxy": "_none_"}, BASE + "proxy=\n"),
    ],
)
def test_repository_is_written(root: Path, title: str, given: dict[str, Any], after: str) -> None:
    messages = apply_resource(machine(root), "yumrepo", title, **given)
    assert (root / "etc/yum.repos.d/base.repo").read_text() == after
    assert bool(messages) == (after != BASE)


def test_new_repository_gets_a_file_of_its_own(root: Path) -> None:
    given = {"gpgcheck": False, "descr": "New one", "baseurl": "file:///srv/repo", "enabled": "yes", "cost": "absent"}
    assert apply_resource(machine(root), "yumrepo", "new", **given) == ["ensure: created"]
    place = root / "etc/yum.repos.d/new.repo"
    assert place.read_text() == "[new]\nname=New one\nbaseurl=file:///srv/repo\nenabled=Yes\ngpgcheck=False\n"
    assert place.stat().st_mode & 0o777 == 0o644
    apply_resource(machine(root), "yumrepo", "new", ensure="absent")
    assert not place.exists()


def test_repository_moves_to_its_target_with_its_values(root: Path) -> None:
    assert apply_resource(machine(root), "yumrepo", "extra", target="more", enabled="1") == ["ensure: created"]
    assert (root / "etc/yum.repos.d/more.repo").read_text() == "[extra]\nenabled=1\n"
    assert "[extra]" not in (root / "etc/yum.repos.d/base.repo").read_text()


def test_directories_of_yum_conf_are_used(root: Path) -> None:
    (root / "etc/yum.conf").write_text("[main]\nreposdir=/opt/none,\n  /opt/repos\n")
    (root / "opt/repos").mkdir(parents=True)
    apply_resource(machine(root), "yumrepo", "new", enabled="1")
    assert (root / "opt/repos/new.repo").exists()


def test_without_directories_yum_conf_has_the_repository(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/yum.conf").write_text("[main]\na=1\n")
    apply_resource(machine(tmp_path), "yumrepo", "new", enabled="1")
    assert (tmp_path / "etc/yum.conf").read_text() == "[main]\na=1\n[new]\nenabled=1\n"
    assert [instance.title for instance in Yumrepo.instances(machine(tmp_path))] == ["new"]


def test_passwords_are_never_shown(root: Path) -> None:
    made = handler(machine(root), "yumrepo", "base", password="hunter2", proxy_password="hunter3")
    for change in map(made.redact, made.compare(made.read())):
        assert change.is_sensitive
        assert "hunter" not in f"{change}"


def test_repositories_are_listed(root: Path) -> None:
    listed = {instance.title: instance.properties for instance in Yumrepo.instances(machine(root))}
    assert list(listed) == ["base", "extra"]
    assert listed["base"]["descr"] == "Base"


def test_broken_file_is_named_with_its_line(root: Path) -> None:
    (root / "etc/yum.repos.d/zz.repo").write_text("[a]\nnonsense\n")
    with pytest.raises(InputError, match=r"zz\.repo:2"):
        differences(machine(root), "yumrepo", "base", enabled="1")


@pytest.mark.parametrize(
    ("title", "given"),
    [
        ("x", {"enabled": "maybe"}),
        ("x", {"baseurl": "nowhere"}),
        ("x", {"baseurl": "https://a example"}),
        ("x", {"priority": "high"}),
        ("x", {"metadata_expire": "1w"}),
        ("x", {"descr": "a\nenabled=1"}),
        ("main", {"enabled": "1"}),
        ("../x", {"enabled": "1"}),
        ("a]b", {"enabled": "1"}),
    ],
)
def test_invalid_parameters_fail_when_it_is_made(root: Path, title: str, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        handler(machine(root), "yumrepo", title, **given)
