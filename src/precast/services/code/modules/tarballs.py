"""A forge as a directory: tarballs called AUTHOR-NAME-VERSION.tar.gz, as `puppet module build` makes them."""

import copy
import tarfile
from pathlib import Path
from typing import Final

from precast.lang.ruby.code.puppetfile import ModuleSource
from precast.lang.values.versions import SemVer
from precast.services.code.archives import unpack
from precast.services.code.modules import issues as issues

_MOST_BYTES: Final = 512 * 1024 * 1024


class Tarballs:
    """The tarballs in one directory, or none at all."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def version(self, module: ModuleSource) -> str:
        """The version to take: the one that is asked for, or the newest that is no pre-release. Raises MODULE-024 or MODULE-025."""
        directory = self._place(module)
        if module.version:
            return module.version
        found: list[SemVer] = []
        for path in directory.glob(f"{module.full_name}-*.tar.gz"):
            version = SemVer.parse(path.name.removeprefix(f"{module.full_name}-").removesuffix(".tar.gz"))
            found += [version] if version is not None and "-" not in str(version) else []
        if not found:
            raise issues.NOT_ON_FORGE.error(
                name=module.name, place=str(directory), full_name=module.full_name, version="of any version"
            )
        return str(max(found))

    def export(self, module: ModuleSource, version: str, target: Path) -> None:
        """Unpacks a version into an empty directory. Raises MODULE-024 to MODULE-026."""
        path = self._place(module) / f"{module.full_name}-{version}.tar.gz"
        if not path.is_file():
            raise issues.NOT_ON_FORGE.error(
                name=module.name, place=str(path.parent), full_name=module.full_name, version=version
            )
        try:
            with tarfile.open(path, "r:gz") as archive:
                unpack(archive, _inside(archive), target)
        except (tarfile.TarError, OSError, EOFError, ValueError) as error:
            raise issues.BAD_TARBALL.error(name=module.name, path=str(path), reason=str(error)) from None

    def _place(self, module: ModuleSource) -> Path:
        if self._directory is None:
            raise issues.NO_FORGE.error(name=module.name, full_name=module.full_name)
        return self._directory


def _inside(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """What is below the one directory at the top, named from there. Raises ValueError where there are several, or too much."""
    members = [each for each in archive.getmembers() if each.name.strip("./")]
    tops = {each.name.removeprefix("./").split("/")[0] for each in members}
    if len(tops) != 1 or sum(each.size for each in members) > _MOST_BYTES:
        raise ValueError("it must hold one directory of at most 512 MiB")
    top = tops.pop()
    kept: list[tarfile.TarInfo] = []
    for each in members:
        if not (inner := _below(each.name, top)):
            continue
        one = copy.copy(each)
        one.name = inner
        if one.islnk():
            one.linkname = _below(one.linkname, top)
        kept.append(one)
    return kept


def _below(name: str, top: str) -> str:
    return name.removeprefix("./").removeprefix(top).lstrip("/")
