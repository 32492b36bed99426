"""Parts of a content, as HTTP has them: one range of bytes, of the content that the caller has begun to fetch.

What is no range, or several at once, is passed over, as the specification allows: then the whole is sent.
"""

import re
from typing import NamedTuple

from aiohttp import web

from precast.store.code.blobs import Blobs

_RANGE = re.compile(r"bytes=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.IGNORECASE)
NOT_SATISFIABLE = 416


class Part(NamedTuple):
    """From a byte to before another."""

    start: int
    end: int


class NotSatisfiable(Exception):
    """No byte of the content is in the range."""


def read_range(text: str, size: int) -> Part | None:
    """The part that a header `Range` asks for; None for all of it. Raises NotSatisfiable."""
    found = _RANGE.fullmatch(text)
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        start, end = max(size - int(found[2]), 0), size
    else:
        start, end = int(found[1]), min(int(found[2] or size), size - 1) + 1
        if found[2] and int(found[2]) < start:
            return None
    if start >= size or (not found[1] and int(found[2]) == 0):
        raise NotSatisfiable
    return Part(start, end)


async def send_content(request: web.BaseRequest, blobs: Blobs, digest: str, size: int) -> web.StreamResponse:
    """Answer with content, or the part of it that is asked for, a chunk at a time."""
    mark = f'"{digest}"'
    headers = {"Content-Type": "application/octet-stream", "ETag": mark, "Accept-Ranges": "bytes"}
    asked = request.headers.get("Range", "")
    if request.headers.get("If-Range", mark) != mark:
        asked = ""
    try:
        part = read_range(asked, size)
    except NotSatisfiable:
        return web.Response(status=NOT_SATISFIABLE, headers={**headers, "Content-Range": f"bytes */{size}"})
    start, end = part or Part(0, size)
    response = web.StreamResponse(status=200 if part is None else 206, headers=headers)
    if part is not None:
        response.headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    response.content_length = end - start
    await response.prepare(request)
    async for chunk in blobs.stream(digest, start, end):
        await response.write(chunk)
    await response.write_eof()
    return response
