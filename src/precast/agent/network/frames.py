"""Frames on the socket between root and the network process: a length of four bytes, then one message.

Root trusts no frame: it refuses a length beyond the limit before it reads further, a message of another shape, and one that is out of
place. A refused frame ends the network process.
"""

import asyncio
import socket
from typing import TypeVar

import msgspec

from precast.agent import issues
from precast.base.frames import LENGTH_BYTES, BadFrame, frame_length, make_frame
from precast.wire.sessions import MAX_FRAME_BYTES as MAX_SESSION_FRAME_BYTES

T = TypeVar("T")

# A frame of the websocket, or a piece of a download, with what is around it.
MAX_FRAME_BYTES = MAX_SESSION_FRAME_BYTES + 64 * 1024


def encode_frame(message: msgspec.Struct) -> bytes:
    data = msgspec.msgpack.encode(message)
    if len(data) > MAX_FRAME_BYTES:
        raise ValueError("a message is larger than a frame")
    return make_frame(data)


def send_frame(peer: socket.socket, message: msgspec.Struct) -> None:
    """Send a message. Raises OSError."""
    peer.sendall(encode_frame(message))


def receive_frame(peer: socket.socket, decoder: "msgspec.msgpack.Decoder[T]") -> T:
    """Receive a message. Raises DeniedError AGENT-020 for an invalid one, EOFError at the end, OSError."""
    length = _checked_length(_receive(peer, LENGTH_BYTES))
    return _decode(_receive(peer, length), decoder)


async def read_frame(reader: asyncio.StreamReader, decoder: "msgspec.msgpack.Decoder[T]") -> T:
    """Receive a message. Raises DeniedError AGENT-020 for an invalid one, EOFError at the end, OSError."""
    length = _checked_length(await reader.readexactly(LENGTH_BYTES))
    return _decode(await reader.readexactly(length), decoder)


def _checked_length(data: bytes) -> int:
    try:
        return frame_length(data, MAX_FRAME_BYTES)
    except BadFrame as error:
        raise issues.NETWORK_REFUSED.error(reason=error) from None


def _decode(data: bytes, decoder: "msgspec.msgpack.Decoder[T]") -> T:
    try:
        return decoder.decode(data)
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
