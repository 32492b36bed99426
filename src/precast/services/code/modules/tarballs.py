"""A forge as a directory of tarballs named AUTHOR-NAME-VERSION.tar.gz, as `puppet module build` creates them."""

import copy
import tarfile
from pathlib import Path
from typing import Final

from precast.lang.ruby.declarations.puppetfile import ModuleSource
from precast.lang.values.versions import SemVer
from precast.services.code.archives import unpack
from precast.services.code.modules import issues

_MOST_BYTES: Final = 512 * 1024 * 1024


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
            with tarfile.open(path, "r:gz") as archive:
                unpack(archive, _members_below_top(archive), target)
        except (tarfile.TarError, OSError, EOFError, ValueError) as error:
            raise issues.BAD_TARBALL.error(name=module.name, path=str(path), reason=str(error)) from None

    def _place(self, module: ModuleSource) -> Path:
        if self._directory is None:
            raise issues.NO_FORGE.error(name=module.name, full_name=module.full_name)
        return self._directory


def _members_below_top(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """The members below the single top directory, with names relative to it. Raises ValueError for several tops or too many bytes."""
    members = [member for member in archive.getmembers() if member.name.strip("./")]
    tops = {member.name.removeprefix("./").split("/")[0] for member in members}
    if len(tops) != 1 or sum(member.size for member in members) > _MOST_BYTES:
        raise ValueError("it must contain one directory of at most 512 MiB")
    top = tops.pop()
    relative: list[tarfile.TarInfo] = []
    for member in members:
        if not (name := _below(member.name, top)):
            continue
        renamed = copy.copy(member)
        renamed.name = name
        if renamed.islnk():
            renamed.linkname = _below(renamed.linkname, top)
        relative.append(renamed)
    return relative


def _below(name: str, top: str) -> str:
    return name.removeprefix("./").removeprefix(top).lstrip("/")
