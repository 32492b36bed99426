"""The contents that a catalog pins: kept by the agent, or from the environment it was compiled from, on this machine.

A file is handed out only if it still holds what the catalog says: whoever edits a module between compile and apply gets an error, not
a file that no catalog names.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from precast.base import digests
from precast.resources import issues
from precast.resources.files.checksums import PIECE_BYTES

_MODULES = "puppet:///modules/"


class KeptContents:
    """Opens contents that were fetched for a catalog: files named by their digests."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __call__(self, digest: str) -> BinaryIO:
        """Raises NotFoundError RESOURCE-003 if there is none, or if somebody has changed it."""
        place = self._directory / digest
        if digests.is_digest(digest) and place.is_file():
            file = place.open("rb")
            if digests.of_chunks(_pieces(file)) == digest:
                file.seek(0)
                return file
            file.close()
        raise issues.NO_CONTENT.error(digest=digest)


class EnvironmentContents:
    """Opens contents by digest; `pinned` are a catalog's digests by source, `module_path` the directories that hold modules."""

    def __init__(self, module_path: Sequence[Path], pinned: Mapping[str, str]) -> None:
        self._module_path = module_path
        self._sources: dict[str, list[str]] = {}
        for source, digest in pinned.items():
            self._sources.setdefault(digest, []).append(source)

    def __call__(self, digest: str) -> BinaryIO:
        """Raises NotFoundError RESOURCE-003 if no file has this content any more."""
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
        module, _, path = source.removeprefix(_MODULES).partition("/")
        return next((each / module / "files" / path for each in self._module_path if (each / module).is_dir()), None)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece
