"""Which server the agent connects to, what it notes and logs while it is not connected, and when it reconnects at once."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from lab.scripted_server import DEADLINE_S, ScriptedServer
from precast.agent.connection import backoff
from precast.agent.connection.session import Session
from precast.agent.connection.supervisor import ConnectionSupervisor
from precast.agent.connection.websocket_client import DirectConnector
from precast.agent.identity.credentials import Credentials
from precast.agent.identity.machine import MachineIdentity
from precast.agent.orders.registry import OrderRegistry, StoredOrder
from precast.agent.state.spool import Spool, SpoolLimits
from precast.agent.state.status_notes import CertificateNote, ConnectionNote
from precast.agent.state.store import LocalStore
from precast.wire import sessions as session
from precast.wire.sessions import Hello, Message, Reconnect, Refused, Released, Welcome


class Node:
    """A machine with its supervisor, and the listener of its sessions."""

    def __init__(self, root: Path, urls: Sequence[str]) -> None:
        ids = itertools.count(1)
        self.store = LocalStore.open(root, lambda: "one")
        spool = Spool(self.store, SpoolLimits())
        orders = OrderRegistry(self.store, spool)
        self.session = Session(
            self.store, spool, orders, self, lambda: f"try{next(ids)}", MachineIdentity("machine1", "boot")
        )
        self.has_checked = asyncio.Event()
        self.supervisor = ConnectionSupervisor(
            self.session, self.store, DirectConnector(Credentials(root).context), urls, "web1", self.has_checked.set
        )

    def on_welcome(self, url: str, welcome: Welcome) -> None:
        self.supervisor.note_welcome(url, welcome)

    def on_order(self, order: StoredOrder) -> None:
        raise AssertionError(order.kind)

    def on_released(self, released: Released) -> None:
        """Nothing is released here."""

    def on_facts_wanted(self) -> None:
        raise AssertionError("no facts are wanted here")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.supervisor.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
            self.store.close()

    async def until_noted(self, words: str) -> ConnectionNote:
        """Wait until the note about the connection contains these words, and return it."""
        async with asyncio.timeout(DEADLINE_S):
            while (
                (note := self.store.read_note(ConnectionNote)) is None or words not in note.trouble or note.is_connected
            ):
                await asyncio.sleep(0.005)
        return note


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "UNREACHABLE_S", (0.01, 0.02))
    monkeypatch.setattr(backoff, "FAILED_S", (0.01, 0.02))
    monkeypatch.setattr(backoff, "SPREAD_S", 0.01)
    monkeypatch.setattr(backoff, "NOT_ENROLLED_S", 0.02)


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[list[ScriptedServer]]:
    """Two servers of one authority."""
    async with AsyncExitStack() as stack:
        first_server, second_server = (ScriptedServer(tmp_path / name) for name in ("server1", "server2"))
        second_server.authority = first_server.authority
        for server in (first_server, second_server):
            await stack.enter_async_context(server)
        first_server.enrol(tmp_path / "node", "web1")
        yield [first_server, second_server]


def node_of(tmp_path: Path, servers: list[ScriptedServer]) -> Node:
    return Node(tmp_path / "node", [server.url for server in servers])


async def test_agent_stays_with_its_server_and_tries_the_next_when_it_is_unreachable(
    tmp_path: Path, servers: list[ScriptedServer]
) -> None:
    first_server, second_server = servers
    node = node_of(tmp_path, servers)
    async with node.running():
        await (await first_server.accept()).greet(cycle_s=0.01)
        line = await first_server.accept()
        await line.greet()
        await first_server.stop()
        line = await second_server.accept()
        await line.greet()
        await first_server.start()
        await line.socket.close(session.CLOSE_REVOKED, "no")
        await node.until_noted("certificate")
    again = node_of(tmp_path, servers)
    async with again.running():
        await (await second_server.accept()).greet()


WELCOME = Welcome(1, 1, "scripted", 0, 60.0, 3600.0, 3600.0)


@pytest.mark.parametrize(
    "hostile",
    [
        Reconnect("go away", after_s=1e300),
        Reconnect("go away", spread_s=1e9),
        Reconnect("go away", after_s=-1e9),
        Refused("X-1", "not here", "", 1e300),
        Refused("X-1", "not here", "", -1.0),
        msgspec.structs.replace(WELCOME, epoch=2**64),
        msgspec.structs.replace(WELCOME, received=2**64),
        msgspec.structs.replace(WELCOME, received=-1),
        msgspec.structs.replace(WELCOME, horizon_s=1e300),
        msgspec.structs.replace(WELCOME, heartbeat_s=-1.0),
        msgspec.structs.replace(WELCOME, cycle_s=0.0, spread_s=1e300),
    ],
)
async def test_numbers_of_a_hostile_server_neither_end_the_agent_nor_keep_it_away(
    tmp_path: Path, servers: list[ScriptedServer], hostile: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "MAX_DELAY_S", 0.02, raising=False)
    node = node_of(tmp_path, servers[:1])
    async with node.running():
        line = await servers[0].accept()
        await line.expect(Hello)
        if isinstance(hostile, Reconnect):
            await line.send_message(WELCOME)
        await line.send_message(hostile)
        await (await servers[0].accept()).greet()


async def test_agent_goes_to_the_next_server_when_asked_to_reconnect(
    tmp_path: Path, servers: list[ScriptedServer]
) -> None:
    first_server, second_server = servers
    node = node_of(tmp_path, servers)
    async with node.running():
        line = await first_server.accept()
        await line.greet()
        await line.send_message(Reconnect("it stops"))
        line = await second_server.accept()
        await line.expect(Hello)
        await line.send_message(Refused("X-1", "not here", "", 0.01))
        await (await first_server.accept()).greet()


async def test_fenced_agent_comes_back_soon_and_explains_the_likely_cause(
    tmp_path: Path, servers: list[ScriptedServer], caplog: pytest.LogCaptureFixture
) -> None:
    node = node_of(tmp_path, servers)
    async with node.running():
        line = await servers[0].accept()
        await line.greet()
        await line.socket.close(session.CLOSE_FENCED, "the node has reconnected")
        note = await node.until_noted("is there a second agent, or a copy of this machine?")
    assert note.next_try_at is not None
    assert note.next_try_at - note.since <= timedelta(seconds=5)
    assert [record.levelno for record in caplog.records if "second agent" in record.getMessage()] == [logging.WARNING]


async def test_refused_certificate_is_checked(tmp_path: Path, servers: list[ScriptedServer]) -> None:
    node = node_of(tmp_path, servers)
    async with node.running():
        line = await servers[0].accept()
        await line.greet()
        await line.socket.close(session.CLOSE_REVOKED, "revoked")
        await asyncio.wait_for(node.has_checked.wait(), DEADLINE_S)


async def test_expired_certificate_is_noted_and_checked(tmp_path: Path, servers: list[ScriptedServer]) -> None:
    node = node_of(tmp_path, servers)
    past = datetime.now(UTC) - timedelta(days=1)
    node.store.write_note(CertificateNote("web1", past, past))
    for server in servers:
        await server.stop()
    async with node.running():
        await node.until_noted("this machine's certificate has expired (Connection refused)")
        await asyncio.wait_for(node.has_checked.wait(), DEADLINE_S)


async def test_new_certificate_is_used_at_once_also_in_a_long_pause(
    tmp_path: Path, servers: list[ScriptedServer]
) -> None:
    node = node_of(tmp_path, servers)
    async with node.running():
        line = await servers[0].accept()
        await line.greet()
        node.supervisor.reconnect()
        line = await servers[0].accept()
        await line.greet()
        await line.socket.close(session.CLOSE_REVOKED, "revoked")
        await node.until_noted("revoked")
        node.supervisor.reconnect()
        await (await servers[0].accept()).greet()


async def test_new_servers_are_used_after_a_reload(tmp_path: Path, servers: list[ScriptedServer]) -> None:
    first_server, second_server = servers
    node = Node(tmp_path / "node", [first_server.url])
    async with node.running():
        line = await first_server.accept()
        await line.greet()
        node.supervisor.reconnect([second_server.url])
        await (await second_server.accept()).greet()


async def test_trouble_that_lasts_is_logged_once(
    tmp_path: Path, servers: list[ScriptedServer], caplog: pytest.LogCaptureFixture
) -> None:
    for server in servers:
        await server.stop()
    node = Node(tmp_path / "node", [servers[0].url])
    async with node.running():
        tries = {(first := await node.until_noted("Connection refused")).next_try_at}
        async with asyncio.timeout(DEADLINE_S):
            while len(tries) < 4:
                tries.add((last := await node.until_noted("Connection refused")).next_try_at)
                await asyncio.sleep(0.005)
    assert last.since == first.since
    assert sum("Connection refused" in record.getMessage() for record in caplog.records) == 1


async def test_machine_without_a_certificate_waits_for_one(tmp_path: Path, servers: list[ScriptedServer]) -> None:
    (tmp_path / "node/var/lib/precast/agent/certificate.pem").rename(tmp_path / "certificate.pem")
    node = node_of(tmp_path, servers)
    async with node.running():
        await node.until_noted("precast agent enrol")
        (tmp_path / "certificate.pem").rename(tmp_path / "node/var/lib/precast/agent/certificate.pem")
        await (await servers[0].accept()).greet()
