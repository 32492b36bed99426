"""file: kinds, content, links, owner and mode, with Puppet's decisions and messages (compared with Puppet in tests/differential)."""

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import ConflictError, InputError, NotFoundError
from precast.resources.file import File
from tests.unit.resources.files.applied_file import apply_resource, file, make_handler, node

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: owners")


@pytest.fixture
def d(tmp_path: Path) -> Path:
    place = tmp_path / "d"
    place.mkdir()
    return place


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def sha(text: str) -> str:
    return "{sha256}" + hashlib.sha256(text.encode()).hexdigest()


def test_file_with_content_is_made_at_once_with_its_mode(d: Path, tmp_path: Path) -> None:
    messages = apply_resource(node(tmp_path), file(d / "a", content="hello\n", mode="0600"))
    assert messages == [f"ensure: defined content as '{sha('hello' + chr(10))}'"]
    assert (d / "a").read_text() == "hello\n"
    assert mode(d / "a") == 0o600


def test_new_file_and_directory_have_plain_modes_whatever_the_umask(d: Path, tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        assert apply_resource(node(tmp_path), file(d / "f", ensure="file")) == ["ensure: created"]
        assert apply_resource(node(tmp_path), file(d / "d", ensure="directory")) == ["ensure: created"]
    finally:
        os.umask(old)
    assert (mode(d / "f"), mode(d / "d")) == (0o644, 0o755)


def test_changed_byte_is_found_with_size_and_time_kept(d: Path, tmp_path: Path) -> None:
    path, resource = d / "a", file(d / "a", content="x" * 5000)
    apply_resource(node(tmp_path), resource)
    before = path.stat()
    path.write_text("x" * 2500 + "y" + "x" * 2499)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert [line.split(":")[0] for line in apply_resource(node(tmp_path), resource)] == ["content"]


def test_content_change_keeps_what_is_not_managed(d: Path, tmp_path: Path) -> None:
    path = d / "a"
    path.write_text("old\n")
    path.chmod(0o4750)
    handler = make_handler(node(tmp_path), file(path, content="new\n"))
    (change,) = handler.compare(handler.read())
    assert change.message == f"content changed '{sha('old' + chr(10))}' to '{sha('new' + chr(10))}'"
    assert change.diff is not None
    assert change.diff.splitlines()[2:] == ["@@ -1 +1 @@", "-old", "+new"]
    handler.apply(change)
    assert mode(path) == 0o4750


def test_properties_change_one_by_one_in_puppets_order(d: Path, tmp_path: Path) -> None:
    path = d / "a"
    path.write_text("old")
    path.chmod(0o600)
    messages = apply_resource(node(tmp_path), file(path, content="new", mode="a+r,u+x"))
    assert [line.split(":")[0] for line in messages] == ["content", "mode"]
    assert messages[1] == "mode: mode changed '0600' to '0744' (a+r,u+x)"


@AS_ROOT
def test_owner_by_name_or_number_keeps_the_wanted_set_uid_bit(d: Path, tmp_path: Path) -> None:
    path = d / "a"
    path.write_text("x")
    path.chmod(0o4755)
    assert apply_resource(node(tmp_path), file(path, owner="daemon", group=4321, mode="4755")) == [
        "owner: owner changed 'root' to 'daemon'",
        "group: group changed 'root' to 4321",
    ]
    assert mode(path) == 0o4755


@AS_ROOT
@pytest.mark.parametrize(("wanted", "left"), [({}, 0o755), ({"mode": "a+X"}, 0o755), ({"mode": "u+s,g+w"}, 0o4775)])
def test_file_given_away_loses_set_uid_unless_the_mode_asks_for_it(
    d: Path, tmp_path: Path, wanted: dict[str, Any], left: int
) -> None:
    for name, content in (("in place", "x"), ("anew", "y")):
        path = d / name
        path.write_text("x")
        path.chmod(0o4755)
        apply_resource(node(tmp_path), file(path, content=content, owner="daemon", **wanted))
        assert mode(path) == left, name


def test_directory_hands_its_group_down(d: Path, tmp_path: Path) -> None:
    d.chmod(0o2755)
    apply_resource(node(tmp_path), file(d / "plain", ensure="directory"))
    apply_resource(node(tmp_path), file(d / "relative", ensure="directory", mode="o-rx"))
    apply_resource(node(tmp_path), file(d / "octal", ensure="directory", mode="0750"))
    assert [mode(d / name) for name in ("plain", "relative", "octal")] == [0o2755, 0o2750, 0o750]


@AS_ROOT
def test_names_below_a_root_are_those_of_that_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\nweb:x:777:778::/:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nweb:x:778:\n")
    machine = node(tmp_path, root=str(root))
    apply_resource(machine, file("/etc/a", content="x", owner="web", group="web"))
    assert ((root / "etc/a").stat().st_uid, (root / "etc/a").stat().st_gid) == (777, 778)
    with pytest.raises(NotFoundError, match="could not find user daemon"):
        apply_resource(machine, file("/etc/b", content="x", owner="daemon"))
    assert not (root / "etc/b").exists()


def test_unknown_owner_fails_before_anything_is_written(d: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="could not find user nosuchuser"):
        apply_resource(node(tmp_path), file(d / "a", content="x", owner="nosuchuser"))
    assert list(d.iterdir()) == []


KINDS: list[tuple[str, dict[str, Any], str]] = [
    ("file", {"ensure": "directory"}, "ensure changed 'file' to 'directory'"),
    ("link", {"ensure": "directory"}, "ensure changed 'link' to 'directory'"),
    ("file", {"ensure": "link", "target": "x"}, "ensure changed 'file' to 'link'"),
    ("link", {"ensure": "file"}, "ensure changed 'link' to 'file'"),
    ("fifo", {"ensure": "file"}, "ensure changed 'fifo' to 'file'"),
    ("link", {"content": "abc"}, f"defined content as '{sha('abc')}'"),
    ("file", {"ensure": "absent"}, "removed"),
    ("link", {"ensure": "absent"}, "removed"),
    ("directory", {"ensure": "absent", "force": True}, "removed"),
    ("file", {"ensure": "absent", "owner": "nosuchuser", "mode": "0600"}, "removed"),
    ("directory", {"ensure": "file", "force": True}, "ensure changed 'directory' to 'file'"),
    ("directory", {"ensure": "/target", "force": True}, "ensure changed 'directory' to 'link'"),
    ("absent", {"ensure": "/target"}, "created"),
    ("absent", {"ensure": "link", "target": "x"}, "created"),
]


def lay(path: Path, kind: str) -> None:
    if kind == "file":
        path.write_text("old")
    elif kind == "link":
        path.symlink_to("elsewhere")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        (path / "inner").mkdir(parents=True)
        (path / "inner/file").write_text("x")


@pytest.mark.parametrize(("present", "parameters", "said"), KINDS)
def test_one_kind_becomes_another(d: Path, tmp_path: Path, present: str, parameters: dict[str, Any], said: str) -> None:
    lay(d / "x", present)
    assert apply_resource(node(tmp_path), file(d / "x", **parameters)) == [f"ensure: {said}"]
    assert [each.name for each in d.iterdir()] in ([], ["x"]), "nothing is left beside it"


IN_SYNC: list[tuple[str, dict[str, Any]]] = [
    ("absent", {"mode": "0600"}),
    ("absent", {"ensure": "absent"}),
    ("file", {"ensure": "present"}),
    ("directory", {"ensure": "present"}),
    ("link", {"ensure": "present"}),
    ("file", {"content": "other", "replace": False}),
    ("file", {"ensure": "directory", "replace": False}),
    ("link", {"ensure": "link", "target": "x", "replace": False}),
    ("directory", {"ensure": "absent"}),  # Puppet says "removed" of it each time, and removes nothing
    ("link", {"mode": "0600"}),
    ("link", {"ensure": "present", "content": "abc"}),
    ("file", {"ensure": "absent", "replace": False}),
]


@pytest.mark.parametrize(("present", "parameters"), IN_SYNC)
def test_nothing_is_done(d: Path, tmp_path: Path, present: str, parameters: dict[str, Any]) -> None:
    lay(d / "x", present)
    assert apply_resource(node(tmp_path), file(d / "x", **parameters)) == []


def test_directory_that_is_in_the_way_needs_force(d: Path, tmp_path: Path) -> None:
    lay(d / "x", "directory")
    with pytest.raises(ConflictError, match="is a directory, and is not removed without force"):
        apply_resource(node(tmp_path), file(d / "x", content="abc"))
    assert (d / "x/inner/file").read_text() == "x"


def test_wrong_target_is_a_change_of_the_link_alone(d: Path, tmp_path: Path) -> None:
    (d / "l").symlink_to("old")
    assert apply_resource(node(tmp_path), file(d / "l", ensure="link", target="new")) == [
        "target: target changed 'old' to 'new'"
    ]
    assert (d / "l").readlink() == Path("new")


def test_followed_link_is_changed_at_its_end(d: Path, tmp_path: Path) -> None:
    (d / "real").write_text("x")
    (d / "l").symlink_to("real")
    assert apply_resource(node(tmp_path), file(d / "l", mode="0600", links="follow")) == [
        "mode: mode changed '0644' to '0600'"
    ]
    assert mode(d / "real") == 0o600


def test_secret_content_is_never_shown(d: Path, tmp_path: Path) -> None:
    machine, resource = node(tmp_path), file(d / "s", content="hunter2", secrets=["content"], mode="0600")
    assert apply_resource(machine, resource) == ["ensure: changed [redacted] to [redacted]"]
    (d / "s").write_text("leaked")
    handler = make_handler(machine, resource)
    (change,) = handler.compare(handler.read())
    assert change.is_sensitive
    shown = f"{change} {handler.take_logs()}"
    assert "hunter2" not in shown
    assert sha("hunter2") not in shown
    assert sha("leaked") not in shown


def test_show_diff_false_and_no_text_give_no_diff(d: Path, tmp_path: Path) -> None:
    (d / "a").write_bytes(b"\0old")
    for shown, diff in ((False, None), (True, "(the content is not text, and is not shown)\n")):
        handler = make_handler(node(tmp_path), file(d / "a", content="new", show_diff=shown))
        (change,) = handler.compare(handler.read())
        assert change.diff == diff


def test_validate_cmd_sees_the_new_content_and_can_refuse_it(d: Path, tmp_path: Path) -> None:
    machine = node(tmp_path)
    assert len(apply_resource(machine, file(d / "a", content="good", validate_cmd="/bin/grep -q good %"))) == 1
    with pytest.raises(InputError, match=r"Execution of '/bin/grep -q good .*' returned 1"):
        apply_resource(machine, file(d / "a", content="bad", validate_cmd="/bin/grep -q good %"))
    assert (d / "a").read_text() == "good"
    apply_resource(machine, file(d / "a", content="100%", validate_cmd="test -s @@", validate_replacement="@@"))
    assert [each.name for each in d.iterdir()] == ["a"]


def test_validate_cmd_does_not_run_outside_of_a_root(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="validate_cmd cannot be run"):
        File(file("/a", content="x", validate_cmd="true %"), node(tmp_path, root=str(tmp_path)))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("md5", "{md5}900150983cd24fb0d6963f7d28e17f72"),
        ("sha256lite", sha("abc").replace("sha256", "sha256lite")),
        ("sha512", "{sha512}" + hashlib.sha512(b"abc").hexdigest()),
    ],
)
def test_checksum_of_another_kind_decides(d: Path, tmp_path: Path, kind: str, text: str) -> None:
    assert apply_resource(node(tmp_path), file(d / "a", content="abc", checksum=kind)) == [
        f"ensure: defined content as '{text}'"
    ]


