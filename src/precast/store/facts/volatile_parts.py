"""Volatile parts of facts as they are read.

A node packs its own, and nobody looks at that when it comes: it is replaced far more often than it is read. So it is here that is found
out whether it is facts at all, and whatever else it is, it is nobody else's trouble.
"""

import logging

from precast.base import canonical
from precast.base.errors import PrecastError
from precast.store.engine.compression import unpack_within
from precast.wire.sessions import MAX_FRAME_BYTES

log = logging.getLogger("precast.facts")

NOTHING = b"{}"
# Nodes that the log has told of; when it is so many, it tells of them anew.
MAX_TOLD = 20_000
_told: set[str] = set()
# What is wrong with one that is none; msgspec's errors and UnicodeDecodeError are ValueErrors.
UNREADABLE = (ValueError, RecursionError, PrecastError)


def volatile_part(node: str, stored: bytes | None) -> bytes:
    """What a node has said last, as JSON that is a mapping; an empty one where that is no facts."""
    if stored is None:
        return NOTHING
    try:
        return read_part(stored)
    except UNREADABLE as error:
        _warn(node, str(error))
        return NOTHING


def read_part(stored: bytes) -> bytes:
    """The same of one that is there. Raises one of `UNREADABLE` where that is no facts."""
    # As much as a record may be large: who packs gets no more in than who does not.
    part = bytes(stored) if stored[:1] == b"{" else unpack_within(stored, MAX_FRAME_BYTES)
    canonical.decode_mapping(part)
    return part


def _warn(node: str, reason: str) -> None:
    """Once for a node: whoever looks at a whole fleet reads this again and again."""
    if node in _told:
        return
    if len(_told) >= MAX_TOLD:
        _told.clear()
    _told.add(node)
    log.warning("what %s sends as its volatile facts is none, and counts as nothing: %s", node, reason)
