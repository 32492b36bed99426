"""A forge as a directory of tarballs named AUTHOR-NAME-VERSION.tar.gz, as `puppet module build` creates them."""

import copy
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from precast.lang.ruby.declarations.puppetfile import ModuleSource
from precast.lang.values.versions import SemVer
from precast.services.code.archives import open_archive, unpack
from precast.services.code.modules import issues


class Tarballs:
    """The tarballs in a directory, if one is given."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def version(self, module: ModuleSource) -> str:
        """Resolve the version of a module: the given one, or the newest that is not a pre-release. Raises MODULE-024 or MODULE-025."""
        directory = self._place(module)
        if module.version:
            return module.version
        versions: list[SemVer] = []
        for path in directory.glob(f"{module.full_name}-*.tar.gz"):
            version = SemVer.parse(path.name.removeprefix(f"{module.full_name}-").removesuffix(".tar.gz"))
            versions += [version] if version is not None and "-" not in str(version) else []
        if not versions:
            raise issues.NOT_ON_FORGE.error(
                name=module.name, place=str(directory), full_name=module.full_name, version="of any version"
            )
        return str(max(versions))

    def export(self, module: ModuleSource, version: str, target: Path) -> None:
        """Extract a version into an empty directory. Raises MODULE-024 to MODULE-026."""
        path = self._place(module) / f"{module.full_name}-{version}.tar.gz"
        if not path.is_file():
            raise issues.NOT_ON_FORGE.error(
                name=module.name, place=str(path.parent), full_name=module.full_name, version=version
            )
        try:
            with path.open("rb") as file, open_archive(file) as archive:
                unpack(archive, _members_below_top(archive), target)
        except (tarfile.TarError, zlib.error, OSError, EOFError, ValueError) as error:
            raise issues.BAD_TARBALL.error(name=module.name, path=str(path), reason=str(error)) from None

    def _place(self, module: ModuleSource) -> Path:
        if self._directory is None:
            raise issues.NO_FORGE.error(name=module.name, full_name=module.full_name)
        return self._directory


def _members_below_top(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members below the single top directory, with names relative to it. Raises ValueError for several tops."""
    top: str | None = None
    for member in archive:
        if not member.name.strip("./"):
            continue
        first = member.name.removeprefix("./").split("/")[0]
        top = first if top is None else top
        if first != top:
            raise ValueError("it must contain one directory")
        if not (name := _below(member.name, top)):
            continue
        renamed = copy.copy(member)
        renamed.name = name
        if renamed.islnk():
            renamed.linkname = _below(renamed.linkname, top)
        yield renamed
    if top is None:
        raise ValueError("it is empty")


def _below(name: str, top: str) -> str:
    return name.removeprefix("./").removeprefix(top).lstrip("/")
