"""Extracts untrusted archives: every member stays below the target directory and is a file, a directory or a link.

The filter of tarfile does most of that, but Python before 3.11.4, which Debian 12 has, lacks it, and later versions could be bypassed
by links that lead through links. Here nothing is written through a link, and the target of a link may contain `..` only at its
beginning: then its text alone determines where it leads, whatever other links are on the way. An archive is read once from its beginning
to its end, and what it may expand to is limited before anything is written.
"""

import gzip
import io
import os
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

# A header of a member is smaller; files are copied in smaller pieces. A longer single read is a header that would fill the memory.
MAX_READ_BYTES = 1024 * 1024
MAX_NAME_BYTES = 255
MAX_DEPTH = 40


class ArchiveLimits(NamedTuple):
    """What the members of an archive may expand to, all together."""

    files: int = 50_000
    content_bytes: int = 512 * 1024 * 1024

    @property
    def stream_bytes(self) -> int:
        """The uncompressed archive: a header and padding for each member, and extended headers."""
        return self.content_bytes + 4096 * self.files


@contextmanager
def open_archive(file: BinaryIO, limits: ArchiveLimits = ArchiveLimits()) -> Iterator[tarfile.TarFile]:  # noqa: B008 - immutable
    """Open a tar archive, compressed by gzip or not, to read its members once in their order. Raises ValueError, tarfile's errors, OSError.

    Reading more than the limits allow raises ValueError.
    """
    is_compressed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    stream = gzip.GzipFile(fileobj=file, mode="rb") if is_compressed else file
    reader = cast(BinaryIO, _BoundedReader(cast(BinaryIO, stream), limits.stream_bytes))
    with tarfile.open(fileobj=reader, mode="r:") as archive:
        yield archive


class _BoundedReader(io.RawIOBase):
    """Reads a stream forwards only, and so many bytes at most."""

    def __init__(self, stream: BinaryIO, most_bytes: int) -> None:
        super().__init__()
        self._stream, self._most_bytes, self._at = stream, most_bytes, 0

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_READ_BYTES:
            raise ValueError("a header of the archive is too large")
        data = self._stream.read(size)
        self._at += len(data)
        if self._at > self._most_bytes:
            raise ValueError(f"it expands to more than {self._most_bytes} bytes")
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or offset < self._at:
            raise ValueError("the archive is read only once")
        while self._at < offset and self.read(min(offset - self._at, MAX_READ_BYTES)):
            pass
        return self._at

    def tell(self) -> int:
        return self._at


def unpack(
    archive: tarfile.TarFile,
    members: Iterable[tarfile.TarInfo],
    target: Path,
    limits: ArchiveLimits = ArchiveLimits(),  # noqa: B008 - immutable
) -> None:
    """Extract members below an empty or new directory; of several members with one name the last counts.

    Raises ValueError for a member that would lie elsewhere, has another type or exceeds the limits, tarfile's errors and OSError; earlier
    members are already written then.
    """
    target.mkdir(parents=True, exist_ok=True)
    created: set[tuple[str, ...]] = set()
    total_bytes = 0
    for count, member in enumerate(members, start=1):
        total_bytes += max(member.size, 0)
        if count > limits.files or total_bytes > limits.content_bytes:
            raise ValueError(f"it has more than {limits.files} members or {limits.content_bytes} bytes")
        parts = _parts(member.name)
        _make_directories(target, parts if member.isdir() else parts[:-1], created)
        if not member.isdir():
            path = target.joinpath(*parts)
            path.unlink(missing_ok=True)
            _write(archive, member, path, target)


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path, target: Path) -> None:
    if member.isreg():
        source = archive.extractfile(member)
        assert source is not None, "the member is a file"
        with source, path.open("xb") as file:
            shutil.copyfileobj(source, file, MAX_READ_BYTES)
        path.chmod(0o755 if member.mode & 0o100 else 0o644)
    elif member.issym():
        _refuse_escaping_link(member)
        path.symlink_to(member.linkname)
    elif member.islnk():
        _link(target.joinpath(*_parts(member.linkname)), path)
    else:
        raise ValueError(f"{member.name} is neither a file nor a directory nor a link")


def _link(source: Path, path: Path) -> None:
    """Create a hard link to a file. A hard link to a symbolic link is refused, because it would lead elsewhere."""
    if source.is_symlink():
        raise ValueError(f"{path.name} is a hard link to a symbolic link")
    os.link(source, path, follow_symlinks=False)


def _make_directories(target: Path, parts: tuple[str, ...], created: set[tuple[str, ...]]) -> None:
    """Create nested directories. Raises ValueError if one of them is a link."""
    for depth in range(1, len(parts) + 1):
        if (prefix := parts[:depth]) in created:
            continue
        path = target.joinpath(*prefix)
        path.mkdir(exist_ok=True)
        if path.is_symlink():
            raise ValueError(f"{'/'.join(prefix)} is both a link and a directory")
        created.add(prefix)


def _parts(name: str) -> tuple[str, ...]:
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in parts or not parts:
        raise ValueError(f"{name[:80]!r} points outside the archive")
    if len(parts) > MAX_DEPTH or not all(_is_name(part) for part in parts):
        raise ValueError(f"{name[:80]!r} is not a valid path")
    return parts


def _is_name(part: str) -> bool:
    return part.isprintable() and len(part.encode("utf-8", "surrogateescape")) <= MAX_NAME_BYTES


def _refuse_escaping_link(link: tarfile.TarInfo) -> None:
    parts = [part for part in link.linkname.split("/") if part not in ("", ".")]
    if not parts or len(parts) > MAX_DEPTH or not all(_is_name(part) for part in parts):
        raise ValueError(f"{link.name} is not a valid link")
    depth = len(_parts(link.name)) - 1
    ups = parts.count("..")
    if link.linkname.startswith("/") or ".." in parts[ups:] or ups > depth:
        raise ValueError(f"{link.name} links to {link.linkname}, which may be outside the archive")
