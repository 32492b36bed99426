"""augeas: commands, conditions, and files that change without anything being saved by the library."""

import ctypes
import os
from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import DeniedError, InputError, UnavailableError
from precast.resources.augeas import library
from precast.resources.augeas.commands import parse_commands
from precast.resources.augeas.conditions import parse_array
from precast.resources.contract import DesiredResource
from tests.unit.resources.applied_resource import apply_resource, differences, handler, machine

HOSTS = "127.0.0.1  localhost\n10.0.0.1\tdb  database # the db\n"


def has_library() -> bool:
    try:
        ctypes.CDLL("libaugeas.so.0")
    except OSError:
        return False
    return Path("/usr/share/augeas/lenses/dist/hosts.aug").exists()


with_library = pytest.mark.skipif(not has_library(), reason="needs libaugeas0 and augeas-lenses")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hosts").write_text(HOSTS)
    return tmp_path


@pytest.mark.parametrize(
    ("data", "context", "commands"),
    [
        ("set a/b c", "/files/x", [["set", "/files/x/a/b", "c"]]),
        ("set a 1\n\n  rm b/ ", "", [["set", "a", "1"], ["rm", "b"]]),
        (["set '/x[a = \"b c\"]/d' 'it\\'s'", ["rm $v/y"]], "/c", [["set", '/x[a = "b c"]/d', "it's"], ["rm", "$v/y"]]),
        ("set a[b = 'c d']/e f", "/c/", [["set", "/c/a[b = 'c d']/e", "f"]]),
        ("ins new before a[last()]", "/c", [["ins", "new", "before", "/c/a[last()]"]]),
        ("set a\\ b 'c\\ d'", "/c", [["set", "/c/a\\ b", "c\\ d"]]),
        ('setm a "b[. = 1]" ""', "/c", [["setm", "/c/a", "b[. = 1]", ""]]),
        ("match a size >= 12", "/c", [["match", "/c/a", "size >= 12"]]),
        ("get a != 'x y'", "/c", [["get", "/c/a", "!=", "x y"]]),
        ("rm", "/c", [["rm", "/c/"]]),
    ],
)
def test_commands_are_split_as_by_puppet(data: Any, context: str, commands: list[Any]) -> None:
    assert parse_commands(data, context) == commands


@pytest.mark.parametrize("data", ["frob a", "set a", "ins a", "get a ~ b", "set a]b c"])
def test_invalid_commands_fail_when_the_resource_is_made(tmp_path: Path, data: str) -> None:
    with pytest.raises(InputError, match="no command of Augeas"):
        handler(machine(tmp_path), "augeas", "x", changes=data)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("['a', \"b\\tc\"]", ["a", "b\tc"]),
        ("[]", []),
        (" [ 'it\\'s' , '\\x' ] ", None),
        ("['\\\\x']", ["\\x"]),
        ('["\\u00fc\\101\\u{41 42}"]', ["üAAB"]),
        ("a", None),
        ("['a'] b", None),
    ],
)
def test_arrays_are_read_as_by_puppet(text: str, values: list[str] | None) -> None:
    assert parse_array(text) == values


@with_library
@pytest.mark.parametrize(
    ("changes", "after"),
    [
        ("set 1/canonical here", HOSTS.replace("localhost", "here")),
        ("set 1/canonical localhost", HOSTS),
        ("rm *[canonical = 'db']", HOSTS.splitlines(keepends=True)[0]),
        ("rm *[canonical = 'nobody']", HOSTS),
        (["defvar db *[canonical = 'db']", "set $db/ipaddr 10.0.0.9"], HOSTS.replace("10.0.0.1", "10.0.0.9")),
        (
            ["defnode new *[canonical = 'db'] ''", "set $new/ipaddr ::2", "set $new/canonical db"],
            HOSTS.replace("10.0.0.1", "::2"),
        ),
        ("setm *[canonical = 'db']/alias . other", HOSTS.replace("database", "other")),
        ("touch 2/alias", HOSTS),
    ],
)
def test_commands_change_the_file(root: Path, changes: Any, after: str) -> None:
    messages = apply_resource(machine(root), "augeas", "x", context="/files/etc/hosts", changes=changes)
    assert (root / "etc/hosts").read_text() == after
    assert messages == ([] if after == HOSTS else ["returns: executed successfully"])
    assert sorted(place.name for place in (root / "etc").iterdir()) == ["hosts"]


@with_library
@pytest.mark.parametrize(
    "changes",
    [
        ["ins 3 after 2", "set 3/ipaddr ::1", "set 3/canonical six"],
        ["defnode new 09 ''", "set $new/ipaddr ::1", "set $new/canonical six"],
        ["set 01/ipaddr ::1", "set 01/canonical five", "rename *[canonical = 'five'] 02", "set 02/canonical six"],
    ],
)
def test_commands_that_add_a_line_need_a_condition(root: Path, changes: list[str]) -> None:
    given = {"context": "/files/etc/hosts", "changes": changes, "onlyif": "match *[canonical = 'six'] size == 0"}
    apply_resource(machine(root), "augeas", "x", **given)
    assert (root / "etc/hosts").read_text() == HOSTS + "::1\tsix\n"


