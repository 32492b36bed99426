"""Decodes the volatile parts of facts when they are read.

A node compresses its volatile part, and the server stores it without decoding it: it is replaced far more often than it is read. So an
invalid part is detected only here, and counts as an empty one.
"""

import logging

from precast.base import canonical
from precast.base.errors import PrecastError
from precast.store.engine.compression import decompress_bounded
from precast.wire.sessions import MAX_FRAME_BYTES

log = logging.getLogger("precast.facts")

NOTHING = b"{}"
# Nodes about which a warning was logged. When the set is full it is cleared, and they are logged again.
MAX_WARNED = 20_000
_warned: set[str] = set()
# The exceptions of an invalid part; msgspec's errors and UnicodeDecodeError are ValueErrors.
UNREADABLE = (ValueError, RecursionError, PrecastError)


def read_volatile_part(node: str, stored: bytes | None) -> bytes:
    """Return a node's stored volatile part as a JSON mapping; an empty mapping if there is none or it is invalid."""
    if stored is None:
        return NOTHING
    try:
        return decode_part(stored)
    except UNREADABLE as error:
        _warn(node, str(error))
        return NOTHING


def decode_part(stored: bytes) -> bytes:
    """Decode a stored volatile part to a JSON mapping. Raises one of `UNREADABLE` if it is invalid."""
    # Bounded by the size of a frame, so that a compressed part cannot hold more than an uncompressed one.
    part = bytes(stored) if stored[:1] == b"{" else decompress_bounded(stored, MAX_FRAME_BYTES)
    canonical.decode_mapping(part)
    return part


def _warn(node: str, reason: str) -> None:
    """Log a warning once for each node: a query over the whole fleet reads the part again and again."""
    if node in _warned:
        return
    if len(_warned) >= MAX_WARNED:
        _warned.clear()
    _warned.add(node)
    log.warning("the volatile facts of %s are invalid and count as empty: %s", node, reason)
