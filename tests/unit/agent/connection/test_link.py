"""Which server an agent goes to, what it says when it has none, and that it hurries when it should."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lab.scripted_server import DEADLINE_S, ScriptedServer
from precast.agent.connection import pauses
from precast.agent.connection.link import Link
from precast.agent.connection.session import Session
from precast.agent.identity.credentials import Credentials
from precast.agent.state.notes import CertificateNote, LinkNote
from precast.agent.state.spool import Limits, Spool
from precast.agent.state.store import LocalStore
from precast.wire import sessions as session
from precast.wire.sessions import Hello, Reconnect, Refused, Released, Welcome


class Node:
    """A machine with its link, which is also who listens to it."""

    def __init__(self, root: Path, urls: Sequence[str]) -> None:
        ids = itertools.count(1)
        self.store = LocalStore.open(root, lambda: "one")
        self.session = Session(self.store, Spool(self.store, Limits()), self, lambda: f"try{next(ids)}", "boot")
        self.looked = asyncio.Event()
        self.link = Link(self.session, self.store, Credentials(root), urls, "web1", self.looked.set)

    def on_welcome(self, url: str, welcome: Welcome) -> None:
        self.link.welcomed(url, welcome)

    def on_order(self, kind: str, why: str) -> None:
        raise AssertionError(kind)

    def on_released(self, released: Released) -> None:
        """Nothing is released here."""

    def on_want(self) -> None:
        raise AssertionError("nobody wants facts here")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.link.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
            self.store.close()

    async def noted(self, words: str) -> LinkNote:
        """What is noted about the connection, once it says so."""
        async with asyncio.timeout(DEADLINE_S):
            while (note := self.store.noted(LinkNote)) is None or words not in note.trouble or note.is_connected:
                await asyncio.sleep(0.005)
        return note


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "UNREACHABLE_S", (0.01, 0.02))
    monkeypatch.setattr(pauses, "FAILED_S", (0.01, 0.02))
    monkeypatch.setattr(pauses, "SPREAD_S", 0.01)
    monkeypatch.setattr(pauses, "NOT_ENROLLED_S", 0.02)


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[list[ScriptedServer]]:
    """Two servers of one authority."""
    async with AsyncExitStack() as stack:
        one, two = (ScriptedServer(tmp_path / name) for name in ("server1", "server2"))
        two.authority = one.authority
        for server in (one, two):
            await stack.enter_async_context(server)
        one.enrol(tmp_path / "node", "web1")
        yield [one, two]


def node_of(tmp_path: Path, servers: list[ScriptedServer]) -> Node:
    return Node(tmp_path / "node", [server.url for server in servers])


async def test_agent_stays_with_its_server_and_goes_to_the_next_when_that_is_away(
    tmp_path: Path, servers: list[ScriptedServer]
) -> None:
    one, two = servers
    node = node_of(tmp_path, servers)
    async with node.running():
        await (await one.accept()).greet(cycle_s=0.01)
        line = await one.accept()
        await line.greet()
        await one.stop()
        line = await two.accept()
        await line.greet()
        await one.start()
        await line.socket.close(session.CLOSE_REVOKED, "no")
        await node.noted("certificate")
    again = node_of(tmp_path, servers)
    async with again.running():
        await (await two.accept()).greet()


async def test_server_that_sends_us_away_is_left_for_the_next(tmp_path: Path, servers: list[ScriptedServer]) -> None:
    one, two = servers
    node = node_of(tmp_path, servers)
    async with node.running():
        line = await one.accept()
        await line.greet()
        await line.say(Reconnect("it stops"))
        line = await two.accept()
        await line.expect(Hello)
        await line.say(Refused("X-1", "not here", "", 0.01))
        await (await one.accept()).greet()


async def test_fenced_agent_waits_long_and_says_what_may_be_the_reason(
    tmp_path: Path, servers: list[ScriptedServer], caplog: pytest.LogCaptureFixture
) -> None:
    node = node_of(tmp_path, servers)
    async with node.running():
        line = await servers[0].accept()
        await line.greet()
        await line.socket.close(session.CLOSE_FENCED, "the node has come anew")
        note = await node.noted("is there a second agent, or a copy of this machine?")
    assert note.next_try_at is not None
    assert note.next_try_at - note.since >= timedelta(minutes=5)
    assert [record.levelno for record in caplog.records if "second agent" in record.getMessage()] == [logging.WARNING]


async def test_refused_certificate_is_looked_at(tmp_path: Path, servers: list[ScriptedServer]) -> None:
    node = node_of(tmp_path, servers)
    async with node.running():
        line = await servers[0].accept()
        await line.greet()
        await line.socket.close(session.CLOSE_REVOKED, "revoked")
        await asyncio.wait_for(node.looked.wait(), DEADLINE_S)


async def test_certificate_that_has_run_out_is_said_and_looked_at(
    tmp_path: Path, servers: list[ScriptedServer]
) -> None:
    node = node_of(tmp_path, servers)
    past = datetime.now(UTC) - timedelta(days=1)
    node.store.note(CertificateNote("web1", past, past))
    for server in servers:
        await server.stop()
    async with node.running():
        await node.noted("this machine's certificate has run out (Connection refused)")
        await asyncio.wait_for(node.looked.wait(), DEADLINE_S)


async def test_new_certificate_is_used_at_once_also_in_a_long_pause(
    tmp_path: Path, servers: list[ScriptedServer]
) -> None:
    node = node_of(tmp_path, servers)
    async with node.running():
        line = await servers[0].accept()
        await line.greet()
        node.link.renew()
        line = await servers[0].accept()
        await line.greet()
        await line.socket.close(session.CLOSE_REVOKED, "revoked")
        await node.noted("revoked")
        node.link.renew()
        await (await servers[0].accept()).greet()


async def test_other_servers_are_taken_when_settings_say_so(tmp_path: Path, servers: list[ScriptedServer]) -> None:
    one, two = servers
    node = Node(tmp_path / "node", [one.url])
    async with node.running():
        line = await one.accept()
        await line.greet()
        node.link.renew([two.url])
        await (await two.accept()).greet()


async def test_trouble_that_lasts_is_logged_once(
    tmp_path: Path, servers: list[ScriptedServer], caplog: pytest.LogCaptureFixture
) -> None:
    for server in servers:
        await server.stop()
    node = Node(tmp_path / "node", [servers[0].url])
    async with node.running():
        tries = {(first := await node.noted("Connection refused")).next_try_at}
        async with asyncio.timeout(DEADLINE_S):
            while len(tries) < 4:
                tries.add((last := await node.noted("Connection refused")).next_try_at)
                await asyncio.sleep(0.005)
    assert last.since == first.since
    assert sum("Connection refused" in record.getMessage() for record in caplog.records) == 1


async def test_machine_without_a_certificate_waits_for_one(tmp_path: Path, servers: list[ScriptedServer]) -> None:
    (tmp_path / "node/var/lib/precast/agent/certificate.pem").rename(tmp_path / "certificate.pem")
    node = node_of(tmp_path, servers)
    async with node.running():
        await node.noted("precast agent enrol")
        (tmp_path / "certificate.pem").rename(tmp_path / "node/var/lib/precast/agent/certificate.pem")
        await (await servers[0].accept()).greet()
