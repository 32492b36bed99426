"""What is read at a managed path, what is refused, and the limits."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from precast.base.errors import DeniedError, InputError, NotFoundError
from precast.resources.contract import DesiredResource
from precast.resources.files import listing, safe_paths, safe_reads
from tests.unit.resources.files.applied_file import make_handler, node

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of several owners")
BOB = 4711


def read(path: Path, max_bytes: int = safe_reads.MAX_BYTES) -> bytes | None:
    content = safe_reads.read_file(safe_reads.root_parents(""), str(path), max_bytes=max_bytes)
    return None if content is None else content.data


def test_file_is_read_with_its_status_and_a_missing_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"data")
    (tmp_path / "a").chmod(0o640)
    content = safe_reads.read_file(safe_reads.root_parents(""), f"{tmp_path}/a")
    assert content is not None
    assert (content.data, content.mode) == (b"data", 0o640)
    assert read(tmp_path / "b") is None
    assert read(tmp_path / "nowhere/b") is None
    assert read(tmp_path / "a/b") is None


def test_file_of_the_kernel_that_tells_no_size_is_read_whole() -> None:
    assert read(Path("/proc/version")) == Path("/proc/version").read_bytes()


def test_file_that_is_too_large_is_refused_before_it_is_held(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 11)
    assert read(tmp_path / "a", max_bytes=11) == b"x" * 11
    with pytest.raises(InputError, match="more than 10 bytes"):
        read(tmp_path / "a", max_bytes=10)


def test_sparse_file_of_any_size_is_refused_at_once(tmp_path: Path) -> None:
    """Its owner pays nothing for it, and hashing it would take days."""
    with (tmp_path / "a").open("wb") as file:
        file.truncate(safe_reads.MAX_STREAM_BYTES + 1)
    machine = node(tmp_path / "state")
    handler = make_handler(machine, DesiredResource("file", f"{tmp_path}/a", {"content": "x"}))
    with pytest.raises(InputError, match="is not read"):
        handler.read()
    for backup in ("puppet", ".bak"):
        gone = DesiredResource("file", f"{tmp_path}/a", {"ensure": "absent", "backup": backup})
        handler = make_handler(machine, gone)
        (change,) = handler.compare(handler.read())
        if backup == "puppet":
            with pytest.raises(InputError, match="is not read"):
                handler.apply(change)
            assert not list((tmp_path / "state").rglob("contents"))
        else:
            handler.apply(change)
    machine.finish()


def test_stream_that_grows_past_the_limit_ends_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 8)
    handle = os.open(tmp_path / "a", os.O_RDONLY)
    with safe_reads.BoundedFile(handle, "a", max_bytes=10) as file:
        assert file.read(8) == b"x" * 8
        (tmp_path / "a").write_bytes(b"x" * 16)
        with pytest.raises(InputError, match="more than 10 bytes"):
            file.read(8)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_directory(path: Path) -> None:
    path.mkdir()


def make_device(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: a device")
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero, which never ends


@pytest.mark.parametrize("make", [make_pipe, make_directory, make_device])
def test_what_is_no_regular_file_is_not_opened(
    tmp_path: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "a")
    opened: list[str] = []
    real = os.open

    def record(path: str, flags: int, *words: int, **options: int) -> int:
        if not flags & os.O_PATH:
            opened.append(str(path))
        return real(path, flags, *words, **options)

    monkeypatch.setattr(os, "open", record)
    with pytest.raises(NotFoundError):
        read(tmp_path / "a")
    assert opened == []


@AS_ROOT
def test_hard_link_is_read_where_only_root_can_make_one(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "a").write_bytes(b"data")
    os.link(tmp_path / "a", tmp_path / "b")
    assert read(tmp_path / "b") == b"data"
    for mode, group in ((0o775, BOB), (0o757, 0), (0o1777, 0)):
        os.chown(tmp_path, 0, group)
        tmp_path.chmod(mode)
        with pytest.raises(DeniedError, match="another hard link"):
            read(tmp_path / "b")


@AS_ROOT
@pytest.mark.parametrize(("mode", "group", "is_read"), [(0o600, 0, False), (0o640, BOB, True), (0o604, 0, True)])
def test_file_of_root_in_a_users_directory_is_read_if_the_user_may_read_it(
    tmp_path: Path, mode: int, group: int, is_read: bool
) -> None:
    (tmp_path / "d").mkdir()
    os.chown(tmp_path / "d", BOB, BOB)
    (tmp_path / "d/a").write_bytes(b"data")
    (tmp_path / "d/a").chmod(mode)
    os.chown(tmp_path / "d/a", 0, group)
    if is_read:
        assert read(tmp_path / "d/a") == b"data"
    else:
        with pytest.raises(DeniedError, match="must not be given to user 4711"):
            read(tmp_path / "d/a")


def test_directories_without_end_are_an_error(tmp_path: Path) -> None:
    path = tmp_path
    for _ in range(listing.MAX_LEVELS + 2):
        path /= "d"
        path.mkdir()
    with pytest.raises(InputError, match="nested more than"):
        listing.list_below(safe_reads.root_parents(""), str(tmp_path), (), None, False)
    assert len(listing.list_below(safe_reads.root_parents(""), str(tmp_path), (), 5, False)) == 5


def test_cache_of_directories_is_bounded_and_all_are_closed(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    parents = safe_paths.ParentCache(str(tmp_path), max_cached=3)
    for number in range(10):
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number}/a").write_bytes(b"data")
        assert safe_reads.read_file(parents, f"/d{number}/a") is not None
    assert len(list(Path("/proc/self/fd").iterdir())) == before + 3
    parents.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert safe_reads.read_file(parents, "/d1/a") is not None
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_path_that_ends_in_dots_stays_inside_the_root(tmp_path: Path) -> None:
    (tmp_path / "root/d").mkdir(parents=True)
    status = safe_reads.find_status(safe_reads.root_parents(f"{tmp_path}/root"), "/d/../..")
    assert status is not None
    assert status.st_ino == (tmp_path / "root").stat().st_ino
