"""The files of a module on disk: one digest for all of them, and whether a link leads out."""

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path

from precast.services.code.modules import issues as issues


def digest_of(directory: Path) -> str:
    """One digest over names, contents, links and the right to execute; times and owners do not count."""
    whole = hashlib.sha256()
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
        whole.update(line.encode("utf-8", "surrogateescape") + b"\0")
    return whole.hexdigest()


def _below(directory: Path) -> Iterator[Path]:
    """Files and links in the order of their names; what is neither, nor a directory, counts as a file that cannot be."""
    for path in sorted(directory.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)
        else:
            yield path


def refuse_links_out(name: str, directory: Path) -> None:
    """Raises DeniedError MODULE-027 for a link that leads out of a module, or for what is neither file, link nor directory."""
    whole = directory.resolve()
    for path in _below(directory):
        mode = path.lstat().st_mode
        leads_out = stat.S_ISLNK(mode) and not _target(path).is_relative_to(whole)
        if leads_out or not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise issues.LEADS_OUT.error(name=name, path=path.relative_to(directory).as_posix())


def _target(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError:  # a link that leads to itself
        return Path("/")
