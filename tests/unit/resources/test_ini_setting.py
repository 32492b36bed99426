"""ini_setting: each case as the provider of inifile 5.4 decides it, tried with real Puppet."""

from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError, NotFoundError
from precast.resources.contract import DesiredResource
from precast.resources.ini_setting import IniSetting
from tests.unit.resources.files.applied_file import apply_resource, make_handler, node

BASE = "# comment\ntop = 1\n\n[one]\na = 1\nb=2\n;c = 3\n  d = 4\n\n[two]\nx = y\n# e = 5\n\n[three]\n"
CASES: list[tuple[str, dict[str, Any], str]] = [
    (BASE, {"section": "one", "setting": "a", "value": "9"}, BASE.replace("a = 1", "a = 9")),
    (BASE, {"section": "one", "setting": "b", "value": 5}, BASE.replace("b=2", "b=5")),
    (BASE, {"section": "one", "setting": "b", "value": True}, BASE.replace("b=2", "b=true")),
    (BASE, {"section": "one", "setting": "d", "value": "9"}, BASE.replace("  d = 4", "  d = 9")),
    (BASE, {"section": "one", "setting": "a", "value": "1"}, BASE),
    (BASE, {"section": "one", "setting": "c", "value": "9"}, BASE.replace(";c = 3\n", ";c = 3\nc = 9\n")),
    (BASE, {"section": "two", "setting": "e", "value": "9"}, BASE.replace("# e = 5\n", "# e = 5\ne = 9\n")),
    (BASE, {"section": "one", "setting": "new", "value": "9"}, BASE.replace("  d = 4\n", "  d = 4\nnew = 9\n")),
    (BASE, {"section": "two", "setting": "y", "value": "v"}, BASE.replace("# e = 5\n", "# e = 5\ny = v\n")),
    (BASE, {"section": "three", "setting": "z", "value": "9"}, BASE + "z = 9\n"),
    (BASE, {"section": "four", "setting": "z", "value": "9"}, BASE + "\n[four]\nz = 9\n"),
    (BASE, {"section": "", "setting": "top", "value": "9"}, BASE.replace("top = 1", "top = 9")),
    (BASE, {"setting": "new", "value": "9"}, BASE.replace("top = 1\n", "top = 1\nnew = 9\n")),
    (BASE, {"section": "one", "setting": "a", "ensure": "absent"}, BASE.replace("a = 1\n", "")),
    (BASE, {"section": "one", "setting": "nope", "ensure": "absent"}, BASE),
    (BASE, {"section": "one", "setting": "n", "value": "9", "key_val_separator": "="}, BASE.replace("4\n", "4\nn=9\n")),
    (
        BASE,
        {"section": "one", "setting": "n", "value": "9", "indent_char": "\t", "indent_width": 2},
        BASE.replace("4\n", "4\n\t\tn = 9\n"),
    ),
    (BASE, {"section": "four", "setting": "a", "value": "x", "force_new_section_creation": False}, BASE),
    (
        BASE,
        {"section": "two", "setting": "x", "value": "x", "section_prefix": "<", "section_suffix": ">"},
        BASE + "\n<two>\nx = x\n",
    ),
    (BASE, {"section": "one", "setting": "a", "value": ""}, BASE.replace("a = 1", "a = ")),
    (BASE, {"section": "one", "setting": "a", "value": " two  words "}, BASE.replace("a = 1", "a = two  words")),
    ("[s]\na = 1", {"section": "s", "setting": "b", "value": "1"}, "[s]\na = 1\nb = 1\n"),
    ("", {"section": "s", "setting": "b", "value": "1"}, "[s]\nb = 1\n"),
    ("[s]\n  a = 1\n[b]\n", {"section": "s", "setting": "m", "value": "3"}, "[s]\n  a = 1\n  m = 3\n[b]\n"),
    ("[s]\na: 1\n", {"section": "s", "setting": "a", "value": "2", "key_val_separator": ": "}, "[s]\na: 2\n"),
    ("[s]\nk 1\n", {"section": "s", "setting": "k", "value": "3", "key_val_separator": " "}, "[s]\nk 3\n"),
    ("[a]\nk = 1\n[a]\nk = 2\n", {"section": "a", "setting": "k", "value": "3"}, "[a]\nk = 3\n[a]\nk = 3\n"),
    ("[a]\nkey one = 1\nkey = 2\n", {"section": "a", "setting": "key", "value": "3"}, "[a]\nkey one = 1\nkey = 3\n"),
    ("[a]\nk = 1\n", {"section": "a", "setting": "k", "ensure": "absent"}, ""),
    ("[a]\nk = 1\n\n[b]\n", {"section": "a", "setting": "k", "ensure": "absent"}, "[a]\n\n[b]\n"),
    ("[a]\nk = 1\n", {"setting": "g", "value": "1"}, "g = 1\n\n[a]\nk = 1\n"),
    ("# c\n[a]\n", {"setting": "g", "value": "1"}, "# c\ng = 1\n[a]\n"),
    ("\n[a]\n", {"setting": "g", "value": "1"}, "g = 1\n\n[a]\n"),
    ("g = 1\n", {"section": "a", "setting": "k", "value": "1"}, "g = 1\n\n[a]\nk = 1\n"),
    ("[a]\n  ;k = 1\n", {"section": "a", "setting": "k", "value": "2"}, "[a]\n  ;k = 1\nk = 2\n"),
    ("[a]\n;k = 1\n  b = 1\n", {"section": "a", "setting": "k", "value": "2"}, "[a]\n;k = 1\n  k = 2\n  b = 1\n"),
    ("[s]\na = 1 \n", {"section": "s", "setting": "a", "value": "1"}, "[s]\na = 1\n"),
    ("[s]\r\na = 1\r\n", {"section": "s", "setting": "a", "value": "3"}, "[s]\r\na = 3\r\n"),
]


