"""Many contents in one body, each after a header with its digest and size, so that small files need no request each."""

from collections.abc import AsyncIterator
from typing import NamedTuple

DIGEST_BYTES = 32
SIZE_BYTES = 8
HEADER_BYTES = DIGEST_BYTES + SIZE_BYTES


class FrameHeader(NamedTuple):
    """The digest and size of the content that follows."""

    digest: str
    size: int


def encode_header(digest: str, size: int) -> bytes:
    """Encode the header of a content."""
    return bytes.fromhex(digest) + size.to_bytes(SIZE_BYTES)


class TruncatedBody(Exception):
    """The body ended inside a frame."""


class FrameReader:
    """Reads frames from a body that arrives in parts of any size; buffers one part at a time."""

    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    async def next_head(self) -> FrameHeader | None:
        """Read the next header; None at the end. Raises TruncatedBody."""
        header = b"".join([part async for part in self._take(HEADER_BYTES)])
        if not header:
            return None
        if len(header) < HEADER_BYTES:
            raise TruncatedBody
        return FrameHeader(header[:DIGEST_BYTES].hex(), int.from_bytes(header[DIGEST_BYTES:]))

    async def content(self, size: int) -> AsyncIterator[bytes]:
        """Yield the bytes of a content as they arrive. Raises TruncatedBody."""
        left = size
        async for part in self._take(size):
            left -= len(part)
            yield part
        if left:
            raise TruncatedBody

    async def _take(self, size: int) -> AsyncIterator[bytes]:
        while size:
            if not self._rest:
                self._rest = await anext(self._parts, b"")
                if not self._rest:
                    return
            part, self._rest = self._rest[:size], self._rest[size:]
            size -= len(part)
            yield part
