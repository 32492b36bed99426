"""Serves byte ranges of content, so that a caller can resume a download.

An invalid range, or several ranges at once, is ignored, as the HTTP specification allows: the whole content is sent.
"""

import asyncio
import re
from typing import NamedTuple

from aiohttp import web

from precast.store.code.blobs import Blobs

_RANGE = re.compile(r"bytes=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.IGNORECASE)
NOT_SATISFIABLE = 416
# A client that does not read a chunk within this time is disconnected.
STALL_S = 60.0


class ByteRange(NamedTuple):
    """A range of bytes; `end` is exclusive."""

    start: int
    end: int


class NotSatisfiable(Exception):
    """No byte of the content is in the range."""


def read_range(text: str, size: int) -> ByteRange | None:
    """The range that a header `Range` asks for; None for the whole content. Raises NotSatisfiable."""
    match = _RANGE.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        return None
    first, last = match[1], match[2]
    if not first:
        start, end = max(size - int(last), 0), size
    else:
        start, end = int(first), min(int(last or size), size - 1) + 1
        if last and int(last) < start:
            return None
    if start >= size or (not first and int(last) == 0):
        raise NotSatisfiable
    return ByteRange(start, end)


async def send_content(request: web.BaseRequest, blobs: Blobs, digest: str, size: int) -> web.StreamResponse:
    """Respond with the content, or the range of it that the request asks for, a chunk at a time."""
    etag = f'"{digest}"'
    headers = {"Content-Type": "application/octet-stream", "ETag": etag, "Accept-Ranges": "bytes"}
    range_header = request.headers.get("Range", "")
    if request.headers.get("If-Range", etag) != etag:
        range_header = ""
    try:
        part = read_range(range_header, size)
    except NotSatisfiable:
        return web.Response(status=NOT_SATISFIABLE, headers={**headers, "Content-Range": f"bytes */{size}"})
    start, end = part or ByteRange(0, size)
    response = web.StreamResponse(status=200 if part is None else 206, headers=headers)
    if part is not None:
        response.headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    response.content_length = end - start
    await response.prepare(request)
    try:
        async for chunk in blobs.stream(digest, start, end):
            async with asyncio.timeout(STALL_S):
                await response.write(chunk)
        await response.write_eof()
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
    return response
