"""Reads files from a FAT image (12, 16 or 32 bits, with long names), the other format of seeds, without mounting it.

As with ISO 9660, it needs neither root privileges nor a kernel driver, and numbers in the image are untrusted.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MAX_DIRECTORY_BYTES = 1024 * 1024
_DIRECTORY, _LABEL, _LONG = 0x10, 0x08, 0x0F
_END = {12: 0xFF7, 16: 0xFFF7, 32: 0x0FFFFFF7}  # larger cluster numbers mark the end of a chain


class _Entry(NamedTuple):
    cluster: int
    size: int
    is_directory: bool


class Image:
    """An open image. Raises OSError if it cannot be read."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        boot = os.pread(handle, 512, 0)

        def number(at: int, size: int) -> int:
            return int.from_bytes(boot[at : at + size], "little")

        self._sector, self._per_cluster = number(11, 2), number(13, 1)
        reserved, copies, entries = number(14, 2), number(16, 1), number(17, 2)
        fat_sectors = number(22, 2) or number(36, 4)
        sectors = number(19, 2) or number(32, 4)
        is_sound = self._sector in (512, 1024, 2048, 4096) and self._per_cluster and copies and fat_sectors
        self.is_one = bool(is_sound and (boot[54:57] == b"FAT" or boot[82:85] == b"FAT"))
        if not self.is_one:
            return
        root_sectors = -(-entries * 32 // self._sector)
        first_data = reserved + copies * fat_sectors + root_sectors
        count = max(0, sectors - first_data) // self._per_cluster
        self._bits = 12 if count < 4085 else 16 if count < 65525 else 32
        self._fat_at = reserved * self._sector
        self._data_at = first_data * self._sector
        self._root_at, self._root_size = (first_data - root_sectors) * self._sector, entries * 32
        self._root_cluster = number(44, 4) if self._bits == 32 else 0

    @staticmethod
    @contextlib.contextmanager
    def opened(path: Path) -> Iterator["Image"]:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            yield Image(handle)
        finally:
            os.close(handle)

    def size(self, path: str) -> int | None:
        """Return the length of a file; None if it does not exist."""
        entry = self._find(path)
        return None if entry is None else entry.size

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""
        entry = self._find(path)
        return None if entry is None else self._content(entry.cluster, entry.size)[: entry.size]

    def _find(self, path: str) -> _Entry | None:
        here: _Entry | None = _Entry(self._root_cluster, 0, True)
        for name in filter(None, path.split("/")):
            entries = self._entries(here) if here is not None and here.is_directory else {}
            here = entries.get(name.lower())
        return None if here is None or here.is_directory else here

    def _entries(self, directory: _Entry) -> dict[str, _Entry]:
        is_fixed = directory.cluster == 0
        fixed = os.pread(self._handle, self._root_size, self._root_at) if is_fixed else b""
        data = fixed or self._content(directory.cluster, MAX_DIRECTORY_BYTES)
        entries: dict[str, _Entry] = {}
        long = ""
        for at in range(0, len(data) - 31, 32):
            row = data[at : at + 32]
            if row[0] == 0:
                break
            if row[11] == _LONG:
                piece = (row[1:11] + row[14:26] + row[28:32]).decode("utf-16-le", errors="replace")
                long = piece.partition("\0")[0] + ("" if row[0] & 0x40 else long)
            elif row[0] != 0xE5 and not row[11] & _LABEL:
                low, high = int.from_bytes(row[26:28], "little"), int.from_bytes(row[20:22], "little")
                cluster = low | (high << 16 if self._bits == 32 else 0)
                entry = _Entry(cluster, int.from_bytes(row[28:32], "little"), bool(row[11] & _DIRECTORY))
                if cluster or not entry.is_directory:
                    entries.setdefault((long or _parse_short_name(row)).lower(), entry)
                long = ""
            else:
                long = ""
        return entries

    def _content(self, cluster: int, wanted: int) -> bytes:
        """Return the content of a cluster chain, up to `wanted` bytes, since a chain may be cyclic."""
        size = self._sector * self._per_cluster
        data = bytearray()
        while 2 <= cluster < _END[self._bits] and len(data) < wanted:
            piece = os.pread(self._handle, size, self._data_at + (cluster - 2) * size)
            if not piece:
                break
            data += piece
            cluster = self._next(cluster)
        return bytes(data)

    def _next(self, cluster: int) -> int:
        at = cluster * self._bits // 8
        raw = os.pread(self._handle, 4, self._fat_at + at)
        if len(raw) < 2:
            return 0
        if self._bits == 12:
            pair = int.from_bytes(raw[:2], "little")
            return pair >> 4 if cluster % 2 else pair & 0xFFF
        return int.from_bytes(raw[: self._bits // 8], "little") & 0x0FFFFFFF


def _parse_short_name(row: bytes) -> str:
    name, kind = (
        row[:8].decode("ascii", errors="replace").rstrip(),
        row[8:11].decode("ascii", errors="replace").rstrip(),
    )
    return f"{name}.{kind}" if kind else name
