"""Reads files from an ISO 9660 image, the usual format of seeds, without mounting it.

This needs no root privileges, loop device or kernel driver, and exposes no driver to an untrusted image. Names are Rock Ridge's, else
Joliet's, else the plain ones in lower case. Numbers in the image are untrusted: an entry that points outside the image is absent.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SECTOR = 2048
MAX_DIRECTORY_BYTES = 1024 * 1024
_FIRST, _LAST = 16, 64  # the sectors of volume descriptors
_JOLIET = (b"%/@", b"%/C", b"%/E")


class _Entry(NamedTuple):
    at: int  # the sector
    size: int
    is_directory: bool


class Image:
    """An open image. Raises OSError if it cannot be read."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._roots = list(self._volumes())

    @staticmethod
    @contextlib.contextmanager
    def opened(path: Path) -> Iterator["Image"]:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            yield Image(handle)
        finally:
            os.close(handle)

    @property
    def is_one(self) -> bool:
        """Whether it is an ISO 9660 image."""
        return bool(self._roots)

    def size(self, path: str) -> int | None:
        """Return the length of a file; None if it does not exist."""
        entry = self._find(path)
        return None if entry is None else entry.size

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if it does not exist. Check its size first: the image may declare any size."""
        entry = self._find(path)
        return None if entry is None else os.pread(self._handle, entry.size, entry.at * SECTOR)

    def _find(self, path: str) -> _Entry | None:
        for root, is_joliet in self._roots:
            here: _Entry | None = root
            for name in filter(None, path.split("/")):
                entries = self._entries(here, is_joliet) if here is not None and here.is_directory else {}
                here = entries.get(name)
            if here is not None and not here.is_directory:
                return here
        return None

    def _volumes(self) -> Iterator[tuple[_Entry, bool]]:
        """Yield the root directories: the plain one, which may have Rock Ridge names, then Joliet's."""
        for sector in range(_FIRST, _LAST):
            start = os.pread(self._handle, SECTOR, sector * SECTOR)
            if start[1:6] != b"CD001" or start[0] == 255:
                return
            is_joliet = start[0] == 2 and start[88:91] in _JOLIET
            if start[0] == 1 or is_joliet:
                yield _parse_entry(start[156:190]), is_joliet

    def _entries(self, directory: _Entry, is_joliet: bool) -> dict[str, _Entry]:
        size = min(directory.size, MAX_DIRECTORY_BYTES)
        data = os.pread(self._handle, size, directory.at * SECTOR)
        entries: dict[str, _Entry] = {}
        at = 0
        while at < len(data):
            length = data[at]
            if length < 34:  # a record never crosses a sector: the rest of this one is empty
                at = (at // SECTOR + 1) * SECTOR
                continue
            record = data[at : at + length]
            at += length
            if len(record) == length and (name := _parse_name(record, is_joliet)):
                entries.setdefault(name, _parse_entry(record))
        return entries


def _parse_entry(record: bytes) -> _Entry:
    return _Entry(
        int.from_bytes(record[2:6], "little"),
        int.from_bytes(record[10:14], "little"),
        bool(record[25:26] and record[25] & 2),
    )


def _parse_name(record: bytes, is_joliet: bool) -> str:
    """Return the name of a record; empty for `.` and `..`."""
    raw = record[33 : 33 + record[32]]
    if raw in (b"\0", b"\1"):
        return ""
    if is_joliet:
        return raw.decode("utf-16-be", errors="replace").partition(";")[0]
    after = 33 + record[32] + (record[32] + 1) % 2
    return (
        _parse_rock_ridge(record[after:]) or raw.decode("ascii", errors="replace").partition(";")[0].rstrip(".").lower()
    )


def _parse_rock_ridge(fields: bytes) -> str:
    """Return the Rock Ridge name in the fields after a record: NM, possibly in several parts."""
    name = b""
    while len(fields) >= 5 and fields[2] >= 4:
        if fields[:2] == b"NM":
            name += fields[5 : fields[2]]
        fields = fields[fields[2] :]
    return name.decode(errors="replace")
