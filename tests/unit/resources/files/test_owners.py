"""Names of users and groups: when a cached lookup may be used again."""

from pathlib import Path

import pytest

from precast.resources.files import owners
from precast.resources.files.owners import Owners


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "nsswitch.conf").write_text(
        "# names\npasswd: files systemd\ngroup: files [NOTFOUND=return] systemd\nhosts: dns\n"
    )
    for name in ("passwd", "group"):
        (tmp_path / name).write_text("root:x:0:\n")
    monkeypatch.setattr(owners, "SWITCH", str(tmp_path / "nsswitch.conf"))
    monkeypatch.setattr(owners, "TABLES", tuple(str(tmp_path / name) for name in ("passwd", "group")))
    return tmp_path


def test_names_from_files_are_true_until_a_file_changes(tables: Path) -> None:
    made = Owners("")
    assert made.is_still_valid()
    (tables / "group").write_text("root:x:0:\nweb:x:33:\n")
    assert not made.is_still_valid()


def test_file_that_was_replaced_is_a_change(tables: Path) -> None:
    made = Owners("")
    (tables / "passwd").rename(tables / "old")
    assert not made.is_still_valid()
    (tables / "passwd").write_text("root:x:0:\n")
    assert not made.is_still_valid()


@pytest.mark.parametrize("text", ["passwd: files sss\ngroup: files\n", "group: files ldap\n", "hosts: files\n", ""])
def test_names_of_other_sources_are_looked_up_again(tables: Path, text: str) -> None:
    (tables / "nsswitch.conf").write_text(text)
    assert not Owners("").is_still_valid()


def test_names_below_another_root_are_looked_up_again(tables: Path) -> None:
    assert not Owners(str(tables)).is_still_valid()
