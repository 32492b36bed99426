"""Returners on both databases, with real files and sockets: signed, retried, a dead letter in the end, and independent of each other."""

import asyncio
import hmac
import json
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from precast.api.http.webhook import post
from precast.base.clock import ManualClock
from precast.base.errors import InputError
from precast.services.reports.reports import ReportService, prepare_ended
from precast.services.reports.returned_attempts import ReturnedAttempts
from precast.services.reports.returners import Returner, ReturnerService, kind_of, load_returners
from precast.services.reports.views import ReportViews
from precast.store.engine.database import Database
from precast.store.identity.certificates import NodeCertificates
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import Jobs
from precast.store.queue.queue import WorkQueue
from precast.store.reports.reports import Reports
from precast.store.reports.views import ReportReader
from tests.contract.reports.report_site import began, changed, ended, failed, report_id, summary

SECRET = "a secret of some length"


class Receiver:
    """A real server that records its requests, and answers with a given status."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.status = 204
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((dict(self.headers), body))
                self.send_response(outer.status)
                self.end_headers()

            def log_message(self, *words: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook?x=1"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


class World:
    """One server with returners."""

    def __init__(self, database: Database, returners: dict[str, Returner]) -> None:
        self.database = database
        self.work = WorkQueue(database, [kind_of(name) for name in returners])
        self.service = ReturnerService(
            database,
            ReportViews(database, ReportReader(database)),
            ReturnedAttempts(database, Jobs(database), Attempts(database)),
            self.work,
            returners,
            post,
        )
        self.reports = ReportService(database, Reports(database), [self.service.enqueue_reports])

    async def run(self, number: int, *reports: Any, **counts: int) -> None:
        update = prepare_ended("web1", ended(began(number), *reports, events=len(reports), summary=summary(**counts)))
        await self.database.write(self.reports.store, [("web1", update)])


@pytest.fixture
async def node(database: Database) -> Database:
    await database.write(NodeCertificates(database).lock_or_create, "web1")
    return database


async def test_file_gets_a_line_for_each_selected_report(node: Database, tmp_path: Path) -> None:
    returners = {
        "all": Returner(file=str(tmp_path / "all")),
        "bad": Returner(file=str(tmp_path / "bad"), only="failed"),
        "some": Returner(file=str(tmp_path / "some"), only="eventful"),
    }
    world = World(node, returners)
    await world.run(1)
    await world.run(2, changed("/a"), changed=1)
    await world.run(3, failed("b"), failed=1)
    for name in returners:
        assert await world.service.work_off(name, "s1") == 3
        assert await world.service.work_off(name, "s1") == 0

    def ids(name: str) -> list[str]:
        return sorted(json.loads(line)["report"]["id"] for line in (tmp_path / name).read_text().splitlines())

    assert ids("all") == [report_id(1), report_id(2), report_id(3)]
    assert ids("some") == [report_id(2), report_id(3)]
    assert ids("bad") == [report_id(3)]
    last = json.loads((tmp_path / "bad").read_text())
    assert [(event["number"], event["resource"]) for event in last["events"]] == [(1, "Exec[b]")]


async def test_webhook_is_signed_over_time_and_body(node: Database, receiver: Receiver, clock: ManualClock) -> None:
    world = World(node, {"chat": Returner(url=receiver.url, secret=SECRET)})
    await world.run(1, changed("/a"), changed=1)
    assert await world.service.work_off("chat", "s1") == 1
    ((headers, body),) = receiver.requests
    stamp = str(int(clock.now().timestamp()))
    assert headers["Precast-Timestamp"] == stamp
    expected = hmac.new(SECRET.encode(), stamp.encode() + b"." + body, sha256).hexdigest()
    assert headers["Precast-Signature"] == f"sha256={expected}"
    assert headers["Precast-Report"] == report_id(1)
    assert json.loads(body)["report"]["changed"] == 1


async def test_failing_receiver_is_retried_and_delays_no_other(
    node: Database, receiver: Receiver, clock: ManualClock, tmp_path: Path
) -> None:
    world = World(
        node, {"chat": Returner(url=receiver.url, secret=SECRET), "file": Returner(file=str(tmp_path / "all"))}
    )
    receiver.status = 503
    await world.run(1, changed("/a"), changed=1)
    assert await world.service.work_off("chat", "s1") == 1
    assert await world.service.work_off("file", "s1") == 1
    assert (tmp_path / "all").read_text().count("\n") == 1
    assert await world.service.work_off("chat", "s1") == 0, "there is a pause first"
    clock.advance(2)
    receiver.status = 200
    assert await world.service.work_off("chat", "s1") == 1
    assert len(receiver.requests) == 2
    assert {json.loads(body)["report"]["id"] for _, body in receiver.requests} == {report_id(1)}


async def test_unavailable_receiver_leaves_a_dead_letter(node: Database, clock: ManualClock, tmp_path: Path) -> None:
    world = World(node, {"file": Returner(file=str(tmp_path / "nowhere" / "all"))})
    await world.run(1, changed("/a"), changed=1)
    for _ in range(kind_of("file").max_attempts):
        assert await world.service.work_off("file", "s1") == 1
        clock.advance(400)
    (letter,) = await world.work.list_dead()
    assert (letter.kind, letter.key) == ("return.file", report_id(1))
    assert "No such file" in letter.last_error
    assert await world.work.requeue(letter.kind, letter.key)
    (tmp_path / "nowhere").mkdir()
    assert await world.service.work_off("file", "s1") == 1
    assert (tmp_path / "nowhere/all").exists()


async def test_hanging_receiver_does_not_block_the_event_loop(node: Database, tmp_path: Path) -> None:
    entered, release = threading.Event(), threading.Event()

    def hang(url: str, body: bytes, headers: object, timeout_s: float) -> int:
        entered.set()
        release.wait(30)
        return 200

    returners = {
        "slow": Returner(url="http://127.0.0.1:9/", secret=SECRET),
        "file": Returner(file=str(tmp_path / "all")),
    }
    world = World(node, returners)
    world.service._post = hang
    await world.run(1)
    slow = asyncio.create_task(world.service.work_off("slow", "s1"))
    assert await asyncio.to_thread(entered.wait, 30)
    assert await world.service.work_off("file", "s1") == 1
    assert (tmp_path / "all").read_text().count("\n") == 1
    release.set()
    assert await slow == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[a]\nfile = 'x'", "not an absolute path"),
        ("[a]\nfile = '/x'\nurl = 'https://x'", "exactly one of file and url"),
        ("[a]\nurl = 'ftp://x'", "https://HOST"),
        ("[a]\nurl = 'https://u:p@x/'\nsecret = 'aaaaaaaaaaaaaaaaaaaaaaaa'", "without a password"),
        ("[a]\nurl = 'https://x/'\nsecret = 'short'", "fewer than 20"),
        ("[A-b]\nfile = '/x'", "lower-case"),
        ("[a]\nfile = '/x'\nonly = 'some'", "only"),
        ("[a]\nfiel = '/x'", "fiel"),
        ("[a", "Expected"),
    ],
)
def test_invalid_configuration_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "returners.toml"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(InputError, match=reason) as caught:
        load_returners(path)
    assert caught.value.code == "REPORT-004"


def test_configuration_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "returners.toml"
    path.write_text("[a]\nfile = '/x'")
    path.chmod(0o644)
    with pytest.raises(InputError, match="other users may read"):
        load_returners(path)
    path.chmod(0o640)
    assert load_returners(path) == {"a": Returner(file="/x")}