def setting(path: Path, **given: Any) -> DesiredResource:
    return DesiredResource("ini_setting", "x", {"path": str(path), **given})


@pytest.mark.parametrize(("before", "given", "after"), CASES)
def test_setting_is_set(tmp_path: Path, before: str, given: dict[str, Any], after: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(before.encode())
    messages = apply_resource(node(tmp_path), setting(path, **given))
    assert path.read_bytes().decode() == after
    assert bool(messages) == (before != after)


def test_file_is_made_if_it_is_not_there(tmp_path: Path) -> None:
    assert apply_resource(node(tmp_path), setting(tmp_path / "f", section="s", setting="a", value="1")) == [
        "ensure: created"
    ]
    assert (tmp_path / "f").read_text() == "[s]\na = 1\n"
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o644
    with pytest.raises(NotFoundError, match="parent directory"):
        apply_resource(node(tmp_path), setting(tmp_path / "no/f", section="s", setting="a", value="1"))


@pytest.mark.parametrize(
    ("shows", "words"),
    [
        (True, "value changed 1 to x"),
        ("md5", "value changed {md5}c4ca4238a0b923820dcc509a6f75849b to {md5}9dd4e461268c8034f5c8564e155c67a6"),
        (False, "value changed [redacted sensitive information] to [redacted sensitive information]"),
    ],
)
def test_values_are_shown_as_asked(tmp_path: Path, shows: bool | str, words: str) -> None:
    (tmp_path / "f").write_text("[s]\na = 1\n")
    resource = setting(tmp_path / "f", section="s", setting="a", value="x", show_diff=shows)
    assert apply_resource(node(tmp_path), resource) == [f"value: {words}"]


def test_secret_value_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("[s]\na = leaked\n")
    resource = setting(tmp_path / "f", section="s", setting="a", value="hunter2")._replace(secrets=frozenset(["value"]))
    handler = make_handler(node(tmp_path), resource)
    (change,) = handler.compare(handler.read())
    assert change.is_sensitive
    assert "hunter2" not in change.message
    assert "leaked" not in change.message


def test_refreshonly_waits_for_a_refresh(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("[s]\na = 1\n")
    resource = setting(tmp_path / "f", section="s", setting="a", value="2", refreshonly=True)
    assert apply_resource(node(tmp_path), resource) == []
    make_handler(node(tmp_path), resource).refresh()
    assert (tmp_path / "f").read_text() == "[s]\na = 2\n"


@pytest.mark.parametrize(
    "given",
    [
        {"path": "relative", "setting": "a", "value": "1"},
        {"path": "/x", "value": "1"},
        {"path": "/x", "setting": "a"},
        {"setting": "a", "value": "1"},
        {"path": "/x", "setting": "a", "value": ["1", "2"]},
        {"path": "/x", "setting": "a", "value": "1", "indent_width": "wide"},
    ],
)
def test_wrong_parameters_fail_when_it_is_made(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        IniSetting(DesiredResource("ini_setting", "x", given), node(tmp_path))
