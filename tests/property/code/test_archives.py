"""Archives of strangers: whatever they contain, nothing outside is written, and the limits hold."""

import contextlib
import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.services.code.archives import ArchiveLimits, open_archive, unpack

LIMITS = ArchiveLimits(files=20, content_bytes=100_000)
PARTS = st.sampled_from(
    ["a", "b", "A", "..", ".", "", "x" * 300, "n\nl", "t\tb", "nul\0x", "é", "\udce9", "-rf", "C:\\x"]
)
NAMES = st.builds(
    lambda start, parts: start + "/".join(parts), st.sampled_from(["", "/", "//", "./"]), st.lists(PARTS, max_size=4)
)
KINDS = st.sampled_from(
    [
        *(tarfile.REGTYPE, tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE),
        *(tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE, b"Z"),
    ]
)
MEMBERS = st.lists(st.tuples(NAMES, KINDS, NAMES, st.integers(0, 60_000)), max_size=30)


def make_archive(members: list[tuple[str, bytes, str, int]], is_pax: bool) -> bytes:
    file = io.BytesIO()
    form = tarfile.PAX_FORMAT if is_pax else tarfile.GNU_FORMAT
    with tarfile.open(fileobj=file, mode="w", format=form, encoding="utf-8", errors="surrogateescape") as archive:
        for name, kind, link, size in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, link
            member.size = size if kind in (tarfile.REGTYPE, tarfile.CONTTYPE) else 0
            with contextlib.suppress(ValueError, UnicodeError):
                archive.addfile(member, io.BytesIO(bytes(member.size)))
    return file.getvalue()


@contextlib.contextmanager
def place() -> Iterator[Path]:
    """A directory with an inner one that an archive may fill, and a file that it must not touch."""
    with TemporaryDirectory() as directory:
        outside = Path(directory)
        (outside / "out").write_text("of somebody else")
        (outside / "target").mkdir()
        yield outside / "target"
        assert sorted(path.name for path in outside.iterdir()) == ["out", "target"]
        assert (outside / "out").read_text() == "of somebody else"
        assert (outside / "out").stat().st_nlink == 1


def extract(data: bytes, target: Path, limits: ArchiveLimits = LIMITS) -> bool:
    """Whether the archive was extracted; a refusal is one of the declared exceptions."""
    try:
        with open_archive(io.BytesIO(data), limits) as archive:
            unpack(archive, archive, target, limits)
    except (ValueError, OSError, EOFError, tarfile.TarError, zlib.error):
        return False
    return True


def assert_inside(target: Path) -> None:
    real = Path(os.path.realpath(target))
    files = [path for path in target.rglob("*") if not path.is_dir() or path.is_symlink()]
    for path in files:
        assert Path(os.path.realpath(path)).is_relative_to(real)
        assert path.is_symlink() or path.is_file()
        assert "\n" not in path.name
    assert len(files) <= LIMITS.files
    assert sum(path.lstat().st_size for path in files if path.lstat().st_nlink == 1) <= LIMITS.content_bytes


@given(MEMBERS, st.booleans(), st.booleans())
def test_archive_of_any_members_stays_inside_and_within_its_limits(
    members: list[tuple[str, bytes, str, int]], is_pax: bool, is_compressed: bool
) -> None:
    data = make_archive(members, is_pax)
    with place() as target:
        extract(gzip.compress(data, 1) if is_compressed else data, target)
        assert_inside(target)


@given(MEMBERS, st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=20))
def test_damaged_archive_stays_inside_and_within_its_limits(
    members: list[tuple[str, bytes, str, int]], changes: list[tuple[int, int]]
) -> None:
    data = bytearray(make_archive(members, is_pax=True))
    for at, value in changes:
        data[at % len(data)] = value
    with place() as target:
        extract(bytes(data), target)
        assert_inside(target)


def header(name: str, size: int, **pax: str) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    member.pax_headers = pax
    return member.tobuf(tarfile.PAX_FORMAT)


def bombs() -> dict[str, bytes]:
    zeros = gzip.compress(bytes(20_000_000))
    sparse = {f"GNU.sparse.{key}": value for key, value in (("major", "1"), ("minor", "0"), ("name", "s"))}
    whole = header("s", 512, **sparse, **{"GNU.sparse.realsize": str(10**12)}) + b"1\n0\n0\n".ljust(512, b"\0")
    long_name = tarfile.TarInfo("././@LongLink")
    long_name.type, long_name.size = tarfile.GNUTYPE_LONGNAME, 10**10
    return {
        "ten gigabytes of zeros": gzip.compress(header("z", 10**10)) + zeros,
        "zeros behind a small member": gzip.compress(header("z", 0)[:512] + bytes(20_000_000)),
        "a sparse file of a terabyte": whole,
        "a name of ten gigabytes": gzip.compress(long_name.tobuf(tarfile.GNU_FORMAT)) + zeros,
        "a header of ten gigabytes": gzip.compress(header("x", 1, comment="c" * 2_000_000)),
        "too many members": b"".join(header(f"m{number}", 0) for number in range(50)),
        "a negative size": b"".join([header("n", 0)[:124], b"\xff" * 12, header("n", 0)[136:]]),
    }


@pytest.mark.parametrize("name", sorted(bombs()))
def test_bomb_is_refused_or_harmless_within_its_limits(name: str) -> None:
    with place() as target:
        extract(bombs()[name], target)
        assert_inside(target)
        if name != "zeros behind a small member":  # the end of an archive: what follows is not read
            assert not extract(bombs()[name], target)


def test_stream_is_never_read_beyond_the_limit() -> None:
    """Counts the bytes that are uncompressed, however large the archive claims to be."""

    class Counting(io.BytesIO):
        count = 0

        def read(self, size: int | None = -1) -> bytes:
            data = super().read(size)
            self.count += len(data)
            return data

    stream = Counting(header("z", 10**9) + bytes(50_000_000))
    with place() as target, contextlib.suppress(ValueError), open_archive(stream, LIMITS) as archive:
        unpack(archive, archive, target, ArchiveLimits(files=20, content_bytes=2 * 10**9))
    assert stream.count <= LIMITS.stream_bytes + 1024 * 1024
