"""Frames on the signer's socket: four bytes of length, then a message in MessagePack. A message that is too long is an error."""

import asyncio

import msgspec

MAX_REQUEST_BYTES = 1024**2
MAX_ANSWER_BYTES = 64 * 1024**2
_LENGTH_BYTES = 4


class BadFrame(Exception):
    """The other side does not speak this protocol."""


def encode_frame(message: msgspec.Struct) -> bytes:
    data = msgspec.msgpack.encode(message)
    return len(data).to_bytes(_LENGTH_BYTES) + data


async def read_frame(reader: asyncio.StreamReader, most_bytes: int, rest_s: float) -> bytes | None:
    """Read one frame; None at the end of the connection. Raises BadFrame if it is too long or does not arrive within `rest_s`.

    The time begins with the first byte: a connection may be idle for as long as it likes.
    """
    first = await reader.read(1)
    if not first:
        return None
    try:
        async with asyncio.timeout(rest_s):
            length = int.from_bytes(first + await reader.readexactly(_LENGTH_BYTES - 1))
            if length > most_bytes:
                raise BadFrame(f"a message of {length} bytes is too long")
            return await reader.readexactly(length)
    except TimeoutError:
        raise BadFrame("a message did not arrive in time") from None
    except asyncio.IncompleteReadError:
        raise BadFrame("the connection ended within a message") from None
