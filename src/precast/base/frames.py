"""Frames between processes of one machine: the length of a message in four bytes, then the message.

A reader trusts no length: it refuses one beyond its limit before it reads further.
"""

from typing import BinaryIO

LENGTH_BYTES = 4
# The limit between a server and its own children: the largest catalogs have some ten megabytes.
MAX_FRAME_BYTES = 256 * 1024 * 1024


class BadFrame(ValueError):
    """The other side does not speak this protocol."""


def make_frame(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH_BYTES) + data


def frame_length(head: bytes, most_bytes: int = MAX_FRAME_BYTES) -> int:
    """The length of the message that follows these bytes. Raises BadFrame if it is too long."""
    length = int.from_bytes(head)
    if length > most_bytes:
        raise BadFrame(f"a message of {length} bytes is too long")
    return length


def read_frame(stream: BinaryIO, most_bytes: int = MAX_FRAME_BYTES) -> bytes | None:
    """Read the next message of a stream that blocks; None if the other side has closed it. Raises BadFrame."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    length = frame_length(head, most_bytes)
    data = stream.read(length)
    return data if len(data) == length else None
