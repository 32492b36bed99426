"""Connections that have not authenticated: each has a deadline, and a source that opens many takes from itself only."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import uvloop

from precast.api.http.connections.limits import ConnectionLimits
from precast.api.http.quotas import RequestLimits
from precast.api.http.routes import PUBLIC, Call, Route
from precast.base import https
from precast.base.clock import ManualClock, SystemClock
from tests.e2e.in_process import RunningServer, serving
from tests.e2e.precast_command import DEADLINE_S

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HEALTH = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story())


async def connect(place: RunningServer, source: str = "127.0.0.1", *, is_tls: bool = True) -> Streams:
    """A connection from an address of loopback."""
    dialled = socket.socket()
    dialled.setblocking(False)
    dialled.bind((source, 0))
    await asyncio.get_running_loop().sock_connect(dialled, ("127.0.0.1", place.port))
    context = https.trust_authority(place.authority_pem) if is_tls else None
    return await asyncio.open_connection(
        sock=dialled, ssl=context, server_hostname="127.0.0.1" if is_tls else None, ssl_handshake_timeout=None
    )


async def is_closed(streams: Streams) -> bool:
    """Whether the server closes the connection before the deadline of the tests."""
    try:
        async with asyncio.timeout(DEADLINE_S):
            return await streams[0].read() == b""
    except (ConnectionError, ssl.SSLError):
        return True


async def answers(streams: Streams) -> bool:
    """Whether the connection serves a request."""
    streams[1].write(HEALTH)
    try:
        async with asyncio.timeout(DEADLINE_S):
            return (await streams[0].readline()).startswith(b"HTTP/1.1 200")
    except (ConnectionError, ssl.SSLError):
        return False


@contextlib.asynccontextmanager
async def closing(*many: Streams) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for _, writer in many:
            writer.close()


def test_connection_that_sends_no_handshake_is_closed(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock(), connections=ConnectionLimits(handshake_s=0.2)) as place:
            silent, half = await connect(place, is_tls=False), await connect(place, is_tls=False)
            half[1].write(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a ClientHello
            async with closing(silent, half):
                assert await is_closed(silent)
                assert await is_closed(half)

    run(story)


def test_garbage_instead_of_a_handshake_is_closed(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock()) as place:
            garbage = await connect(place, is_tls=False)
            garbage[1].write(HEALTH)
            async with closing(garbage):
                assert not (await garbage[0].read()).startswith(b"HTTP")

    run(story)


def test_connection_without_a_request_is_closed_long_before_an_idle_one(tmp_path: Path) -> None:
    async def story() -> None:
        limits = ConnectionLimits(first_request_s=0.2)
        async with serving(tmp_path, SystemClock(), RequestLimits(idle_s=600), connections=limits) as place:
            silent, slow, used = [await connect(place) for _ in range(3)]
            async with closing(silent, slow, used):
                assert await answers(used)
                slow[1].write(HEALTH[:-4])
                assert await is_closed(silent)
                assert await is_closed(slow)
                used[1].write(HEALTH)
                await used[0].readuntil(b'"live"}')

    run(story)


def test_stranger_cannot_stay_for_ever(tmp_path: Path) -> None:
    async def story() -> None:
        limits = ConnectionLimits(stranger_s=0.2)
        async with serving(tmp_path, SystemClock(), RequestLimits(idle_s=600), connections=limits) as place:
            streams = await connect(place)
            async with closing(streams):
                assert await answers(streams)
                await streams[0].readuntil(b'"live"}')
                assert await is_closed(streams)

    run(story)


def test_new_connection_takes_the_place_of_the_oldest_of_a_crowded_source(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock(), connections=ConnectionLimits(open_each=5)) as place:
            other = await connect(place, "127.0.0.3")
            many = [await connect(place, "127.0.0.2") for _ in range(20)]
            async with closing(other, *many):
                assert all([await is_closed(streams) for streams in many[:15]])
                assert all([await answers(streams) for streams in [*many[15:], other]])

    run(story)


def test_flood_of_half_open_handshakes_does_not_stop_other_sources(tmp_path: Path) -> None:
    async def story() -> None:
        limits = ConnectionLimits(burst_each=10, rate_each=1, waiting_each=30)
        async with serving(tmp_path, SystemClock(), connections=limits) as place:
            flood = [await connect(place, "127.0.0.2", is_tls=False) for _ in range(100)]
            other = await connect(place, "127.0.0.3")
            async with closing(other, *flood):
                assert await answers(other)

    run(story)


async def read_nothing(call: Call) -> dict[str, str]:
    await asyncio.Event().wait()
    return {}


def test_pipelined_requests_are_not_read_without_bound(tmp_path: Path) -> None:
    """A client that sends requests behind one that is not answered yet is stopped by backpressure."""

    async def story() -> None:
        waiting = Route("GET", "/v1/wait", read_nothing, PUBLIC, "For the test", dict[str, str])
        async with serving(tmp_path, SystemClock(), None, waiting) as place:
            streams = await connect(place)
            async with closing(streams):
                streams[1].write(b"GET /v1/wait HTTP/1.1\r\nHost: x\r\n\r\n")
                sent = 0
                with contextlib.suppress(TimeoutError):
                    for _ in range(1000):
                        async with asyncio.timeout(1):
                            streams[1].write(HEALTH * 1000)
                            await streams[1].drain()
                        sent += 1000 * len(HEALTH)
                assert sent < 16 * 1024 * 1024, "the server reads on"

    run(story)


def test_head_with_too_many_or_too_long_fields_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock()) as place:
            for flood in (b"X-Field: x\r\n" * 100_000, b"X-Field: " + b"x" * 1_000_000 + b"\r\n"):
                streams = await connect(place)
                async with closing(streams):
                    with contextlib.suppress(ConnectionError):
                        streams[1].write(b"GET /health/live HTTP/1.1\r\nHost: x\r\n" + flood + b"\r\n")
                        assert b" 400 " in await streams[0].readline()

    run(story)


def test_connection_of_a_stranger_above_its_quota_is_closed_after_the_refusal(tmp_path: Path) -> None:
    async def story() -> None:
        clock = ManualClock(SystemClock().now())
        async with serving(tmp_path, clock, RequestLimits(rate=1, stranger_burst_s=3)) as place:
            for path in (b"/v1/openapi.json", b"/v1/nothing"):
                streams = await connect(place)
                async with closing(streams):
                    streams[1].write((b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n") * 10)
                    received = await streams[0].read()
                assert received.count(b"HTTP/1.1 429") == 1
                assert received.rpartition(b"HTTP/1.1 ")[2].startswith(b"429")

    run(story)
