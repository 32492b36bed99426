"""Former contents of files, kept in the agent's state by their sha256: `DIRECTORY/ab/abcd…/contents`, and `paths` that says of what.

A content is kept once, however often it comes; nothing here is ever changed, and only root reads it.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from precast.base import digests, files
from precast.resources.files.checksums import PIECE_BYTES


class Bucket:
    """One directory of contents; made when the first is kept."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)

    def keep(self, file: BinaryIO, path: str) -> str:
        """Keep a content that was at `path`; its digest. On the disk when this returns. Raises OSError."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".precast-", dir=self._directory)
        try:
            with os.fdopen(handle, "wb") as copy:
                digest = digests.of_chunks(_copied(file, copy))
                copy.flush()
                os.fsync(copy.fileno())
            place = self._place(digest)
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            Path(temporary).replace(place / "contents")
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        self._note(place / "paths", path)
        return digest

    def _note(self, place: Path, path: str) -> None:
        noted = place.read_text(encoding="utf-8", errors="surrogateescape").splitlines() if place.exists() else []
        if path not in noted:
            lines = "".join(f"{each}\n" for each in (*noted, path))
            files.write_private(place, lines.encode("utf-8", "surrogateescape"))

    def open(self, digest: str) -> BinaryIO:
        """What was kept under this digest. Raises FileNotFoundError if nothing was."""
        return (self._place(digest) / "contents").open("rb")

    def _place(self, digest: str) -> Path:
        return self._directory / digest[:2] / digest


def _copied(file: BinaryIO, copy: BinaryIO) -> Iterator[bytes]:
    """Each piece of a file, once it is in the copy too."""
    while piece := file.read(PIECE_BYTES):
        copy.write(piece)
        yield piece
