"""What one caller cannot do to a server: be slow for ever, ask without end, take what others need."""

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
from precast.api.http.quotas import Limits
from precast.api.http.routes import PUBLIC, Call, Route
from precast.base import https
from precast.base.clock import ManualClock, SystemClock
from tests.e2e.in_process import Serving, serving
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


async def answer_to(place: Serving, *parts: bytes) -> bytes:
    """Everything the server says to these bytes until it closes the connection; we never do."""
    context = https.trusting(place.authority_pem)
    reader, writer = await asyncio.open_connection("127.0.0.1", place.port, ssl=context, server_hostname="127.0.0.1")
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        async with asyncio.timeout(DEADLINE_S):
            return await reader.read()
    finally:
        writer.close()


def test_connection_that_says_nothing_or_half_a_head_is_closed(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock(), Limits(idle_s=0.2), ECHO) as place:
            assert await answer_to(place) == b""
            assert await answer_to(place, b"POST /v1/ec") == b""
            assert await answer_to(place, HEAD, b"X-Slow: 1\r\n") == b""
            # After an answer, too.
            came = await answer_to(place, b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\nGET /heal")
            assert came.startswith(b"HTTP/1.1 200")
            assert came.count(b"HTTP/1.1") == 1

    run(story)


def test_body_that_does_not_come_is_answered_and_closed(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock(), Limits(body_s=0.2), ECHO) as place:
            came = await answer_to(place, HEAD + b"\r\n", b'{"word": "')
            assert came.startswith(b"HTTP/1.1 400")
            assert b"API-010" in came

    run(story)


def test_handler_that_does_not_end_is_given_up(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock(), Limits(handler_s=0.2), NEVER) as place:
            came = await answer_to(place, b"GET /v1/never HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert came.startswith(b"HTTP/1.1 503")
            assert b"API-011" in came

    run(story)


def ask_often(place: Serving, path: str, times: int) -> list[tuple[int, str | None]]:
    """Status and Retry-After of each."""
    connection = HTTPSConnection(
        "127.0.0.1", place.port, context=https.trusting(place.authority_pem), timeout=DEADLINE_S
    )
    found = []
    try:
        for _ in range(times):
            connection.request("POST" if path == "/v1/echo" else "GET", path, b'{"word": "x"}')
            came = connection.getresponse()
            came.read()
            found.append((came.status, came.getheader("Retry-After")))
    finally:
        connection.close()
    return found


def test_stranger_who_asks_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    async def story() -> None:
        clock = ManualClock(SystemClock().now())
        async with serving(tmp_path, clock, Limits(rate=2, stranger_burst_s=5), ECHO) as place:
            found = await asyncio.to_thread(ask_often, place, "/v1/echo", 15)
            assert found == [(200, None)] * 10 + [(429, "1")] * 5
            # What watches the server is answered all the same.
            assert await asyncio.to_thread(ask_often, place, "/health/live", 20) == [(200, None)] * 20
            clock.advance(1)
            assert await asyncio.to_thread(ask_often, place, "/v1/echo", 3) == [(200, None)] * 2 + [(429, "1")]

    run(story)


# one floods, another is served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(Server.init(tmp_path / "data")) as started:
        yield started


class Flood(threading.Thread):
    """Asks as fast as it can over one connection."""

    def __init__(self, server: Server, context: ssl.SSLContext, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._server, self._context, self._stop_asking = server, context, stop
        self.answers: Counter[int] = Counter()
        self.has_been_refused = threading.Event()

    def run(self) -> None:
        connection = HTTPSConnection("127.0.0.1", self._server.port, context=self._context, timeout=DEADLINE_S)
        while not self._stop_asking.is_set():
            connection.request("POST", "/v1/facts", b"{}")
            came = connection.getresponse()
            came.read()
            self.answers[came.status] += 1
            if came.status == 429:
                self.has_been_refused.set()
        connection.close()


def node_context(server: Server, root: Path, name: str) -> ssl.SSLContext:
    assert_fine(server.enrol(root, name, server.read("token", "enrol", name)["token"]))
    state = root / "var/lib/precast/agent"
    context = https.trusting((state / "authority.pem").read_text())
    context.load_cert_chain(state / "certificate.pem", state / "key.pem")
    return context


def test_node_that_floods_harms_no_other(server: Server, tmp_path: Path) -> None:
    loud, quiet = node_context(server, tmp_path / "a", "loud"), node_context(server, tmp_path / "b", "quiet")
    stop = threading.Event()
    flood = [Flood(server, loud, stop) for _ in range(8)]
    for one in flood:
        one.start()
    try:
        assert flood[0].has_been_refused.wait(DEADLINE_S)
        for _ in range(20):
            connection = HTTPSConnection("127.0.0.1", server.port, context=quiet, timeout=DEADLINE_S)
            connection.request("POST", "/v1/facts", b"{}")
            came = connection.getresponse()
            assert (came.status, json.loads(came.read())["code"]) == (400, "API-004")
            connection.close()
            for path in ("/health/live", "/health/ready"):
                assert server.ask("GET", path).status == 200
            assert_fine(server.command("node", "list"))
    finally:
        stop.set()
        for one in flood:
            one.join(DEADLINE_S)
    answers: Counter[int] = sum((one.answers for one in flood), Counter())
    print(f"the flood was answered {dict(answers)}; the other node and the person always")
    assert set(answers) == {400, 429}
    assert answers[429] > answers[400]


def test_person_begins_so_many_runs_a_minute_and_no_other_is_held_up(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    site.words = ["--runs-per-minute", "1"]
    with site:
        site.enrol("web1")
        other = {**site.environment, "PRECAST_TOKEN": site.run("token", "person", "bob", "--role", "operator")["token"]}

        def begin(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
            words = [PRECAST, "run", "web1", "--noop"]
            return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

        assert begin(site.environment).returncode == 1, "the node is away"
        refused = begin(site.environment)
        assert refused.returncode == 75
        assert "person:admin has begun more than 1 runs and commands in a minute [RUN-005]" in refused.stderr
        assert begin(other).returncode == 1
        assert len(site.run("run", "list")) == 2
