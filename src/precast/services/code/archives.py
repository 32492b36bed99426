"""Extracts untrusted archives: every member stays below the target directory and is a file, a directory or a link.

The filter of tarfile does most of that, but Python before 3.11.4, which Debian 12 has, lacks it, and later versions could be bypassed
by links that lead through links. Here nothing is written through a link, and the target of a link may contain `..` only at its
beginning: then its text alone determines where it leads, whatever other links are on the way.
"""

import os
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path


def unpack(archive: tarfile.TarFile, members: Sequence[tarfile.TarInfo], target: Path) -> None:
    """Extract members below an empty or new directory; of several members with one name the last counts.

    Raises ValueError for a member that would lie elsewhere or has another type, tarfile's errors and OSError; earlier members are
    already written then.
    """
    target.mkdir(parents=True, exist_ok=True)
    created: set[tuple[str, ...]] = set()
    for member in members:
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
            shutil.copyfileobj(source, file)
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
        raise ValueError(f"{name!r} points outside the archive")
    return parts


def _refuse_escaping_link(link: tarfile.TarInfo) -> None:
    parts = [part for part in link.linkname.split("/") if part not in ("", ".")]
    depth = len(_parts(link.name)) - 1
    ups = parts.count("..")
    if link.linkname.startswith("/") or ".." in parts[ups:] or ups > depth:
        raise ValueError(f"{link.name} links to {link.linkname}, which may be outside the archive")
