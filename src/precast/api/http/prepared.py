"""Answers that are the same for every caller: body, digest and compressed form are made once, so a request costs only its transfer."""

import gzip

from aiohttp import web

from precast.api.http.routes import Call
from precast.base import digests

# What a route of a prepared answer declares, so that the handler gets these headers.
REQUEST_HEADERS = ("If-None-Match", "Accept-Encoding")


class PreparedAnswer:
    """A document that anybody may fetch."""

    def __init__(self, body: bytes, media_type: str, headers: dict[str, str]) -> None:
        self._body = body
        self._compressed = gzip.compress(body, mtime=0)
        self._digest = digests.of_bytes(body)
        self._headers = {**headers, "Vary": "Accept-Encoding"}
        self._media_type = media_type

    def respond(self, call: Call) -> web.Response:
        """The whole document, compressed if the caller accepts that, or 304 if the caller has it already."""
        is_compressed = _accepts_gzip(call.headers.get("Accept-Encoding", ""))
        headers = {**self._headers, "ETag": f'"{self._digest}{"-gzip" if is_compressed else ""}"'}
        if self._digest in call.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        headers["Content-Type"] = self._media_type
        if not is_compressed:
            return web.Response(body=self._body, headers=headers)
        return web.Response(body=self._compressed, headers={**headers, "Content-Encoding": "gzip"})


def _accepts_gzip(header: str) -> bool:
    for choice in header.lower().split(","):
        coding, _, quality = choice.partition(";")
        if coding.strip() == "gzip":
            return quality.strip().rstrip("0") not in ("q=", "q=0.")
    return False
