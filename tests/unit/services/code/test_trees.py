"""Trees: the same files are the same version, and nothing leads out."""

import os
from pathlib import Path

import pytest

from precast.base import canonical, digests
from precast.base.errors import PrecastError
from precast.services.code import trees
from precast.services.code.trees import File, Tree, TreeFiles, difference, read_directory

X = digests.of_bytes(b"x")


def make(place: Path, **files: str) -> Path:
    for name, text in files.items():
        path = place / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place


def code_of(place: Path) -> str:
    with pytest.raises(PrecastError) as caught:
        read_directory(place)
    return caught.value.code


def test_directory_becomes_a_tree_with_digests_sizes_and_modes(tmp_path: Path) -> None:
    make(tmp_path, site="x", modules__a__run="ü")
    (tmp_path / "modules/a/run").chmod(0o755)
    (tmp_path / "empty").mkdir()
    tree, places = read_directory(tmp_path)
    assert tree.files == {
        "site": File(X, 1, False),
        "modules/a/run": File(digests.of_bytes("ü".encode()), 2, True),
    }
    assert places[X] == tmp_path / "site"


def test_same_files_elsewhere_are_the_same_version(tmp_path: Path) -> None:
    one, other = make(tmp_path / "1", a="1", b__c="2"), make(tmp_path / "2", b__c="2", a="1")
    os.utime(other / "a", (1, 1))
    (other / ".git").mkdir()
    (other / ".git" / "config").write_text("left out")
    assert read_directory(one)[0].version == read_directory(other)[0].version
    (other / "a").chmod(0o700)
    assert read_directory(one)[0].version != read_directory(other)[0].version


def test_tree_survives_its_bytes(tmp_path: Path) -> None:
    tree, _ = read_directory(make(tmp_path, a="1", b__c="2"))
    assert Tree.decode(tree.encode()).files == tree.files
    assert digests.of_bytes(tree.encode()) == tree.version


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", "a/.", "a\0b", "a\nb", "a\u202eb", "x" * 501],
)
def test_paths_that_lead_elsewhere_are_refused(path: str) -> None:
    data = canonical.encode({"files": {path: [X, 1, False]}})
    with pytest.raises(PrecastError) as caught:
        Tree.decode(data)
    assert caught.value.code == "ENV-002"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"files": {}}',
        b'{"files":{"a":["short",1,false]}}',
        b'{"files":{"a":["%s",-1,false]}}' % X.encode(),
        b'{"files":{},"more":1}',
        b'{"files":{"b":["%s",1,false],"a":["%s",1,false]}}' % (X.encode(), X.encode()),
        b'{"files":{"a":["%s",1,false],"a/b":["%s",1,false]}}' % (X.encode(), X.encode()),
        b'{"files":{"a":["%s",1,false],"a/b/c":["%s",1,false]}}' % (X.encode(), X.encode()),
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_bytes_that_are_no_tree_are_refused(data: bytes) -> None:
    with pytest.raises(PrecastError) as caught:
        Tree.decode(data)
    assert caught.value.code == "ENV-002"


def test_links_inside_count_as_what_they_lead_to(tmp_path: Path) -> None:
    make(tmp_path, real__a="1")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").symlink_to("real/a")
    assert sorted(read_directory(tmp_path)[0].files) == ["file", "link/a", "real/a"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "nowhere", ".git/config"])
def test_links_that_lead_out_or_nowhere_are_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").write_text("secret")
    make(tmp_path / "env", a="1")
    (tmp_path / "env" / ".git").mkdir()
    (tmp_path / "env" / ".git" / "config").write_text("secret")
    (tmp_path / "env" / "link").symlink_to(target)
    assert code_of(tmp_path / "env") == "ENV-002"


def test_link_to_a_directory_above_is_refused(tmp_path: Path) -> None:
    make(tmp_path, a="1")
    (tmp_path / "loop").symlink_to(".")
    assert code_of(tmp_path) == "ENV-002"


def test_what_is_no_directory_or_has_no_file_is_refused(tmp_path: Path) -> None:
    assert code_of(tmp_path / "missing") == "ENV-004"
    (tmp_path / "file").write_text("x")
    assert code_of(tmp_path / "file") == "ENV-004"
    (tmp_path / "empty").mkdir()
    assert code_of(tmp_path / "empty") == "ENV-002"
    os.mkfifo(tmp_path / "pipe")
    assert code_of(tmp_path) == "ENV-002"


def test_limits_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, a="12", b="3")
    for name, limit in (("MAX_FILES", 1), ("MAX_FILE_BYTES", 1), ("MAX_TREE_BYTES", 2)):
        with monkeypatch.context() as patch:
            patch.setattr(trees, name, limit)
            assert code_of(tmp_path) == "ENV-003"


def test_tree_files_are_what_the_language_reads() -> None:
    tree = Tree({path: File(X, 1, False) for path in ("site.pp", "modules/a/manifests/init.pp", "modules/b/x")})
    files = TreeFiles(tree, lambda digest: {X: b"x"}[digests.Digest(digest)])
    assert files.names("") == ("modules/", "site.pp")
    assert files.names("modules") == ("a/", "b/")
    assert files.names("modules/a/manifests") == ("init.pp",)
    assert files.names("site.pp") is None
    assert files.names("nowhere") is None
    assert files.read("site.pp") == b"x"
    assert files.read("modules") is None


def test_difference_names_what_was_added_removed_and_changed() -> None:
    before = Tree({"a": File(X, 1, False), "b": File(X, 1, False), "c": File(X, 1, False)})
    after = Tree({"a": File(X, 1, False), "b": File(X, 1, True), "d": File(X, 1, False)})
    assert [(one.path, one.before is None, one.after is None) for one in difference(before, after)] == [
        ("b", False, False),
        ("c", False, True),
        ("d", True, False),
    ]
