"""Backups of file contents in the agent's state, by their sha256: `DIRECTORY/ab/abcd…/contents`, and `paths` with their original paths.

Each content is stored once and never changed, and only root may read it.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from precast.base import digests, files
from precast.resources.files.checksums import PIECE_BYTES


class Filebucket:
    """One directory of contents; it is created with the first backup."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)

    def store(self, file: BinaryIO, path: str) -> str:
        """Store a content that was at `path`, flushed to the disk; returns its digest. Raises OSError."""
        files.make_private_directory(self._directory)
        handle, temporary = tempfile.mkstemp(prefix=".precast-", dir=self._directory)
        try:
            with os.fdopen(handle, "wb") as copy:
                digest = digests.of_chunks(_copy_chunks(file, copy))
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
            lines = "".join(f"{line}\n" for line in (*noted, path))
            files.write_private(place, lines.encode("utf-8", "surrogateescape"))

    def open(self, digest: str) -> BinaryIO:
        """Open the content with this digest. Raises FileNotFoundError."""
        return (self._place(digest) / "contents").open("rb")

    def _place(self, digest: str) -> Path:
        return self._directory / digest[:2] / digest


def _copy_chunks(file: BinaryIO, copy: BinaryIO) -> Iterator[bytes]:
    """Each piece of a file, after it was written to the copy."""
    while piece := file.read(PIECE_BYTES):
        copy.write(piece)
        yield piece
