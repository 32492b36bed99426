"""The response 304 over a real socket: it has no body, and the connection stays open if the client wants that."""

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


async def exchange(port: int, sent: bytes) -> bytes:
    """Everything that the server answers until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    async with asyncio.timeout(20):
        received = await reader.read()
    writer.close()
    return received


def get(*headers: str, version: str = "1.1") -> bytes:
    lines = [f"GET / HTTP/{version}", "Host: localhost", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


async def test_not_modified_has_the_documents_headers_and_no_body(port: int) -> None:
    received = await exchange(port, get('If-None-Match: "abc"', "Connection: close"))
    head, end, body = received.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "HTTP/1.1 304 Not Modified"
    assert {'ETag: "abc"', "Cache-Control: private, no-cache", "Precast-Release: 7", "Connection: close"} <= set(lines)
    assert [line for line in lines if line.startswith("Date: ")]
    assert not [line for line in lines if line.lower().startswith(("content-length", "transfer-encoding"))]
    assert (end, body) == (b"\r\n\r\n", b"")


async def test_pipelined_requests_are_answered_in_order(port: int) -> None:
    known = get('If-None-Match: "abc"')
    received = await exchange(port, known + get() + known + get("Connection: close"))
    assert [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]] == [b"304", b"200", b"304", b"200"]
    assert received.endswith(b"{}")


@pytest.mark.parametrize("header", ["Connection: keep-alive", "Connection: close"])
async def test_connection_of_an_http_1_0_client_is_closed_after_the_response(port: int, header: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(get('If-None-Match: "abc"', header, version="1.0"))
    async with asyncio.timeout(20):
        received = await reader.read()  # ends only when the server closes
    writer.close()
    assert received.startswith(b"HTTP/1.1 304 ")
    assert b"Connection: close" in received


async def test_header_with_a_line_break_is_refused() -> None:
    async def bad(_: web.BaseRequest) -> web.StreamResponse:
        return NotModified({"Precast-Release": "7\r\nSet-Cookie: a=b"})

    async with serving(bad) as port:
        received = await exchange(port, get())
    assert b"Set-Cookie" not in received