def test_audited_file_tells_all_there_is_of_it(d: Path, tmp_path: Path) -> None:
    (d / "a").write_text("abc")
    watched = file(d / "a")._replace(metaparameters={"audit": "all"})
    state = make_handler(node(tmp_path), watched).read()
    assert state["content"] == sha("abc")
    assert {"ensure", "owner", "group", "mode", "type", "mtime", "ctime"} <= state.keys()
    without = watched._replace(parameters={"checksum": "none"})
    assert "content" not in make_handler(node(tmp_path), without).read()


def test_large_file_is_compared_and_copied_in_pieces(d: Path, tmp_path: Path) -> None:
    source = tmp_path / "big"
    source.write_bytes(os.urandom(1 << 20) * 5 + b"end")
    resource = file(d / "big", source=str(source))
    apply_resource(node(tmp_path), resource)
    assert (d / "big").read_bytes() == source.read_bytes()
    with (d / "big").open("r+b") as big:
        big.seek(3_000_000)
        big.write(b"\0\0\0\0\0\0\0\0")
    assert [line.split(":")[0] for line in apply_resource(node(tmp_path), resource)] == ["content"]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("relative", {}, "not absolute"),
    ("/a", {"content": "x", "source": "/b"}, "only one of content, source and target"),
    ("/a", {"content": "x", "target": "/b"}, "only one of content, source and target"),
    ("/a", {"ensure": "link"}, "target must be given"),
    ("/a", {"ensure": ""}, "ensure cannot be ''"),
    ("/a", {"mode": 644}, "not a file mode"),
    ("/a", {"content": 5}, "content cannot be 5"),
    ("/a", {"links": "ignore"}, "links cannot be 'ignore'"),
    ("/a", {"recurse": "yes"}, "recurse cannot be 'yes'"),
    ("/a", {"recurse": "remote"}, "needs a source"),
    ("/a", {"replace": "maybe"}, "replace cannot be 'maybe'"),
    ("/a", {"checksum": "crc"}, "checksum cannot be 'crc'"),
    ("/a", {"content": "x", "checksum": "mtime"}, "cannot be used with checksum mtime"),
    ("/a", {"source": "relative"}, "it is relative"),
    ("/a", {"source": "https://me:secret@example.com/x"}, "a password in it"),
    ("/a", {"source": "https:///x"}, "not a valid URL"),
    ("/a", {"source": "puppet://server/modules/a/b"}, "never a server"),
    ("/a", {"source": "ftp://example.com/x"}, "ftp is not a supported scheme"),
    ("/a", {"backup": "main"}, "the catalog has no filebucket main"),
    ("/a", {"checksum_value": "abc", "source": "/b"}, "checksum_value cannot be 'abc'"),
]


