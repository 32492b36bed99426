"""Opens the contents that a catalog pins: from the agent's cache, or from the environment on this machine that it was compiled from.

A file is opened only if it still has the digest in the catalog: editing a module between compile and apply leads to an error, not to a file
that no catalog names.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from precast.base import digests
from precast.catalog.body import PLUGIN_SCHEME
from precast.resources import issues
from precast.resources.files.checksums import PIECE_BYTES

_MODULES = "puppet:///modules/"


class CachedContents:
    """Opens contents that were downloaded for a catalog: files named by their digests."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __call__(self, digest: str) -> BinaryIO:
        """Open the content. Raises NotFoundError RESOURCE-003 if it is not cached, or if the file was changed."""
        place = self._directory / digest
        if digests.is_digest(digest) and place.is_file():
            file = place.open("rb")
            if digests.of_chunks(_pieces(file)) == digest:
                file.seek(0)
                return file
            file.close()
        raise issues.NO_CONTENT.error(digest=digest)


class EnvironmentContents:
    """Opens contents by digest; `pinned` are a catalog's digests by source, `module_path` the directories with modules."""

    def __init__(self, module_path: Sequence[Path], pinned: Mapping[str, str]) -> None:
        self._module_path = module_path
        self._sources: dict[str, list[str]] = {}
        for source, digest in pinned.items():
            self._sources.setdefault(digest, []).append(source)

    def __call__(self, digest: str) -> BinaryIO:
        """Open the content. Raises NotFoundError RESOURCE-003 if no file has this content any more."""
        for source in self._sources.get(digest, ()):
            place = self._place(source)
            if place is not None and place.is_file():
                file = place.open("rb")
                if digests.of_chunks(_pieces(file)) == digest:
                    file.seek(0)
                    return file
                file.close()
        raise issues.NO_CONTENT.error(digest=digest)

    def _place(self, source: str) -> Path | None:
        is_library = source.startswith(PLUGIN_SCHEME)
        module, _, path = source.removeprefix(PLUGIN_SCHEME if is_library else _MODULES).partition("/")
        directories = (directory / module for directory in self._module_path)
        inner = path if is_library else f"files/{path}"
        return next((directory / inner for directory in directories if directory.is_dir()), None)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece
