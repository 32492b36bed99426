"""Turns the answers of handlers into HTTP responses.

`NotModified` is part of the hot path that `precast.api.sessions` describes: most answers to nodes are 304.
"""

import time
from collections.abc import Sequence
from email.utils import formatdate
from functools import lru_cache
from typing import Any

import msgspec
from aiohttp import HttpVersion11, web
from aiohttp.abc import AbstractStreamWriter

from precast.api.http import issues, openapi
from precast.api.http.routes import Document, Text
from precast.base.errors import Issue, Kind, PrecastError

# Instead of aiohttp's own, which names the versions of aiohttp and Python.
SERVER = "precast"


class ApiRequest(web.BaseRequest):
    """A request whose response does not tell strangers which programs serve it."""

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        response.headers["Server"] = SERVER


class NotModified(web.StreamResponse):
    """A 304 response, which has no body. Nodes receive few other responses, so it is written in one step, without aiohttp's checks for
    cookies, compression and a body."""

    def __init__(self, headers: dict[str, str]) -> None:
        super().__init__(status=304, headers=headers)
        self._is_last = False

    @property
    def keep_alive(self) -> bool:
        return not self._is_last

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter:
        """Write the whole response, since no body follows."""
        headers, writer = self.headers, request.writer
        headers["Date"] = _date(int(time.time()))
        if not request.keep_alive or request.version != HttpVersion11:
            self._is_last, headers["Connection"] = True, "close"
        await writer.write_headers("HTTP/1.1 304 Not Modified", headers)
        await writer.write_eof()
        return writer

    async def write_eof(self, data: bytes = b"") -> None:
        assert not data, "a 304 response has no body"


@lru_cache(maxsize=1)
def _date(time_s: int) -> str:
    return formatdate(time_s, usegmt=True)


def respond(answer: Any) -> web.StreamResponse:
    # The most frequent answer first: isinstance for aiohttp's responses is slow.
    if isinstance(answer, Document):
        headers = {"ETag": f'"{answer.digest}"', "Cache-Control": "private, no-cache", **answer.headers}
        if answer.body is None:
            return NotModified(headers)
        return web.Response(body=answer.body, content_type="application/json", headers=headers)
    if isinstance(answer, web.StreamResponse):
        return answer
    if isinstance(answer, Text):
        return web.Response(text=answer.text, headers={"Content-Type": answer.content_type})

    return web.Response(body=msgspec.json.encode(answer), content_type="application/json")


def conceal(error: PrecastError, declared: Sequence[Issue] = ()) -> PrecastError:
    """The error for a caller that is not a person: what went wrong inside the server is for its operators.

    Errors of the store name the database and its host. Errors of this package, and those that a route declares, are meant for the caller.
    """
    if error.kind not in (Kind.UNAVAILABLE, Kind.INTERNAL) and not error.code.startswith("STORE-"):
        return error
    if error.code.startswith("API-") or any(issue.matches(error) for issue in declared):
        return error
    return issues.FAILED.error() if error.kind is Kind.INTERNAL else issues.NOT_AVAILABLE.error()


def problem(error: PrecastError, status: int | None = None) -> web.Response:
    status = status or error.consequence.http_status
    body = openapi.ProblemDetails("about:blank", error.kind.value, status, error.message, error.code, error.hint)
    # A token bucket is not empty for longer than a second.
    headers = {"Retry-After": "1"} if error.consequence.retry else {}
    response = web.Response(
        status=status, body=msgspec.json.encode(body), content_type="application/problem+json", headers=headers
    )
    if issues.TOO_SLOW.matches(error):
        response.force_close()  # otherwise the rest of the body would be read as the next request
    return response