@with_library
@pytest.mark.parametrize(
    ("onlyif", "is_met"),
    [
        ("match */canonical size == 2", True),
        ("match */canonical size > 2", False),
        ("match *[canonical = 'db'] include /files/etc/hosts/2", True),
        ("match *[canonical = 'db'] not_include /files/etc/hosts/2", False),
        ("match *[canonical = 'db'] == ['/files/etc/hosts/2']", True),
        ("get 2/ipaddr == 10.0.0.1", True),
        ("get 2/ipaddr != 10.0.0.1", False),
        ("get 2/ipaddr =~ ^10\\.", True),
        ("get 9/ipaddr == ''", True),
        ("values */canonical include db", True),
        ("values */canonical not_include db", False),
        ("values */canonical == ['localhost', 'db']", True),
        ("values */canonical != ['localhost']", True),
    ],
)
def test_condition_decides(root: Path, onlyif: str, is_met: bool) -> None:
    changes = differences(
        machine(root), "augeas", "x", context="/files/etc/hosts", onlyif=onlyif, changes="set 1/canonical new"
    )
    assert bool(changes) == is_met


@with_library
def test_file_of_its_own_lens_is_made_and_removed(root: Path) -> None:
    node, given = machine(root), {"incl": "/etc/own.conf", "lens": "Shellvars.lns"}
    apply_resource(node, "augeas", "x", **given, changes=["set A 1", "set B two"])
    assert (root / "etc/own.conf").read_text() == "A=1\nB=two\n"
    assert (root / "etc/own.conf").stat().st_mode & 0o777 == 0o644
    apply_resource(node, "augeas", "x", context="/files/etc", **given, changes="rm /files/etc/own.conf")
    assert not (root / "etc/own.conf").exists()


@with_library
def test_check_shows_a_diff_unless_it_must_not(root: Path) -> None:
    given = {"context": "/files/etc/hosts", "changes": "set 1/canonical s3cret"}
    (change,) = differences(machine(root), "augeas", "x", **given)
    assert "s3cret" in (change.diff or "")
    (change,) = differences(machine(root), "augeas", "x", **given, show_diff=False)
    assert change.diff is None
    made = type(handler(machine(root), "augeas", "x", **given))(
        DesiredResource("augeas", "x", given, secrets=frozenset({"changes"})), machine(root)
    )
    (change,) = made.compare(made.read())
    assert change.diff is None


@with_library
def test_force_runs_also_if_nothing_changes(root: Path) -> None:
    given = {"context": "/files/etc/hosts", "changes": "set 1/canonical localhost"}
    assert differences(machine(root), "augeas", "x", **given) == []
    (change,) = differences(machine(root), "augeas", "x", **given, force=True)
    assert change.message == "executed successfully"


@with_library
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ("set 1/canonical 'two words'", "cannot save"),
        ("set 1[0 1]/x y", "cannot set"),
        ("set /files/etc/hosts/1/nope x", "save"),
    ],
)
def test_what_augeas_refuses_fails_and_changes_nothing(root: Path, changes: str, error: str) -> None:
    made = handler(machine(root), "augeas", "x", context="/files/etc/hosts", changes=changes)
    with pytest.raises(InputError, match=error):
        made.read()
    assert (root / "etc/hosts").read_text() == HOSTS


@with_library
def test_unknown_lens_is_named(root: Path) -> None:
    made = handler(machine(root), "augeas", "x", incl="/etc/hosts", lens="Nope.lns", changes="set a b")
    with pytest.raises(InputError):
        made.read()


@with_library
def test_file_in_a_directory_of_another_user_is_refused(root: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    os.chown(root / "etc", 65534, 65534)
    made = handler(machine(root), "augeas", "x", context="/files/etc/hosts", changes="set 1/canonical x")
    with pytest.raises(DeniedError, match="belongs to user 65534"):
        made.read()


def test_missing_library_is_told_with_the_package(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_LIBRARY", "libaugeas-of-nobody.so.0")
    made = handler(machine(root), "augeas", "x", context="/files/etc/hosts", changes="set 1/canonical x")
    with pytest.raises(UnavailableError) as caught:
        made.read()
    assert "install libaugeas0" in str(caught.value.hint)


def test_lens_without_file_is_refused(root: Path) -> None:
    with pytest.raises(InputError, match="lens and incl"):
        handler(machine(root), "augeas", "x", lens="Hosts.lns", changes="set a b")
