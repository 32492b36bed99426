"""Receives large request bodies in parts. A slow upload costs its own caller, and nobody else.

Each caller has a few places for uploads in progress; further uploads of the same caller wait for one of these. The client must send at
a minimum rate, so that a place becomes free again.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from aiohttp import web

from precast.api.http import issues
from precast.services.code import issues as code_issues

# How many uploads of one caller are received at the same time; `precast env deploy` uses four.
PLACES = 8
# A client may be this much late over the whole upload, beyond the time that the slowest accepted rate needs.
ALLOWANCE_S = 30.0
MIN_BYTES_PER_S = 8 * 1024


class UploadPlaces:
    """The places of all callers."""

    def __init__(self, places: int = PLACES) -> None:
        self._places = places
        # Only callers with uploads are here, each with the number of uploads that are received or wait.
        self._callers: dict[str, tuple[asyncio.Semaphore, int]] = {}

    @contextlib.asynccontextmanager
    async def place(self, who: str) -> AsyncIterator[None]:
        """Wait for a place of this caller, and have it inside the block."""
        places, count = self._callers.get(who, (asyncio.Semaphore(self._places), 0))
        self._callers[who] = (places, count + 1)
        try:
            async with places:
                yield
        finally:
            places, count = self._callers[who]
            if count > 1:
                self._callers[who] = (places, count - 1)
            else:
                del self._callers[who]


class BodyStream(Protocol):
    """The body of a request, as aiohttp has it."""

    async def readany(self) -> bytes:
        """What has arrived, at least one byte; nothing at the end."""


async def read_parts(body: BodyStream, monotonic_s: Callable[[], float] = time.monotonic) -> AsyncIterator[bytes]:
    """The parts of a body as they arrive. Raises InputError API-010 if the client is too slow.

    Only the time that the server waits for the client counts, not the time it needs to store what has arrived.
    """
    left_s = ALLOWANCE_S
    while True:
        began_s = monotonic_s()
        try:
            async with asyncio.timeout(left_s):
                part = await body.readany()
        except TimeoutError:
            raise _too_slow() from None
        left_s -= monotonic_s() - began_s
        if left_s < 0:
            raise _too_slow()
        if not part:
            return
        left_s = min(left_s + len(part) / MIN_BYTES_PER_S, ALLOWANCE_S)
        yield part


async def read_content(request: web.BaseRequest) -> AsyncIterator[bytes]:
    """The parts of a request body that is content. Raises as `read_parts` does, InputError ENV-012 if the connection ends."""
    try:
        async for part in read_parts(request.content):
            yield part
    except (web.RequestPayloadError, ConnectionError):
        raise code_issues.CONTENT_INCOMPLETE.error(reason="the connection ended") from None


def _too_slow() -> Exception:
    return issues.TOO_SLOW.error(limit_s=ALLOWANCE_S)
