"""Sources, recursion and backups of files."""

import hashlib
from pathlib import Path

import pytest

from precast.agent.applying.machine import Machine
from precast.base.errors import InputError, NotFoundError, PrecastError
from precast.resources.contract import DesiredResource
from precast.resources.filebucket import Filebucket
from precast.resources.files import backups, safe_paths
from tests.unit.resources.files.applied_file import apply_resource, file, make_handler, node


def tree(place: Path) -> dict[str, str]:
    """Relative paths, with content or target."""
    return {
        str(each.relative_to(place)): f"-> {each.readlink()}"
        if each.is_symlink()
        else "/"
        if each.is_dir()
        else each.read_text()
        for each in sorted(place.rglob("*"))
    }


@pytest.fixture
def d(tmp_path: Path) -> Path:
    place = tmp_path / "d"
    place.mkdir()
    return place


def modules(tmp_path: Path, **files: str) -> tuple[Path, dict[str, str]]:
    """A module with files, and what a catalog would pin of it."""
    place = tmp_path / "modules/web/files"
    pinned = {}
    for name, text in files.items():
        path = name.replace("__", "/")
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
        pinned[f"puppet:///modules/web/{path}"] = hashlib.sha256(text.encode()).hexdigest()
    return tmp_path / "modules", pinned


def served(tmp_path: Path, *resources: DesiredResource, **files: str) -> Machine:
    place, pinned = modules(tmp_path, **files)
    return node(tmp_path / "state", *resources, pinned=pinned, modules=place)


def test_pinned_source_is_set_in_place(d: Path, tmp_path: Path) -> None:
    apply_resource(served(tmp_path, conf="hello"), file(d / "a", source="puppet:///modules/web/conf"))
    assert (d / "a").read_text() == "hello"


def test_pinned_source_in_sync_needs_no_content(d: Path, tmp_path: Path) -> None:
    _, pinned = modules(tmp_path, conf="hello")
    (d / "a").write_text("hello")
    assert apply_resource(node(tmp_path, pinned=pinned), file(d / "a", source="puppet:///modules/web/conf")) == []


def test_module_edited_since_the_compile_is_not_taken(d: Path, tmp_path: Path) -> None:
    machine = served(tmp_path, conf="hello")
    (tmp_path / "modules/web/files/conf").write_text("other")
    with pytest.raises(NotFoundError, match="is not on this machine"):
        apply_resource(machine, file(d / "a", source="puppet:///modules/web/conf"))
    assert list(d.iterdir()) == []


def test_first_source_that_exists_wins(d: Path, tmp_path: Path) -> None:
    machine = served(tmp_path, conf="hello")
    apply_resource(
        machine, file(d / "a", source=[f"{d}/nope", "puppet:///modules/web/nope", "puppet:///modules/web/conf"])
    )
    assert (d / "a").read_text() == "hello"
    with pytest.raises(NotFoundError, match=r"none of the sources exists: puppet:///modules/web/nope"):
        apply_resource(machine, file(d / "b", source="puppet:///modules/web/nope"))


def test_recursion_copies_what_the_source_has_and_leaves_the_rest(d: Path, tmp_path: Path) -> None:
    machine = served(tmp_path, top__a="A", top__sub__b="B", other="x")
    (d / "t").mkdir()
    (d / "t/mine").write_text("mine")
    apply_resource(machine, file(d / "t", source="puppet:///modules/web/top", recurse=True, mode="0640"))
    assert tree(d / "t") == {"a": "A", "mine": "mine", "sub": "/", "sub/b": "B"}
    modes = {str(each.relative_to(d)): each.stat().st_mode & 0o777 for each in (d, d / "t", d / "t/sub", d / "t/mine")}
    assert modes == {".": 0o755, "t": 0o750, "t/sub": 0o750, "t/mine": 0o640}


