"""Archives of others: whatever they hold, nothing gets out of the directory they are unpacked in."""

import contextlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.services.code.archives import unpack

Member = tuple[str, bytes, str]  # its name, its type, and its text or where it leads


def archived(*members: Member) -> tarfile.TarFile:
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


def unpacked(target: Path, *members: Member) -> None:
    with archived(*members) as archive:
        unpack(archive, archive.getmembers(), target)


def a_file(name: str, text: str = "x") -> Member:
    return name, tarfile.REGTYPE, text


def a_link(name: str, to: str) -> Member:
    return name, tarfile.SYMTYPE, to


def test_files_directories_and_links_are_there_as_they_were(tmp_path: Path) -> None:
    unpacked(
        tmp_path,
        ("./lib", tarfile.DIRTYPE, ""),
        a_file("./lib/deep/a.pp", "first"),
        a_file("lib/deep/a.pp", "class a { }"),
        a_link("lib/b.pp", "deep/a.pp"),
        a_link("lib/deep/up.pp", "../b.pp"),
        ("lib/c.pp", tarfile.LNKTYPE, "lib/deep/a.pp"),
    )
    texts = {name: (tmp_path / "lib" / name).read_text() for name in ("deep/a.pp", "b.pp", "deep/up.pp", "c.pp")}
    assert set(texts.values()) == {"class a { }"}
    assert (tmp_path / "lib/b.pp").readlink() == Path("deep/a.pp")


def test_only_whether_it_is_a_program_is_kept_of_the_mode(tmp_path: Path) -> None:
    with archived(a_file("a"), a_file("b")) as archive:
        members = archive.getmembers()
        members[0].mode, members[1].mode = 0o6777, 0o622
        unpack(archive, members, tmp_path)
    assert [(tmp_path / name).stat().st_mode & 0o7777 for name in "ab"] == [0o755, 0o644]


@pytest.mark.parametrize(
    "members",
    [
        [a_file("../out")],
        [a_file("/tmp/out")],
        [a_file("a/../../out")],
        [a_file("a"), a_file("a/b")],
        [a_link("a", "/etc/passwd")],
        [a_link("a", "../out")],
        [a_link("a/b", "../../out")],
        [a_link("a", "."), a_file("a/b")],
        [a_link("a", "."), ("a", tarfile.DIRTYPE, "")],
        [a_link("a", "b/../../out")],
        [a_link("a/b/x", "."), a_link("l", "a/b/x/../../../out")],
        [("a", tarfile.LNKTYPE, "../out")],
        [("a", tarfile.LNKTYPE, "missing")],
        [a_link("a/b/l", "../../c"), ("m", tarfile.LNKTYPE, "a/b/l")],
        [("a", tarfile.FIFOTYPE, "")],
        [("a", tarfile.CHRTYPE, "")],
    ],
)
def test_what_would_get_out_is_refused(tmp_path: Path, members: list[Member]) -> None:
    (tmp_path / "out").write_text("of somebody else")
    (target := tmp_path / "target").mkdir()
    with pytest.raises((ValueError, OSError)):
        unpacked(target, *members)
    assert (tmp_path / "out").read_text() == "of somebody else"


names = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=4).map("/".join)
kinds = st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE])


@given(st.lists(st.tuples(names, kinds, names), max_size=6))
def test_whatever_is_unpacked_leads_nowhere_else(
    tmp_path_factory: pytest.TempPathFactory, members: list[Member]
) -> None:
    target = (top := tmp_path_factory.mktemp("top")) / "target"
    target.mkdir()
    with contextlib.suppress(ValueError, OSError):
        unpacked(target, *members)
    assert [path.name for path in top.iterdir()] == ["target"]
    for place, directories, files in os.walk(target):
        for name in (*directories, *files):
            led = Path(os.path.realpath(Path(place) / name))
            assert led.is_relative_to(target), f"{place}/{name} leads to {led}"
