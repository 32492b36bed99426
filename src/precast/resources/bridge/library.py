"""Writes the Ruby files of modules that a catalog names by their digests, so that Puppet can load them.

Each module gets a directory of its own below one that belongs to the agent, with exactly the files of the catalog. Every file is checked
against its digest before each run, because it will be executed as root.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from precast.base.files import make_directories, write_owned
from precast.catalog.body import PLUGIN_SCHEME
from precast.resources import issues

# Of a file below `lib`: no part of it leads elsewhere.
_NAME: Final = re.compile(
    rf"{PLUGIN_SCHEME}([a-z][a-z0-9_]*)/lib/((?:[A-Za-z0-9_+-][A-Za-z0-9_.+-]*/)*[A-Za-z0-9_+-][A-Za-z0-9_.+-]*)"
)
_MAX_BYTES: Final = 4 << 20


def library_files(content: Mapping[str, str]) -> dict[str, str]:
    """The digests of the Ruby files of a catalog, by MODULE/lib/PATH, in the order of the names."""
    return {
        f"{match[1]}/lib/{match[2]}": digest
        for name, digest in sorted(content.items())
        if (match := _NAME.fullmatch(name))
    }


def write_library(directory: Path, files: Mapping[str, str], open_content: Callable[[str], BinaryIO]) -> list[str]:
    """Bring a directory to exactly these files. Returns the `lib` directories of the modules.

    Raises NotFoundError RESOURCE-003 for a content that is not on this machine, or does not have its digest.
    """
    make_directories(directory)
    for name, digest in files.items():
        path = directory / name
        if not _has_digest(path, digest):
            make_directories(path.parent)
            write_owned(path, _read(open_content, digest), 0o600, (os.geteuid(), os.getegid()))
    _delete_others(directory, files)
    return [str(directory / module / "lib") for module in dict.fromkeys(name.partition("/")[0] for name in files)]


def _has_digest(path: Path, digest: str) -> bool:
    return path.is_file() and not path.is_symlink() and _sha256(path.read_bytes()) == digest


def _read(open_content: Callable[[str], BinaryIO], digest: str) -> bytes:
    with open_content(digest) as file:
        data = file.read(_MAX_BYTES)
    if _sha256(data) != digest:
        raise issues.NO_CONTENT.error(digest=digest)
    return data


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _delete_others(directory: Path, files: Mapping[str, str]) -> None:
    """Delete what the catalog does not name, and directories that are empty then."""
    for path in _below(directory):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif str(path.relative_to(directory)) not in files:
            path.unlink()


def _below(directory: Path) -> Iterator[Path]:
    """Everything below a directory, contents before their directory. Links are not followed."""
    for path in sorted(directory.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)
        yield path
