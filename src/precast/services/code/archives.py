"""Unpacks archives that others have made: whatever they hold, it stays below its directory and is a file, a directory or a link.

tarfile's own filter does most of that, but Python before 3.11.4, which Debian 12 has, lacks it, and later ones could be got around by links
that lead through links. Here nothing is written through a link, and a link goes up only before it goes down: where it leads can then be
told from its text, whatever other links are on the way.
"""

import os
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path


def unpack(archive: tarfile.TarFile, members: Sequence[tarfile.TarInfo], target: Path) -> None:
    """Write members below a directory, empty or new; of several with one name the last counts.

    Raises ValueError for one that would be elsewhere or is something else, tarfile's errors and OSError; then some are written.
    """
    target.mkdir(parents=True, exist_ok=True)
    made: set[tuple[str, ...]] = set()
    for one in members:
        parts = _parts(one.name)
        _make_directories(target, parts if one.isdir() else parts[:-1], made)
        if not one.isdir():
            place = target.joinpath(*parts)
            place.unlink(missing_ok=True)
            _write(archive, one, place, target)


def _write(archive: tarfile.TarFile, one: tarfile.TarInfo, place: Path, target: Path) -> None:
    if one.isreg():
        source = archive.extractfile(one)
        assert source is not None, "it is a file"
        with source, place.open("xb") as file:
            shutil.copyfileobj(source, file)
        place.chmod(0o755 if one.mode & 0o100 else 0o644)
    elif one.issym():
        _refuse_leading_out(one)
        place.symlink_to(one.linkname)
    elif one.islnk():
        _link(target.joinpath(*_parts(one.linkname)), place)
    else:
        raise ValueError(f"{one.name} is neither a file nor a directory nor a link")


def _link(source: Path, place: Path) -> None:
    """Another name for a file. A link with another name would lead elsewhere."""
    if source.is_symlink():
        raise ValueError(f"{place.name} is another name for a link")
    os.link(source, place, follow_symlinks=False)


def _make_directories(target: Path, parts: tuple[str, ...], made: set[tuple[str, ...]]) -> None:
    """One in the other, each a directory itself. Raises ValueError where there is something else."""
    for depth in range(1, len(parts) + 1):
        if (some := parts[:depth]) in made:
            continue
        place = target.joinpath(*some)
        place.mkdir(exist_ok=True)
        if place.is_symlink():
            raise ValueError(f"{'/'.join(some)} is a link and a directory")
        made.add(some)


def _parts(name: str) -> tuple[str, ...]:
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in parts or not parts:
        raise ValueError(f"{name!r} leads out of it")
    return parts


def _refuse_leading_out(link: tarfile.TarInfo) -> None:
    parts = [part for part in link.linkname.split("/") if part not in ("", ".")]
    depth = len(_parts(link.name)) - 1
    ups = parts.count("..")
    if link.linkname.startswith("/") or ".." in parts[ups:] or ups > depth:
        raise ValueError(f"{link.name} leads to {link.linkname}, which may be anywhere")
