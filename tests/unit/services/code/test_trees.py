"""File trees: the same files are the same version, and no path leaves the tree."""

import os
from pathlib import Path

import pytest

from precast.base import canonical, digests
from precast.base.errors import PrecastError
from precast.services.code import file_trees as trees
from precast.services.code.file_trees import FileTree, TreeFile, TreeFiles, compare_trees, read_directory

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
        "site": TreeFile(X, 1, False),
        "modules/a/run": TreeFile(digests.of_bytes("ü".encode()), 2, True),
    }
    assert places[X] == tmp_path / "site"


def test_same_files_elsewhere_are_the_same_version(tmp_path: Path) -> None:
    first, second = make(tmp_path / "1", a="1", b__c="2"), make(tmp_path / "2", b__c="2", a="1")
    os.utime(second / "a", (1, 1))
    (second / ".git").mkdir()
    (second / ".git" / "config").write_text("left out")
    assert read_directory(first)[0].version == read_directory(second)[0].version
    (second / "a").chmod(0o700)
    assert read_directory(first)[0].version != read_directory(second)[0].version


def test_decoded_tree_equals_the_encoded_one(tmp_path: Path) -> None:
    tree, _ = read_directory(make(tmp_path, a="1", b__c="2"))
    assert FileTree.decode(tree.encode()).files == tree.files
    assert digests.of_bytes(tree.encode()) == tree.version


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", "a/.", "a\0b", "a\nb", "a\u202eb", "x" * 501],
)
def test_paths_outside_the_tree_are_refused(path: str) -> None:
    data = canonical.encode({"files": {path: [X, 1, False]}})
    with pytest.raises(PrecastError) as caught:
        FileTree.decode(data)
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
def test_invalid_encoded_tree_is_refused(data: bytes) -> None:
    with pytest.raises(PrecastError) as caught:
        FileTree.decode(data)
    assert caught.value.code == "ENV-002"


def test_links_inside_count_as_their_targets(tmp_path: Path) -> None:
    make(tmp_path, real__a="1")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").symlink_to("real/a")
    assert sorted(read_directory(tmp_path)[0].files) == ["file", "link/a", "real/a"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "nowhere", ".git/config"])
def test_links_outside_or_to_nothing_are_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").write_text("secret")
    make(tmp_path / "env", a="1")
    (tmp_path / "env" / ".git").mkdir()
    (tmp_path / "env" / ".git" / "config").write_text("secret")
    (tmp_path / "env" / "link").symlink_to(target)
    assert code_of(tmp_path / "env") == "ENV-002"


def test_link_to_a_parent_directory_is_refused(tmp_path: Path) -> None:
    make(tmp_path, a="1")
    (tmp_path / "loop").symlink_to(".")
    assert code_of(tmp_path) == "ENV-002"


def test_missing_or_empty_directory_is_refused(tmp_path: Path) -> None:
    assert code_of(tmp_path / "missing") == "ENV-004"
    (tmp_path / "file").write_text("x")
    assert code_of(tmp_path / "file") == "ENV-004"
    (tmp_path / "empty").mkdir()
    assert code_of(tmp_path / "empty") == "ENV-002"
    os.mkfifo(tmp_path / "pipe")
    assert code_of(tmp_path) == "ENV-002"


def test_tree_beyond_the_limits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, a="12", b="3")
    for name, limit in (("MAX_FILES", 1), ("MAX_FILE_BYTES", 1), ("MAX_TREE_BYTES", 2)):
        with monkeypatch.context() as patch:
            patch.setattr(trees, name, limit)
            assert code_of(tmp_path) == "ENV-003"


def test_tree_files_are_what_the_language_reads() -> None:
    tree = FileTree({path: TreeFile(X, 1, False) for path in ("site.pp", "modules/a/manifests/init.pp", "modules/b/x")})
    files = TreeFiles(tree, lambda digest: {X: b"x"}[digests.Digest(digest)])
    assert files.names("") == ("modules/", "site.pp")
    assert files.names("modules") == ("a/", "b/")
    assert files.names("modules/a/manifests") == ("init.pp",)
    assert files.names("site.pp") is None
    assert files.names("nowhere") is None
    assert files.read("site.pp") == b"x"
    assert files.read("modules") is None


def test_compared_trees_show_added_removed_and_changed_files() -> None:
    before = FileTree({"a": TreeFile(X, 1, False), "b": TreeFile(X, 1, False), "c": TreeFile(X, 1, False)})
    after = FileTree({"a": TreeFile(X, 1, False), "b": TreeFile(X, 1, True), "d": TreeFile(X, 1, False)})
    assert [
        (difference.path, difference.before is None, difference.after is None)
        for difference in compare_trees(before, after)
    ] == [
        ("b", False, False),
        ("c", False, True),
        ("d", True, False),
    ]
