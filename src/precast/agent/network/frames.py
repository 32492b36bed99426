"""Frames on the socket between root and the network process: a length of four bytes, then one message.

Root trusts no frame: it refuses a length beyond the limit before it reads further, a message of another shape, and one that is out of
place. A refused frame ends the network process.
"""

import socket
import struct
from typing import TypeVar

import msgspec

from precast.agent import issues

T = TypeVar("T")

MAX_FRAME_BYTES = 1024 * 1024
_LENGTH = struct.Struct(">I")


def send_frame(peer: socket.socket, message: msgspec.Struct) -> None:
    """Send a message. Raises OSError."""
    data = msgspec.msgpack.encode(message)
    if len(data) > MAX_FRAME_BYTES:
        raise ValueError("a message is larger than a frame")
    peer.sendall(_LENGTH.pack(len(data)) + data)


def receive_frame(peer: socket.socket, decoder: "msgspec.msgpack.Decoder[T]") -> T:
    """Receive a message. Raises DeniedError AGENT-020 for an invalid one, EOFError at the end, OSError."""
    (length,) = _LENGTH.unpack(_receive(peer, _LENGTH.size))
    if length > MAX_FRAME_BYTES:
        raise issues.NETWORK_REFUSED.error(reason=f"a frame of {length} bytes")
    try:
        return decoder.decode(_receive(peer, length))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise issues.NETWORK_REFUSED.error(reason="a message of an unknown shape") from None


def _receive(peer: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        piece = peer.recv(min(length - len(data), 65536))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
