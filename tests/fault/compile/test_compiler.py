"""Failures during compiles: of a worker, of a server between compile and store, of the database. No compile is lost, and a staged catalog
is never served.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lab.compile_services import CompileServices
from lab.postgres import PostgresServer
from lab.processes import GONE
from lab.site import Site
from lab.writer_process import ROOT, text_of
from precast.agent.identity.enrolment import Identity
from precast.base import digests, https
from precast.base.clock import Clock, ManualClock
from precast.store.engine.connect import connect
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.schema.schema import Schema
from precast.wire.catalogs.bodies import ReleaseBody
from precast.wire.nodes.bodies import TargetsBody

DEADLINE_S = 90.0
CODE = {"manifests/site.pp": "file { '/etc/motd': content => 'first' }\n"}
OTHER = {"manifests/site.pp": "file { '/etc/motd': content => 'second' }\n"}
# A compile that is slow enough to be killed in the middle.
SLOW = "Integer[1, 60000].each |$n| { $x = [$n, $n].map |$m| { $m * 2 } }\n"


@asynccontextmanager
async def compiling(location: Location, clock: Clock | None = None) -> AsyncIterator[CompileServices]:
    database = await connect(location, may_create=True, clock=clock)
    await Schema(database).expand()
    made = CompileServices(database)
    yield made
    await made.close()
    await database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    if request.param == "sqlite":
        return SqliteLocation(tmp_path / "precast.db")
    postgres: PostgresServer = request.getfixturevalue("postgres")
    return PostgresLocation(postgres.url(postgres.create_database()))


@pytest.mark.parametrize("when", ["before", "inside"])
async def test_server_killed_between_compile_and_store_loses_nothing(location: Location, when: str) -> None:
    async with compiling(location) as site:
        await site.deploy(CODE)
        await site.introduce("web1")
        await site.submit("web1", {"os": 1}, {})
        await site.settle()
        await site.releases.release(ReleaseBody(TargetsBody(["web1"])), "person:a")
        first = await site.staged("web1")
        await site.deploy(OTHER)
        await site.decisions.spread("d")
        await site.decisions.work_off("d")
    command = [sys.executable, "-m", "lab.compiler_crash", text_of(location), when]
    done = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, check=False, timeout=DEADLINE_S)
    assert done.returncode == -signal.SIGKILL
    # By the clock of the next server, the lease of the killed one has expired.
    async with compiling(location, ManualClock()) as heir:
        (item,) = [item for item in await heir.work.list_waiting() if item.kind == "compile"]
        assert item.attempts == 1
        assert await heir.traces.measure("production") == (1, *(await heir.traces.measure("production"))[1:])
        assert (await heir.staged("web1")).digest == first.digest
        assert await heir.settle() == 1
        second = await heir.staged("web1")
        assert second.digest != first.digest
        assert await heir.work.list_waiting() == []
        served = await heir.downloads.fetch("web1", "")
        assert (served.release.digest, b"first" in (served.body or b"")) == (first.digest, True)


class Served:
    """A real site with a node that is served a catalog."""

    def __init__(self, site: Site, directory: Path) -> None:
        self.site, self.code = site, directory / "code"
        (self.code / "manifests").mkdir(parents=True)
        self.node: Identity = site.enrol("web1")
        self.send_facts(1)
        self.deploy("first")
        self.until_staged("")
        site.run("release", "web1")
        self.released = digests.of_bytes(self.fetch().body)

    def deploy(self, text: str, code: str = "") -> None:
        manifest = f"{code}file {{ '/etc/motd': content => \"{text} ${{facts['number']}}\" }}\n"
        (self.code / "manifests" / "site.pp").write_text(manifest)
        self.site.run("env", "deploy", "production", "--from", str(self.code))

    def send_facts(self, number: int) -> int:
        stable = {"number": number}
        body = {"digest": digests.of_value(stable), "volatile": {}, "stable": stable}
        return https.call(
            self.site.url, self.node.context(), "POST", "/v1/facts", json.dumps(body).encode(), timeout_s=DEADLINE_S
        ).status

    def fetch(self) -> https.HttpAnswer:
        return https.call(self.site.url, self.node.context(), "GET", "/v1/catalog", timeout_s=DEADLINE_S)

    def until_staged(self, other_than: str) -> str:
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s:
            try:
                if (staged := str(self.site.run("catalog", "show", "web1")["staged"])) != other_than:
                    return staged
            except subprocess.CalledProcessError:
                continue
        raise AssertionError("nothing was staged")


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def worker_of(pid: int, other_than: int = 0) -> int:
    """A compile worker of a server; the test's own deadline ends this."""
    while True:
        for child in set(children(pid)) - {other_than}:
            try:
                if b"precast.services.compile.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return child
            except GONE:
                continue


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Site(tmp_path / "site") as site:
        yield Served(site, tmp_path)


@pytest.mark.timeout(300)
def test_worker_killed_in_the_middle_of_a_compile_is_replaced_and_the_compile_done(served: Served) -> None:
    before = served.until_staged("")
    old = worker_of(served.site.pid)
    served.deploy("second", SLOW)
    # Every version has its own worker: this one was started for the running compile.
    os.kill(worker_of(served.site.pid, other_than=old), signal.SIGKILL)
    after = served.until_staged(before)
    assert served.site.run("catalog", "errors") == {
        "errors": [],
        "warnings": [],
        "dead": [],
        "flapping": [],
        "loops": [],
    }
    assert digests.of_bytes(served.fetch().body) == served.released
    served.site.run("release", "web1")
    assert digests.of_bytes(served.fetch().body) == after


# Well below the rate limit of a node.
ASK_EVERY_S = 0.05


def go_through_an_outage(directory: Path, outage_s: float) -> None:
    """Stop and start PostgreSQL while a node keeps fetching its catalog and sending new facts."""
    with (
        PostgresServer() as postgres,
        Site(directory / "site", postgres.url(postgres.create_database())) as site,
    ):
        served = Served(site, directory)
        before = served.until_staged("")
        served.deploy("second")
        postgres.stop()
        statuses: set[int] = set()
        end_s = time.monotonic() + outage_s
        while time.monotonic() < end_s or not statuses & {503}:
            answer = served.fetch()
            statuses.add(answer.status)
            # The server serves the released catalog, or nothing at all.
            assert answer.status == 503 or digests.of_bytes(answer.body) == served.released, answer
            assert served.send_facts(2) == 503
            time.sleep(ASK_EVERY_S)
        postgres.start()
        while served.send_facts(2) != 200:
            time.sleep(ASK_EVERY_S)
        second = served.until_staged(before)
        # The staged catalog has both the code and the facts that were sent around the outage.
        end_s = time.monotonic() + DEADLINE_S
        while site.status()["queues"]:
            assert time.monotonic() < end_s
        second = served.until_staged("")
        assert digests.of_bytes(served.fetch().body) == served.released
        site.run("release", "web1")
        answer = served.fetch()
        assert digests.of_bytes(answer.body) == second
        assert b"second 2" in answer.body
        assert site.run("catalog", "errors") == {"errors": [], "warnings": [], "dead": [], "flapping": [], "loops": []}


@pytest.mark.timeout(300)
def test_database_that_is_gone_for_a_while_loses_nothing_and_serves_nothing_staged(tmp_path: Path) -> None:
    go_through_an_outage(tmp_path, 3.0)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_database_that_is_gone_for_half_a_minute_loses_nothing_and_serves_nothing_staged(tmp_path: Path) -> None:
    go_through_an_outage(tmp_path, 30.0)
