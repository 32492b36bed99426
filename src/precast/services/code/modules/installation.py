"""Installs the modules of a Puppetfile.

All modules are first prepared in a staging directory. Only when every one is ready are they moved, each by a rename, and the lock file
is written last. A failure before that changes nothing; an interruption in between is repaired by the next installation, which relies on
digests of the files, not on recorded intentions. A module that was changed or put there by hand is overwritten only with `force`.
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
from precast.lang.ruby.declarations.puppetfile import ModuleSource, Puppetfile, read_puppetfile
from precast.services.code.address_policy import PERSONAL
from precast.services.code.git_program import Git
from precast.services.code.modules import issues
from precast.services.code.modules.git import GitRepositories
from precast.services.code.modules.lock import LockedModule, read_lock, write_lock
from precast.services.code.modules.module_files import digest_of, refuse_escaping_links
from precast.services.code.modules.tarballs import Tarballs

PUPPETFILE = "Puppetfile"
_STAGING = ".precast-modules-"
ModuleChange = Literal["installed", "replaced", "unchanged", "removed", "local", "left"]


class ModuleOutcome(msgspec.Struct, frozen=True):
    """The outcome for one module."""

    name: str
    directory: str
    change: ModuleChange
    resolved: str = ""


class _StagedModule(msgspec.Struct, frozen=True):
    """A module that is ready to be moved to its directory."""

    source: ModuleSource
    staged: Path
    locked: LockedModule


class ModuleInstallation:
    """One installation of the modules of one environment."""

    def __init__(
        self, environment: Path, repositories: GitRepositories, tarballs: Tarballs, *, force: bool = False
    ) -> None:
        self._environment = environment.resolve()
        self._repositories = repositories
        self._tarballs = tarballs
        self._force = force

    def run(self, puppetfile: Puppetfile, *, update: bool = False) -> list[ModuleOutcome]:
        """Install all modules; returns their outcomes in the order of the Puppetfile. With `update`, every reference is resolved again.

        Raises MODULE-021 to MODULE-033; then nothing was changed, except for MODULE-033.
        """
        with _locked(self._environment), self._staging() as staging:
            known = read_lock(self._environment)
            outcomes: list[ModuleOutcome] = []
            staged_modules: list[_StagedModule] = []
            locked_modules: dict[str, LockedModule] = {}
            for source in puppetfile.modules:
                outcome, staged = self._prepare(source, known.get(source.name), staging, update)
                outcomes.append(outcome)
                staged_modules += [staged] if staged is not None else []
                if staged is not None or (source.name in known and source.origin != "local"):
                    locked_modules[source.name] = staged.locked if staged is not None else known[source.name]
            directories = {source.directory for source in puppetfile.modules}
            obsolete = [
                (locked, self.place_of(locked.source.directory))
                for locked in known.values()
                if locked.source.directory not in directories
            ]
            try:
                self._move_into_place(staged_modules, staging)
                outcomes += [self._remove(locked, place, staging) for locked, place in obsolete]
                write_lock(self._environment, locked_modules)
            except OSError as error:
                raise issues.CANNOT_INSTALL.error(path=str(self._environment), reason=error.strerror or error) from None
        return outcomes

    @contextlib.contextmanager
    def _staging(self) -> Iterator[Path]:
        """Create a staging directory on the same file system, and remove those that an interrupted installation left behind."""
        try:
            for leftover in self._environment.glob(f"{_STAGING}*"):
                shutil.rmtree(leftover)
            place = Path(tempfile.mkdtemp(prefix=_STAGING, dir=self._environment))
        except OSError as error:
            raise issues.CANNOT_INSTALL.error(path=str(self._environment), reason=error.strerror or error) from None
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _prepare(
        self, source: ModuleSource, locked: LockedModule | None, staging: Path, update: bool
    ) -> tuple[ModuleOutcome, _StagedModule | None]:
        place = self.place_of(source.directory)
        if source.origin == "local":
            if not place.is_dir():
                raise issues.LOCAL_MODULE_MISSING.error(name=source.name, path=source.directory)
            return ModuleOutcome(source.name, source.directory, "local"), None
        present = digest_of(place) if place.is_dir() else None
        is_known = locked is not None and locked.source == source and not update
        if is_known and locked is not None and present == locked.files:
            return ModuleOutcome(source.name, source.directory, "unchanged", locked.resolved), None
        resolved = locked.resolved if is_known and locked is not None else self._resolve(source)
        staged = staging / source.name
        staged.mkdir()
        self._export(source, resolved, staged)
        refuse_escaping_links(source.name, staged)
        files = digest_of(staged)
        if present not in (None, files) and not self._force and (locked is None or present != locked.files):
            raise issues.LOCAL_CHANGES.error(name=source.name, path=source.directory)
        change: ModuleChange = "installed" if present is None else "unchanged" if present == files else "replaced"
        module = _StagedModule(source, staged, LockedModule(source, resolved, files))
        return ModuleOutcome(source.name, source.directory, change, resolved), module

    def place_of(self, directory: str) -> Path:
        """The directory of a module. Raises DeniedError MODULE-028 if the path, or a link in it, leaves the environment."""
        whole = self._environment.resolve()
        place = whole / directory
        parts = Path(directory).parts
        if Path(directory).is_absolute() or ".." in parts or len(parts) < 2 or place.is_symlink():
            raise issues.PATH_ESCAPES_ENVIRONMENT.error(path=directory)
        if not place.parent.resolve().is_relative_to(whole):
            raise issues.PATH_ESCAPES_ENVIRONMENT.error(path=directory)
        return place

    def _resolve(self, source: ModuleSource) -> str:
        return self._repositories.commit(source) if source.origin == "git" else self._tarballs.version(source)

    def _export(self, source: ModuleSource, resolved: str, target: Path) -> None:
        if source.origin == "git":
            self._repositories.export(source, resolved, target)
        else:
            self._tarballs.export(source, resolved, target)

    def _move_into_place(self, modules: list[_StagedModule], staging: Path) -> None:
        for module in modules:
            place = self.place_of(module.source.directory)
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.exists():
                place.rename(staging / f"{module.source.name}.old")
            module.staged.rename(place)

    def _remove(self, locked: LockedModule, place: Path, staging: Path) -> ModuleOutcome:
        """Remove a module that an earlier Puppetfile installed, unless it was changed since."""
        source = locked.source
        if place.is_dir() and (self._force or digest_of(place) == locked.files):
            place.rename(staging / f"{source.name}.gone")
            return ModuleOutcome(source.name, source.directory, "removed", locked.resolved)
        return ModuleOutcome(source.name, source.directory, "left", locked.resolved)


def install_modules(
    place: Path, *, cache: Path, forge: Path | None = None, update: bool = False, force: bool = False
) -> list[ModuleOutcome]:
    """Install the modules of the Puppetfile in a directory; does nothing if there is no such file.

    Copies of repositories are cached below `cache`. Raises MODULE-001 to MODULE-033; then nothing was changed, except for MODULE-033.
    """
    path = place / PUPPETFILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise issues.PUPPETFILE_UNREADABLE.error(path=str(path), reason=str(error)) from None
    installation = ModuleInstallation(
        place, GitRepositories(Git(PERSONAL), cache, place.resolve()), Tarballs(forge), force=force
    )
    return installation.run(read_puppetfile(Source(str(path), text)), update=update)


@contextlib.contextmanager
def _locked(environment: Path) -> Iterator[None]:
    """Lock the environment against other installations. Raises UnavailableError MODULE-032."""
    handle = os.open(environment, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise issues.INSTALLATION_RUNNING.error(path=str(environment)) from None
        yield
    finally:
        os.close(handle)
