"""Frames on the pipe between a server and its child processes: the length of a message, then the message."""

from typing import BinaryIO

# A longer frame is a fault: the largest catalogs have some ten megabytes.
MAX_FRAME_BYTES = 256 * 1024 * 1024
LENGTH_BYTES = 4


def make_frame(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame; None if the other side has closed the pipe."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    data = stream.read(frame_length(head))
    return data or None


def frame_length(head: bytes) -> int:
    """The length of a frame that begins so. Raises ValueError."""
    length = int.from_bytes(head, "big")
    if length > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {length} bytes")
    return length
