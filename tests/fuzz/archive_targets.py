"""The fuzz target for archives of modules: whatever an archive contains, nothing is written outside its directory."""

import io
import os
import tarfile
import tempfile
from pathlib import Path

from precast.services.code.archives import unpack
from tests.fuzz.target import FuzzTarget


def check_archive(data: bytes) -> None:
    """An archive is refused by a declared error, or its members are inside, and its links lead nowhere else."""
    with tempfile.TemporaryDirectory(dir=_room()) as place:
        outside, inside = Path(place), Path(place, "inside", "target")
        Path(place, "inside").mkdir()
        try:
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
                unpack(archive, archive.getmembers(), inside)
        except (tarfile.TarError, OSError, EOFError, ValueError):
            pass
        assert [path.name for path in outside.iterdir()] == ["inside"]
        assert [path.name for path in (outside / "inside").iterdir()] in ([], ["target"])
        real = inside.resolve()
        for path in inside.rglob("*"):
            assert path.resolve().is_relative_to(real), f"{path} leads outside"
            assert path.is_symlink() or path.is_dir() or path.is_file(), f"{path} is a special file"


def _room() -> str | None:
    """A directory in memory, where the machine has one: millions of inputs must not wear out a disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def make_tar(*members: tuple[str, bytes, str]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, kind, value in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            member.size = len(value) if kind == tarfile.REGTYPE else 0
            member.linkname = "" if kind == tarfile.REGTYPE else value
            archive.addfile(member, io.BytesIO(value.encode()))
    return file.getvalue()


TARGETS = {
    "archives": FuzzTarget(
        check_archive,
        (
            make_tar(
                ("m/a", tarfile.REGTYPE, "text"), ("m/d", tarfile.DIRTYPE, ""), ("m/l", tarfile.SYMTYPE, "../m/a")
            ),
            make_tar(("l", tarfile.SYMTYPE, ".."), ("l/x", tarfile.REGTYPE, "x")),
            make_tar(("a", tarfile.REGTYPE, "a"), ("b", tarfile.LNKTYPE, "a"), ("c/d/e", tarfile.REGTYPE, "e")),
            make_tar(("ü" * 60, tarfile.REGTYPE, "long"), ("f", tarfile.FIFOTYPE, "")),
        ),
        ("precast.services.code.archives",),
    ),
}
