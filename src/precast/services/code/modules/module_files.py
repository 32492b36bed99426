"""The files of an installed module: computes one digest of all of them, and refuses links that leave the module."""

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path

from precast.services.code.modules import issues


def digest_of(directory: Path) -> str:
    """Compute a digest of names, contents, links and executable bits; times and owners do not count."""
    digest = hashlib.sha256()
    for path in _below(directory):
        name = path.relative_to(directory).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            line = f"link {name} {path.readlink()}"
        elif not stat.S_ISREG(mode):
            line = f"other {name}"
        else:
            executable = "x" if mode & 0o100 else "-"
            line = f"file{executable} {name} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        digest.update(line.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _below(directory: Path) -> Iterator[Path]:
    """Yield everything below a directory but directories themselves, ordered by name."""
    for path in sorted(directory.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)
        else:
            yield path


def refuse_escaping_links(name: str, directory: Path) -> None:
    """Raises DeniedError MODULE-027 for a link that leaves the module, or an entry that is neither file, link nor directory."""
    root = directory.resolve()
    for path in _below(directory):
        mode = path.lstat().st_mode
        is_escaping = stat.S_ISLNK(mode) and not _target(path).is_relative_to(root)
        if is_escaping or not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise issues.LINK_ESCAPES_MODULE.error(name=name, path=path.relative_to(directory).as_posix())


def _target(path: Path) -> Path:
    try:
        return path.resolve()
    except (RuntimeError, OSError):  # a link that points to itself, or to a name that no file can have
        return Path("/")
