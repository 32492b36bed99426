"""Limits that protect a server from one caller: timeouts, rate limits, and fairness between callers."""

import asyncio
import json
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop

from lab.server_process import PRECAST
from lab.site import Site
from precast.api.http.quotas import RequestLimits
from precast.api.http.routes import PUBLIC, Call, Route
from precast.base import https
from precast.base.clock import ManualClock, SystemClock
from tests.e2e.in_process import RunningServer, serving
from tests.e2e.precast_command import DEADLINE_S, assert_fine
from tests.e2e.precast_server import Server, running

HEAD = b"POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n"


class Word(msgspec.Struct, frozen=True):
    word: str


async def echo(call: Call) -> Word:
    word: Word = call.body
    return word


async def never(call: Call) -> Word:
    await asyncio.Event().wait()
    raise AssertionError


ECHO = Route("POST", "/v1/echo", echo, PUBLIC, "For the test", Word, body=Word)
NEVER = Route("GET", "/v1/never", never, PUBLIC, "For the test", Word)


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story())


async def answer_to(place: RunningServer, *parts: bytes) -> bytes:
    """Everything the server sends after these bytes until it closes the connection, which the client never does."""
    context = https.trust_authority(place.authority_pem)
    reader, writer = await asyncio.open_connection("127.0.0.1", place.port, ssl=context, server_hostname="127.0.0.1")
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        async with asyncio.timeout(DEADLINE_S):
            return await reader.read()
    finally:
        writer.close()


def test_connection_without_a_complete_request_head_is_closed(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock(), RequestLimits(idle_s=0.2), ECHO) as place:
            assert await answer_to(place) == b""
            assert await answer_to(place, b"POST /v1/ec") == b""
            assert await answer_to(place, HEAD, b"X-Slow: 1\r\n") == b""
            # The timeout also applies after a response.
            response = await answer_to(place, b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\nGET /heal")
            assert response.startswith(b"HTTP/1.1 200")
            assert response.count(b"HTTP/1.1") == 1

    run(story)


def test_incomplete_body_is_answered_and_closed(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock(), RequestLimits(body_s=0.2), ECHO) as place:
            response = await answer_to(place, HEAD + b"\r\n", b'{"word": "')
            assert response.startswith(b"HTTP/1.1 400")
            assert b"API-010" in response

    run(story)


def test_handler_that_does_not_end_is_cancelled(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock(), RequestLimits(handler_s=0.2), NEVER) as place:
            response = await answer_to(place, b"GET /v1/never HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert response.startswith(b"HTTP/1.1 503")
            assert b"API-011" in response

    run(story)


def send_many(place: RunningServer, path: str, times: int) -> list[tuple[int, str | None]]:
    """The status and Retry-After of each response."""
    connection = HTTPSConnection(
        "127.0.0.1", place.port, context=https.trust_authority(place.authority_pem), timeout=DEADLINE_S
    )
    responses = []
    try:
        for _ in range(times):
            connection.request("POST" if path == "/v1/echo" else "GET", path, b'{"word": "x"}')
            response = connection.getresponse()
            response.read()
            responses.append((response.status, response.getheader("Retry-After")))
    finally:
        connection.close()
    return responses


def test_unauthenticated_caller_above_the_rate_limit_gets_retry_after(tmp_path: Path) -> None:
    async def story() -> None:
        clock = ManualClock(SystemClock().now())
        async with serving(tmp_path, clock, RequestLimits(rate=2, stranger_burst_s=5), ECHO) as place:
            responses = await asyncio.to_thread(send_many, place, "/v1/echo", 15)
            assert responses == [(200, None)] * 10 + [(429, "1")] * 5
            # Monitoring is exempt from quotas.
            assert await asyncio.to_thread(send_many, place, "/health/live", 20) == [(200, None)] * 20
            clock.advance(1)
            assert await asyncio.to_thread(send_many, place, "/v1/echo", 3) == [(200, None)] * 2 + [(429, "1")]

    run(story)


# one node floods, another is served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(Server.init(tmp_path / "data")) as started:
        yield started


class Flood(threading.Thread):
    """Sends requests as fast as it can over one connection."""

    def __init__(self, server: Server, context: ssl.SSLContext, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._server, self._context, self._stop_sending = server, context, stop
        self.answers: Counter[int] = Counter()
        self.has_been_refused = threading.Event()

    def run(self) -> None:
        connection = HTTPSConnection("127.0.0.1", self._server.port, context=self._context, timeout=DEADLINE_S)
        while not self._stop_sending.is_set():
            connection.request("POST", "/v1/facts", b"{}")
            response = connection.getresponse()
            response.read()
            self.answers[response.status] += 1
            if response.status == 429:
                self.has_been_refused.set()
        connection.close()


def node_context(server: Server, root: Path, name: str) -> ssl.SSLContext:
    assert_fine(server.enrol(root, name, server.read("token", "enrol", name)["token"]))
    state = root / "var/lib/precast/agent"
    context = https.trust_authority((state / "authority.pem").read_text())
    context.load_cert_chain(state / "certificate.pem", state / "key.pem")
    return context


def test_flooding_node_does_not_harm_others(server: Server, tmp_path: Path) -> None:
    loud, quiet = node_context(server, tmp_path / "a", "loud"), node_context(server, tmp_path / "b", "quiet")
    stop = threading.Event()
    flood = [Flood(server, loud, stop) for _ in range(8)]
    for thread in flood:
        thread.start()
    try:
        assert flood[0].has_been_refused.wait(DEADLINE_S)
        for _ in range(20):
            connection = HTTPSConnection("127.0.0.1", server.port, context=quiet, timeout=DEADLINE_S)
            connection.request("POST", "/v1/facts", b"{}")
            response = connection.getresponse()
            assert (response.status, json.loads(response.read())["code"]) == (400, "API-004")
            connection.close()
            for path in ("/health/live", "/health/ready"):
                assert server.ask("GET", path).status == 200
            assert_fine(server.command("node", "list"))
    finally:
        stop.set()
        for thread in flood:
            thread.join(DEADLINE_S)
    answers: Counter[int] = sum((thread.answers for thread in flood), Counter())
    print(f"responses to the flood: {dict(answers)}; the other node and the person were always answered")
    assert set(answers) == {400, 429}
    assert answers[429] > answers[400]


def test_runs_per_minute_are_limited_for_each_person(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    site.words = ["--runs-per-minute", "1"]
    with site:
        site.enrol("web1")
        other = {**site.environment, "PRECAST_TOKEN": site.run("token", "person", "bob", "--role", "operator")["token"]}

        def start_run(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
            words = [PRECAST, "run", "web1", "--noop"]
            return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

        assert start_run(site.environment).returncode == 1, "the node is offline"
        refused = start_run(site.environment)
        assert refused.returncode == 75
        assert "person:admin has started more than 1 runs and commands in a minute [RUN-005]" in refused.stderr
        assert start_run(other).returncode == 1
        assert len(site.run("run", "list")) == 2