def test_purging_removes_what_nobody_names(d: Path, tmp_path: Path) -> None:
    machine = served(tmp_path, file(d / "declared"), top__a="A")
    for name in ("extra", "kept.txt", "declared"):
        (d / name).write_text("x")
    (d / "gone/deep").mkdir(parents=True)
    resource = file(d, source="puppet:///modules/web/top", recurse=True, purge=True, force=True, ignore=["*.txt"])
    messages = apply_resource(machine, resource)
    assert [line.split(":")[0] for line in messages] == ["a ensure", "extra ensure", "gone ensure"]
    assert sorted(tree(d)) == ["a", "declared", "kept.txt"]


def test_declared_directory_is_left_to_its_own_resource_with_all_in_it(d: Path, tmp_path: Path) -> None:
    (d / "own/deep").mkdir(parents=True)
    for name in ("own/kept", "own/deep/kept", "gone"):
        (d / name).write_text("x")
    machine = served(
        tmp_path, file(d / "own"), file(d / "own/deep"), DesiredResource("concat_file", str(d / "made"), {})
    )
    (d / "made").write_text("x")
    apply_resource(machine, file(d, ensure="directory", recurse=True, purge=True, force=True))
    assert sorted(tree(d)) == ["made", "own", "own/deep", "own/deep/kept", "own/kept"]


def test_kept_twice_leaves_nothing_beside(d: Path, tmp_path: Path) -> None:
    (d / "a").write_text("old")
    with safe_paths.open_parent("", f"{d}/a") as (directory, name):
        for _ in range(2):
            backups.back_up(node(tmp_path), ".bak", directory, name, f"{d}/a")
    assert tree(d) == {"a": "old", "a.bak": "old"}


@pytest.mark.parametrize("wrong", [{"validate_cmd": "/bin/false %"}, {"owner": "nosuchuser"}, {"group": "nosuchgroup"}])
def test_what_fails_leaves_all_as_it_was_and_keeps_nothing(d: Path, tmp_path: Path, wrong: dict[str, str]) -> None:
    (d / "a").write_text("old")
    (d / "dir").mkdir()
    (d / "dir/x").write_text("x")
    (d / "link").symlink_to("a")
    before = tree(d)
    for name in ("a", "dir", "link"):
        with pytest.raises(PrecastError):
            apply_resource(node(tmp_path), file(d / name, content="new", backup=".bak", force=True, **wrong))
    assert tree(d) == before


def test_purging_without_force_leaves_directories_and_says_so(d: Path, tmp_path: Path) -> None:
    (d / "gone").mkdir()
    machine = node(tmp_path)
    handler = make_handler(machine, file(d, ensure="directory", recurse=True, purge=True))
    (child,) = handler.expand(handler.read())
    assert child.compare(child.read()) == ()
    assert child.take_logs() == [("warning", "Not removing directory; use 'force' to override")]


def test_recursion_without_source_gives_owner_and_mode_and_enters_no_link(d: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    (d / "link").symlink_to(outside)
    (d / "a").write_text("x")
    assert apply_resource(node(tmp_path), file(d, ensure="directory", recurse=True, mode="0600")) == [
        "mode: mode changed '0755' to '0700'",
        "a mode: mode changed '0644' to '0600'",
    ]
    assert (outside / "file").stat().st_mode & 0o777 == 0o644


def test_recursion_ends_at_its_limit(d: Path, tmp_path: Path) -> None:
    machine = served(tmp_path, top__a="A", top__sub__b="B", top__sub__deep__c="C")
    apply_resource(machine, file(d / "t", source="puppet:///modules/web/top", recurse=True, recurselimit=2))
    assert sorted(tree(d / "t")) == ["a", "sub", "sub/b", "sub/deep"]


def test_all_sources_are_merged_if_asked(d: Path, tmp_path: Path) -> None:
    machine = served(tmp_path, one__a="1", two__a="2", two__b="2")
    both = ["puppet:///modules/web/one", "puppet:///modules/web/two"]
    apply_resource(machine, file(d / "all", source=both, recurse=True, sourceselect="all"))
    apply_resource(machine, file(d / "first", source=both, recurse=True))
    assert (tree(d / "all"), tree(d / "first")) == ({"a": "1", "b": "2"}, {"a": "1"})


def test_local_tree_is_copied_with_links_and_empty_directories(d: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "empty").mkdir(parents=True)
    (source / "f").write_text("F")
    (source / "f").chmod(0o750)
    (source / "l").symlink_to("f")
    apply_resource(node(tmp_path), file(d / "t", source=f"file://{source}", recurse=True))
    assert tree(d / "t") == {"empty": "/", "f": "F", "l": "-> f"}
    assert (d / "t/f").stat().st_mode & 0o777 == 0o644
    apply_resource(node(tmp_path), file(d / "u", source=str(source / "f"), source_permissions="use"))
    assert (d / "u").stat().st_mode & 0o777 == 0o750


def test_local_source_below_a_root_is_of_that_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "from").write_text("inside")
    apply_resource(node(tmp_path, root=str(root)), file("/to", source="/from"))
    assert (root / "to").read_text() == "inside"


