"""Routes that anybody may call: what they cost, and what they tell about the server."""

import asyncio
import gzip
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uvloop

from lab.postgres import PostgresServer
from precast import __version__
from precast.api.http import openapi, reference_page
from precast.api.http.quotas import RequestLimits
from precast.base import https
from precast.base.clock import ManualClock, SystemClock
from tests.e2e.in_process import RunningServer, serving
from tests.e2e.precast_command import DEADLINE_S, assert_fine
from tests.e2e.precast_server import Server, running


class RawResponse(NamedTuple):
    """A response as it was received."""

    status: int
    headers: dict[str, str]
    body: bytes


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story())


async def get(place: RunningServer, path: str, **headers: str) -> RawResponse:
    """Send one request over a connection of its own."""
    context = https.trust_authority(place.authority_pem)
    reader, writer = await asyncio.open_connection("127.0.0.1", place.port, ssl=context, server_hostname="127.0.0.1")
    try:
        lines = [f"GET {path} HTTP/1.1", "Host: x", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        async with asyncio.timeout(DEADLINE_S):
            received = await reader.read()
    finally:
        writer.close()
    head, _, body = received.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
    return RawResponse(int(first.split()[1]), fields, body)


@pytest.fixture
def renders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every rendering of a page, in order."""
    rendered: list[str] = []

    def count(module: Any, name: str) -> None:
        original = getattr(module, name)

        def counted(*arguments: Any) -> Any:
            rendered.append(name)
            return original(*arguments)

        monkeypatch.setattr(module, name, counted)

    count(openapi, "describe")
    count(reference_page, "render")
    return rendered


def test_pages_are_rendered_once_however_many_callers_ask(tmp_path: Path, renders: list[str]) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock()) as place:
            paths = ["/v1/openapi.json", "/v1/reference"] * 40
            responses = await asyncio.gather(*(get(place, path) for path in paths))
            assert [response.status for response in responses] == [200] * 80
            assert len({response.body for response in responses}) == 2

    run(story)
    assert sorted(renders) == ["describe", "render"]


@pytest.mark.parametrize("path", ["/v1/openapi.json", "/v1/reference"])
def test_page_has_a_compressed_form_and_a_tag_that_saves_the_next_transfer(tmp_path: Path, path: str) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock()) as place:
            plain, compressed = await get(place, path), await get(place, path, Accept_Encoding="br, gzip;q=0.5")
            refused = await get(place, path, Accept_Encoding="gzip;q=0, identity")
            assert refused.body == plain.body
            assert "content-encoding" not in plain.headers
            assert compressed.headers["content-encoding"] == "gzip"
            assert gzip.decompress(compressed.body) == plain.body
            assert len(compressed.body) * 3 < len(plain.body)
            for known in (plain, compressed):
                again = await get(place, path, If_None_Match=known.headers["etag"])
                assert (again.status, again.body) == (304, b"")
            assert (await get(place, path, If_None_Match='"other"')).status == 200
            assert plain.headers["vary"] == compressed.headers["vary"] == "Accept-Encoding"

    run(story)


# what strangers learn


def enrolled(server: Server, root: Path, name: str) -> Path:
    """Enrol a node; returns the directory of its key and certificate."""
    assert_fine(server.enrol(root, name, server.read("token", "enrol", name)["token"]))
    return root / "var/lib/precast/agent"


def test_only_people_learn_what_is_wrong_with_the_database(tmp_path: Path) -> None:
    with PostgresServer(is_in_memory=True) as postgres:
        database = postgres.url(postgres.create_database())
        with running(Server.init(tmp_path / "data", database)) as server:
            node = enrolled(server, tmp_path / "node", "web1")
            postgres.kill()
            inside = [str(postgres.directory), "postgres", str(server.data), "socket", "connection to"]
            body = json.dumps({"request": "x", "token": "pce1.a.b"}).encode()
            responses = [
                server.ask("GET", "/health/ready"),
                server.ask("GET", "/v1/nodes", "pcu1.a.b"),
                server.ask("GET", "/metrics", "pcu1.a.b"),
                server.ask("POST", "/v1/enrolments", None, body),
                server.ask("POST", "/v1/requests", None, body),
                server.ask("POST", "/v1/web/session", None, b'{"token": "pcu1.a.b"}', headers={"X-Precast-Web": "1"}),
                server.ask("GET", "/v1/catalog", node=node),
                server.ask("GET", "/v1/session", node=node),
            ]
            for response in responses:
                assert not [word for word in inside if word in json.dumps(response.body)], response
            assert (responses[0].status, responses[0].body["code"]) == (503, "API-014")
            assert server.ask("GET", "/health/live").status == 200
            assert "[STORE-" in server.log, "the operators learn it"


def test_responses_do_not_name_the_programs_behind_them(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, SystemClock()) as place:
            for path in ("/health/live", "/v1/reference", "/v1/openapi.json", "/v1/nothing", "/metrics"):
                response = await get(place, path)
                assert response.headers["server"] == "precast"
                told = repr(response).lower()
                assert not [word for word in ("aiohttp", "python", "uvloop", __version__) if word in told], path

    run(story)


def test_unknown_paths_are_charged_to_their_caller(tmp_path: Path) -> None:
    async def story() -> None:
        limits = RequestLimits(rate=1, stranger_burst_s=5)
        clock = ManualClock(SystemClock().now())
        async with serving(tmp_path, clock, limits) as place:
            statuses = [(await get(place, f"/v1/nothing/{number}")).status for number in range(8)]
            assert statuses == [404] * 5 + [429] * 3
            assert (await get(place, "/health/ready")).status == 200

    run(story)
