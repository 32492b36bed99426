"""Many contents in one body: before each its digest and its size. Small files cost no request each."""

from collections.abc import AsyncIterator
from typing import NamedTuple

DIGEST_BYTES = 32
SIZE_BYTES = 8
HEAD_BYTES = DIGEST_BYTES + SIZE_BYTES


class Head(NamedTuple):
    """What comes next."""

    digest: str
    size: int


def head(digest: str, size: int) -> bytes:
    """What stands before a content."""
    return bytes.fromhex(digest) + size.to_bytes(SIZE_BYTES)


class CutOff(Exception):
    """The body ended inside a frame."""


class FrameReader:
    """Reads frames from a body that comes in parts of any size; holds one part at a time."""

    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    async def next_head(self) -> Head | None:
        """The next content, or None at the end. Raises CutOff."""
        found = b"".join([part async for part in self._take(HEAD_BYTES)])
        if not found:
            return None
        if len(found) < HEAD_BYTES:
            raise CutOff
        return Head(found[:DIGEST_BYTES].hex(), int.from_bytes(found[DIGEST_BYTES:]))

    async def content(self, size: int) -> AsyncIterator[bytes]:
        """The bytes of a content, as they come. Raises CutOff."""
        left = size
        async for part in self._take(size):
            left -= len(part)
            yield part
        if left:
            raise CutOff

    async def _take(self, size: int) -> AsyncIterator[bytes]:
        while size:
            if not self._rest:
                self._rest = await anext(self._parts, b"")
                if not self._rest:
                    return
            part, self._rest = self._rest[:size], self._rest[size:]
            size -= len(part)
            yield part
