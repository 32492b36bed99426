"""Checksums of content as Puppet writes them: `{sha256}` and the digits. Streams are read in pieces, never as a whole."""

import datetime
import hashlib
import os
from collections.abc import Callable
from typing import Any, BinaryIO, Final

PIECE_BYTES = 1 << 20
_LITE_BYTES = 512
_KINDS: Final[dict[str, Callable[[], Any]]] = {
    "md5": lambda: hashlib.md5(usedforsecurity=False),
    "sha1": lambda: hashlib.sha1(usedforsecurity=False),
    "sha224": hashlib.sha224,
    "sha256": hashlib.sha256,
    "sha384": hashlib.sha384,
    "sha512": hashlib.sha512,
}
_LITE: Final = {"md5lite": "md5", "sha1lite": "sha1", "sha256lite": "sha256"}
TIMES: Final = ("mtime", "ctime")
KINDS: Final = (*_KINDS, *_LITE, *TIMES, "none")


def of_bytes(kind: str, data: bytes) -> str:
    """The checksum of data in memory, with its kind."""
    if kind == "sha256":
        return "{sha256}" + hashlib.sha256(data).hexdigest()
    algorithm = _KINDS[_LITE.get(kind, kind)]()
    algorithm.update(data[:_LITE_BYTES] if kind in _LITE else data)
    return f"{{{kind}}}{algorithm.hexdigest()}"


def of_stream(kind: str, file: BinaryIO) -> str:
    """The checksum of an open file, from its current position."""
    if kind in _LITE:
        return of_bytes(kind, file.read(_LITE_BYTES))
    algorithm = _KINDS[kind]()
    while piece := file.read(PIECE_BYTES):
        algorithm.update(piece)
    return f"{{{kind}}}{algorithm.hexdigest()}"


def of_time(kind: str, found: os.stat_result) -> str:
    """The checksum of a file for the kinds that compare only times."""
    return of_timestamp(kind, found.st_mtime if kind == "mtime" else found.st_ctime)


def of_timestamp(kind: str, seconds: float) -> str:
    """The checksum of a time."""
    time_at = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)
    return f"{{{kind}}}{time_at:%Y-%m-%d %H:%M:%S +0000}"


def digits(kind: str) -> int | None:
    """How many hexadecimal digits a checksum of this kind has; None for times."""
    algorithm = _KINDS.get(_LITE.get(kind, kind))
    return algorithm().digest_size * 2 if algorithm is not None else None