@pytest.mark.parametrize(("title", "parameters", "text"), WRONG)
def test_wrong_parameter_fails_the_resource_when_it_is_made(
    tmp_path: Path, title: str, parameters: dict[str, Any], text: str
) -> None:
    with pytest.raises(InputError, match=text):
        File(file(title, **parameters), node(tmp_path))


def test_secret_is_not_in_the_error_about_it(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        File(file("/a", content=["hunter2"], secrets=["content"]), node(tmp_path))
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


def test_path_is_cleaned(tmp_path: Path) -> None:
    assert File(file("/a//b/../c/"), node(tmp_path)).spec.path == "/a/c"


@pytest.mark.parametrize("present", ["absent", "file", "link"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"content": "new"},
        {"content": "new", "mode": "0600"},
        {"content": "new", "mode": "u+x,go-r", "checksum": "md5"},
        {"ensure": "file", "checksum": "mtime"},
        {"ensure": "file"},
    ],
)
def test_state_that_is_remembered_is_what_is_there(
    d: Path, tmp_path: Path, present: str, parameters: dict[str, Any]
) -> None:
    path = d / "f"
    if present != "absent":
        lay(path, present)
    handler = make_handler(node(tmp_path), file(path, **parameters))
    for change in handler.compare(handler.read()):
        handler.apply(change)
    known = handler.state_after()
    assert known == handler.read()
