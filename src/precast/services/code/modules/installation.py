"""Puts the modules of a Puppetfile in place.

All modules are made ready beside their places first; only when every one is there are they moved, each by a rename, and the lock file is
written last. Whatever fails before changes nothing; whatever is cut off between is repaired by the next run, which trusts digests of
files and not what was meant to happen. What somebody else put there, or changed, is never overwritten without being told to.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from precast.base.spans import Source
from precast.lang.ruby.code.puppetfile import ModuleSource, Puppetfile, read_puppetfile
from precast.services.code.modules import issues as issues
from precast.services.code.modules.git import Repositories
from precast.services.code.modules.lock import Locked, read_lock, write_lock
from precast.services.code.modules.tarballs import Tarballs
from precast.services.code.modules.trees import digest_of, refuse_links_out

PUPPETFILE = "Puppetfile"
_STAGING = ".precast-modules-"
Change = Literal["installed", "replaced", "unchanged", "removed", "local", "left"]


class Outcome(msgspec.Struct, frozen=True):
    """What became of one module."""

    name: str
    directory: str
    change: Change
    resolved: str = ""


class _Ready(msgspec.Struct, frozen=True):
    """A module that waits to be moved into place."""

    source: ModuleSource
    staged: Path
    locked: Locked


class Installation:
    """One run over one environment's directory."""

    def __init__(
        self, environment: Path, repositories: Repositories, tarballs: Tarballs, *, force: bool = False
    ) -> None:
        self._environment = environment.resolve()
        self._repositories = repositories
        self._tarballs = tarballs
        self._force = force

    def run(self, puppetfile: Puppetfile, *, update: bool = False) -> list[Outcome]:
        """What was done, in the order of the Puppetfile. With `update` branches and newest versions are looked up again.

        Raises MODULE-021 to MODULE-033; then nothing was changed, except for MODULE-033.
        """
        with _alone(self._environment), self._staging() as staging:
            known = read_lock(self._environment)
            outcomes: list[Outcome] = []
            ready: list[_Ready] = []
            kept: dict[str, Locked] = {}
            for source in puppetfile.modules:
                outcome, waiting = self._prepare(source, known.get(source.name), staging, update)
                outcomes.append(outcome)
                ready += [waiting] if waiting is not None else []
                if waiting is not None or (source.name in known and source.origin != "local"):
                    kept[source.name] = waiting.locked if waiting is not None else known[source.name]
            places = {source.directory for source in puppetfile.modules}
            gone = [
                (locked, self.place_of(locked.source.directory))
                for locked in known.values()
                if locked.source.directory not in places
            ]
            try:
                self._place(ready, staging)
                outcomes += [self._remove(locked, place, staging) for locked, place in gone]
                write_lock(self._environment, kept)
            except OSError as error:
                raise issues.NOT_PLACED.error(path=str(self._environment), reason=error.strerror or error) from None
        return outcomes

    @contextlib.contextmanager
    def _staging(self) -> Iterator[Path]:
        """A directory on the same file system; what an earlier run left behind goes first."""
        try:
            for left in self._environment.glob(f"{_STAGING}*"):
                shutil.rmtree(left)
            place = Path(tempfile.mkdtemp(prefix=_STAGING, dir=self._environment))
        except OSError as error:
            raise issues.NOT_PLACED.error(path=str(self._environment), reason=error.strerror or error) from None
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _prepare(
        self, source: ModuleSource, locked: Locked | None, staging: Path, update: bool
    ) -> tuple[Outcome, _Ready | None]:
        place = self.place_of(source.directory)
        if source.origin == "local":
            if not place.is_dir():
                raise issues.NOT_LOCAL.error(name=source.name, path=source.directory)
            return Outcome(source.name, source.directory, "local"), None
        present = digest_of(place) if place.is_dir() else None
        is_known = locked is not None and locked.source == source and not update
        if is_known and locked is not None and present == locked.files:
            return Outcome(source.name, source.directory, "unchanged", locked.resolved), None
        resolved = locked.resolved if is_known and locked is not None else self._resolve(source)
        staged = staging / source.name
        staged.mkdir()
        self._export(source, resolved, staged)
        refuse_links_out(source.name, staged)
        files = digest_of(staged)
        if present not in (None, files) and not self._force and (locked is None or present != locked.files):
            raise issues.CHANGED_HERE.error(name=source.name, path=source.directory)
        change: Change = "installed" if present is None else "unchanged" if present == files else "replaced"
        ready = _Ready(source, staged, Locked(source, resolved, files))
        return Outcome(source.name, source.directory, change, resolved), ready

    def place_of(self, directory: str) -> Path:
        """A module's directory. Raises DeniedError MODULE-028 where a link on the way, or the way itself, leads out."""
        whole = self._environment.resolve()
        place = whole / directory
        parts = Path(directory).parts
        if Path(directory).is_absolute() or ".." in parts or len(parts) < 2 or place.is_symlink():
            raise issues.PLACE_LEADS_OUT.error(path=directory)
        if not place.parent.resolve().is_relative_to(whole):
            raise issues.PLACE_LEADS_OUT.error(path=directory)
        return place

    def _resolve(self, source: ModuleSource) -> str:
        return self._repositories.commit(source) if source.origin == "git" else self._tarballs.version(source)

    def _export(self, source: ModuleSource, resolved: str, target: Path) -> None:
        if source.origin == "git":
            self._repositories.export(source, resolved, target)
        else:
            self._tarballs.export(source, resolved, target)

    def _place(self, ready: list[_Ready], staging: Path) -> None:
        for each in ready:
            place = self.place_of(each.source.directory)
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.exists():
                place.rename(staging / f"{each.source.name}.old")
            each.staged.rename(place)

    def _remove(self, locked: Locked, place: Path, staging: Path) -> Outcome:
        """Takes away what an earlier Puppetfile put there, unless it was changed since."""
        source = locked.source
        if place.is_dir() and (self._force or digest_of(place) == locked.files):
            place.rename(staging / f"{source.name}.gone")
            return Outcome(source.name, source.directory, "removed", locked.resolved)
        return Outcome(source.name, source.directory, "left", locked.resolved)


def install_modules(
    place: Path, *, cache: Path, forge: Path | None = None, update: bool = False, force: bool = False
) -> list[Outcome]:
    """Puts the modules of the Puppetfile in a directory in place; none if there is no such file.

    Copies of repositories are kept below `cache`. Raises MODULE-001 to MODULE-033; then nothing was changed, except for MODULE-033.
    """
    path = place / PUPPETFILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise issues.NOT_READ.error(path=str(path), reason=str(error)) from None
    installation = Installation(place, Repositories(cache, place.resolve()), Tarballs(forge), force=force)
    return installation.run(read_puppetfile(Source(str(path), text)), update=update)


@contextlib.contextmanager
def _alone(environment: Path) -> Iterator[None]:
    """Keeps a second installation out. Raises UnavailableError MODULE-032."""
    handle = os.open(environment, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise issues.BUSY.error(path=str(environment)) from None
        yield
    finally:
        os.close(handle)
