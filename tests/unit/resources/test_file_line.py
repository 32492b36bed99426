"""file_line: each case as the provider of stdlib 8.5 decides it, tried with real Puppet."""

from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import ConflictError, InputError, NotFoundError, PrecastError
from precast.resources.contract import DesiredResource
from precast.resources.file_line import FileLine
from tests.unit.resources.files.applied_file import apply_resource, make_handler, node

ABC, KEYS = "a\nb\nc\n", "k=1\nk=2\nz\n"
CASES: list[tuple[str, dict[str, Any], str]] = [
    (ABC, {"line": "d"}, "a\nb\nc\nd\n"),
    (ABC, {"line": "b"}, ABC),
    ("", {"line": "first"}, "first\n"),
    ("a\nb", {"line": "c"}, "a\nb\nc\n"),
    ("a\r\nb\r\n", {"line": "b"}, "a\r\nb\r\n"),
    ("a\r\nb\r\n", {"line": "c"}, "a\r\nb\r\nc\n"),
    (ABC, {"line": "d", "after": "^a"}, "a\nd\nb\nc\n"),
    (ABC, {"line": "d", "after": "^nothing"}, "a\nb\nc\nd\n"),
    (KEYS, {"line": "m", "after": "^k", "multiple": True}, "k=1\nm\nk=2\nm\nz\n"),
    (KEYS, {"line": "k=3", "match": "^k=", "multiple": True}, "k=3\nk=3\nz\n"),
    (KEYS, {"line": "k=1", "match": "^k="}, KEYS),
    (KEYS, {"line": "k=3", "match": "^k=", "replace": False}, KEYS),
    (KEYS, {"line": "k=9", "match": "^k=2", "after": "^k=1"}, "k=1\nk=9\nz\n"),
    (KEYS, {"line": "q=3", "match": "^q=", "after": "^k=1"}, "k=1\nq=3\nk=2\nz\n"),
    (KEYS, {"line": "q=3", "match": "^q=", "after": "^k"}, "k=1\nq=3\nk=2\nz\n"),
    (KEYS, {"line": "q=1", "match": "^q=", "append_on_no_match": False}, KEYS),
    (
        KEYS,
        {"line": "k=1", "match": "^k=", "multiple": True, "replace_all_matches_not_matching_line": True},
        "k=1\nk=1\nz\n",
    ),
    ("x\nx\ny\n", {"ensure": "absent", "line": "x"}, "y\n"),
    (KEYS, {"ensure": "absent", "line": "nope"}, KEYS),
    (KEYS, {"ensure": "absent", "line": "k=1", "match": "^z"}, "k=2\nz\n"),
    (KEYS, {"ensure": "absent", "match": "^k", "match_for_absence": True, "multiple": True}, "z\n"),
    (KEYS, {"line": "[[:alpha:]] is Ruby's", "match": "^[[:lower:]]$"}, "k=1\nk=2\n[[:alpha:]] is Ruby's\n"),
]


def line(path: Path, **parameters: Any) -> DesiredResource:
    return DesiredResource("file_line", "x", {"path": str(path), **parameters})


@pytest.mark.parametrize(("before", "parameters", "after"), CASES)
def test_line_is_set(tmp_path: Path, before: str, parameters: dict[str, Any], after: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(before.encode())
    messages = apply_resource(node(tmp_path), line(path, **parameters))
    assert path.read_bytes().decode() == after
    assert messages == ([] if before == after else [f"ensure: {'removed' if 'ensure' in parameters else 'created'}"])


@pytest.mark.parametrize("parameters", [{"line": "k", "match": "^k"}, {"line": "m", "after": "^k"}])
def test_several_lines_are_an_error_and_nothing_is_written(tmp_path: Path, parameters: dict[str, Any]) -> None:
    path = tmp_path / "file"
    path.write_text(KEYS)
    with pytest.raises(ConflictError, match="more than one line"):
        apply_resource(node(tmp_path), line(path, **parameters))
    assert path.read_text() == KEYS


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="does not exist"):
        apply_resource(node(tmp_path), line(tmp_path / "nope", line="x"))


def test_mode_and_bytes_that_are_no_text_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xff\xfe\n")
    path.chmod(0o600)
    apply_resource(node(tmp_path), line(path, line="new"))
    assert path.read_bytes() == b"\xff\xfe\nnew\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_line_is_written_in_the_files_encoding(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xe9\n")
    apply_resource(node(tmp_path), line(path, line="café", encoding="iso-8859-1"))
    assert path.read_bytes() == b"\xe9\ncaf\xe9\n"


def test_link_stays_and_its_target_gets_the_line(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("a\n")
    (tmp_path / "link").symlink_to("real")
    apply_resource(node(tmp_path), line(tmp_path / "link", line="b"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "a\nb\n"


@pytest.mark.parametrize(
    "parameters",
    [
        {"path": "relative", "line": "x"},
        {"path": "/x"},
        {"path": "/x", "ensure": "absent", "match": "x"},
        {"path": "/x", "line": "x", "match": "("},
        {"path": "/x", "line": "x", "ensure": "maybe"},
        {"line": "x"},
    ],
)
def test_wrong_parameters_fail_when_it_is_made(tmp_path: Path, parameters: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        FileLine(DesiredResource("file_line", "x", parameters), node(tmp_path))


def test_diff_is_shown_unless_it_is_secret(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a\n")
    handler = make_handler(node(tmp_path), line(path, line="password"))
    (change,) = handler.compare(handler.read())
    assert change.diff is not None
    assert "+password" in change.diff
    secret = make_handler(node(tmp_path), line(path, line="password")._replace(secrets=frozenset(["line"])))
    (change,) = secret.compare(secret.read())
    assert "password" not in str(change)


def test_unknown_encoding_is_an_error_of_the_resource(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(PrecastError, match="encoding"):
        apply_resource(node(tmp_path), line(tmp_path / "file", line="x", encoding="klingon"))
