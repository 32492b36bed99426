"""Frames on the signer's socket: four bytes of length, then a message in MessagePack. A message that is too long is an error."""

import asyncio

import msgspec

from precast.base.frames import LENGTH_BYTES, BadFrame, frame_length, make_frame

MAX_REQUEST_BYTES = 1024**2
MAX_ANSWER_BYTES = 64 * 1024**2


def encode_frame(message: msgspec.Struct) -> bytes:
    return make_frame(msgspec.msgpack.encode(message))


async def read_frame(reader: asyncio.StreamReader, most_bytes: int, rest_s: float) -> bytes | None:
    """Read one frame; None at the end of the connection. Raises BadFrame if it is too long or does not arrive within `rest_s`.

    The time begins with the first byte: a connection may be idle for as long as it likes.
    """
    first = await reader.read(1)
    if not first:
        return None
    try:
        async with asyncio.timeout(rest_s):
            head = first + await reader.readexactly(LENGTH_BYTES - 1)
            return await reader.readexactly(frame_length(head, most_bytes))
    except TimeoutError:
        raise BadFrame("a message did not arrive in time") from None
    except asyncio.IncompleteReadError:
        raise BadFrame("the connection ended within a message") from None