def test_more_files_than_allowed_are_an_error(d: Path, tmp_path: Path) -> None:
    for number in range(4):
        (d / str(number)).write_text("")
    with pytest.raises(InputError, match="has 4 entries, more than max_files allows"):
        apply_resource(node(tmp_path), file(d, ensure="directory", recurse=True, max_files=3))


def test_checksum_value_must_be_that_of_the_source(d: Path, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("hello")
    right, wrong = hashlib.sha256(b"hello").hexdigest(), "0" * 64
    apply_resource(node(tmp_path), file(d / "a", source=f"{tmp_path}/source", checksum_value=right))
    with pytest.raises(InputError, match="has the checksum"):
        apply_resource(node(tmp_path), file(d / "b", source=f"{tmp_path}/source", checksum_value=wrong))
    assert not (d / "b").exists()


# Backups


def test_former_content_is_kept_beside_under_a_suffix(d: Path, tmp_path: Path) -> None:
    (d / "a").write_text("old")
    (d / "a").chmod(0o640)
    (d / "gone").write_text("gone")
    (d / "dir").mkdir()
    (d / "dir/x").write_text("x")
    machine = node(tmp_path)
    apply_resource(machine, file(d / "a", content="new", backup=".bak"))
    apply_resource(machine, file(d / "gone", ensure="absent", backup=True))
    apply_resource(machine, file(d / "dir", content="file", backup=".bak", force=True))
    assert tree(d) == {
        "a": "new",
        "a.bak": "old",
        "dir": "file",
        "dir.bak": "/",
        "dir.bak/x": "x",
        "gone.puppet-bak": "gone",
    }
    assert (d / "a.bak").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["puppet", "main"])
def test_former_content_is_kept_in_the_bucket(d: Path, tmp_path: Path, name: str) -> None:
    (d / "a").write_text("old")
    machine = node(tmp_path / "state", DesiredResource("filebucket", "main", {}))
    apply_resource(machine, file(d / "a", content="new", backup=name))
    digest = hashlib.sha256(b"old").hexdigest()
    with Filebucket(f"{tmp_path}/state/bucket").open(digest) as kept:
        assert kept.read() == b"old"
    place = tmp_path / "state/bucket" / digest[:2] / digest
    assert (place / "paths").read_text() == f"{d}/a\n"
    assert place.stat().st_mode & 0o777 == 0o700
    assert (place / "contents").stat().st_mode & 0o777 == 0o600


def test_bucket_notes_each_path_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("same")
    bucket = Filebucket(str(tmp_path / "bucket"))
    for path in ("/x", "/y", "/x"):
        with (tmp_path / "a").open("rb") as stream:
            digest = bucket.store(stream, path)
    assert (tmp_path / "bucket" / digest[:2] / digest / "paths").read_text() == "/x\n/y\n"
    with pytest.raises(FileNotFoundError):
        bucket.open("0" * 64)
