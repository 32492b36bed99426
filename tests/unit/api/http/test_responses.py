"""An answer that says "you have it", over a real socket: it ends where it ends, and the connection goes on if the caller wants that."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from precast.api.http.responses import NotModified, respond
from precast.api.http.routes import Document


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    known = None if "If-None-Match" in request.headers else b"{}"
    return respond(Document("abc", known, {"Precast-Release": "7"}))


@asynccontextmanager
async def serving(handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> AsyncIterator[int]:
    runner = web.ServerRunner(web.Server(handler))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with serving(answer) as port:
        yield port


async def heard(port: int, said: bytes) -> bytes:
    """All that is answered until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    async with asyncio.timeout(20):
        came = await reader.read()
    writer.close()
    return came


def get(*headers: str, version: str = "1.1") -> bytes:
    lines = [f"GET / HTTP/{version}", "Host: localhost", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


async def test_head_says_what_the_document_is_and_there_is_nothing_after_it(port: int) -> None:
    came = await heard(port, get('If-None-Match: "abc"', "Connection: close"))
    head, end, body = came.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "HTTP/1.1 304 Not Modified"
    assert {'ETag: "abc"', "Cache-Control: private, no-cache", "Precast-Release: 7", "Connection: close"} <= set(lines)
    assert [line for line in lines if line.startswith("Date: ")]
    assert not [line for line in lines if line.lower().startswith(("content-length", "transfer-encoding"))]
    assert (end, body) == (b"\r\n\r\n", b"")


async def test_requests_that_come_at_once_are_answered_in_their_order_over_one_connection(port: int) -> None:
    known = get('If-None-Match: "abc"')
    came = await heard(port, known + get() + known + get("Connection: close"))
    assert [part[:3] for part in came.split(b"HTTP/1.1 ")[1:]] == [b"304", b"200", b"304", b"200"]
    assert came.endswith(b"{}")


@pytest.mark.parametrize("header", ["Connection: keep-alive", "Connection: close"])
async def test_caller_of_an_older_version_is_answered_and_closed(port: int, header: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(get('If-None-Match: "abc"', header, version="1.0"))
    async with asyncio.timeout(20):
        came = await reader.read()  # ends only when the server closes
    writer.close()
    assert came.startswith(b"HTTP/1.1 304 ")
    assert b"Connection: close" in came


async def test_header_that_would_begin_another_is_refused() -> None:
    async def bad(_: web.BaseRequest) -> web.StreamResponse:
        return NotModified({"Precast-Release": "7\r\nSet-Cookie: a=b"})

    async with serving(bad) as port:
        came = await heard(port, get())
    assert b"Set-Cookie" not in came
