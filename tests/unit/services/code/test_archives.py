"""Untrusted archives: whatever they contain, nothing is written outside the target directory."""

import contextlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.services.code.archives import unpack

Member = tuple[str, bytes, str]  # its name, its type, and its text or the target of the link


def make_archive(*members: Member) -> tarfile.TarFile:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, kind, text in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if kind == tarfile.REGTYPE:
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
            else:
                info.linkname = text
                archive.addfile(info)
    return tarfile.open(fileobj=io.BytesIO(made.getvalue()))


def unpack_members(target: Path, *members: Member) -> None:
    with make_archive(*members) as archive:
        unpack(archive, archive.getmembers(), target)


def file_member(name: str, text: str = "x") -> Member:
    return name, tarfile.REGTYPE, text


def link_member(name: str, to: str) -> Member:
    return name, tarfile.SYMTYPE, to


def test_files_directories_and_links_are_extracted(tmp_path: Path) -> None:
    unpack_members(
        tmp_path,
        ("./lib", tarfile.DIRTYPE, ""),
        file_member("./lib/deep/a.pp", "first"),
        file_member("lib/deep/a.pp", "class a { }"),
        link_member("lib/b.pp", "deep/a.pp"),
        link_member("lib/deep/up.pp", "../b.pp"),
        ("lib/c.pp", tarfile.LNKTYPE, "lib/deep/a.pp"),
    )
    texts = {name: (tmp_path / "lib" / name).read_text() for name in ("deep/a.pp", "b.pp", "deep/up.pp", "c.pp")}
    assert set(texts.values()) == {"class a { }"}
    assert (tmp_path / "lib/b.pp").readlink() == Path("deep/a.pp")


def test_only_the_executable_bit_of_the_mode_is_kept(tmp_path: Path) -> None:
    with make_archive(file_member("a"), file_member("b")) as archive:
        members = archive.getmembers()
        members[0].mode, members[1].mode = 0o6777, 0o622
        unpack(archive, members, tmp_path)
    assert [(tmp_path / name).stat().st_mode & 0o7777 for name in "ab"] == [0o755, 0o644]


@pytest.mark.parametrize(
    "members",
    [
        [file_member("../out")],
        [file_member("/tmp/out")],
        [file_member("a/../../out")],
        [file_member("a"), file_member("a/b")],
        [link_member("a", "/etc/passwd")],
        [link_member("a", "../out")],
        [link_member("a/b", "../../out")],
        [link_member("a", "."), file_member("a/b")],
        [link_member("a", "."), ("a", tarfile.DIRTYPE, "")],
        [link_member("a", "b/../../out")],
        [link_member("a/b/x", "."), link_member("l", "a/b/x/../../../out")],
        [("a", tarfile.LNKTYPE, "../out")],
        [("a", tarfile.LNKTYPE, "missing")],
        [link_member("a/b/l", "../../c"), ("m", tarfile.LNKTYPE, "a/b/l")],
        [("a", tarfile.FIFOTYPE, "")],
        [("a", tarfile.CHRTYPE, "")],
    ],
)
def test_member_outside_the_target_is_refused(tmp_path: Path, members: list[Member]) -> None:
    (tmp_path / "out").write_text("of somebody else")
    (target := tmp_path / "target").mkdir()
    with pytest.raises((ValueError, OSError)):
        unpack_members(target, *members)
    assert (tmp_path / "out").read_text() == "of somebody else"


names = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=4).map("/".join)
kinds = st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE])


@given(st.lists(st.tuples(names, kinds, names), max_size=6))
def test_extracted_links_never_leave_the_target(
    tmp_path_factory: pytest.TempPathFactory, members: list[Member]
) -> None:
    target = (top := tmp_path_factory.mktemp("top")) / "target"
    target.mkdir()
    with contextlib.suppress(ValueError, OSError):
        unpack_members(target, *members)
    assert [path.name for path in top.iterdir()] == ["target"]
    for place, directories, files in os.walk(target):
        for name in (*directories, *files):
            led = Path(os.path.realpath(Path(place) / name))
            assert led.is_relative_to(target), f"{place}/{name} leads to {led}"
