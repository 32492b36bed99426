"""The agent's side of a session, over real TLS, with a server whose messages each test scripts."""

import asyncio
import itertools
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.scripted_server import DEADLINE_S, AgentConnection, ScriptedServer
from precast.agent.connection import record_exchange
from precast.agent.connection.backoff import EndReason
from precast.agent.connection.session import Session, SessionEnd
from precast.agent.connection.websocket_client import DirectConnector
from precast.agent.identity.machine import MachineIdentity
from precast.agent.orders.collect_orders import CollectOrders
from precast.agent.orders.registry import OrderRegistry, StoredOrder
from precast.agent.orders.run_orders import RunOrders
from precast.agent.state.spool import Importance, Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.wire import sessions as session
from precast.wire.facts import FactUpload, make_upload
from precast.wire.jobs.orders import GRANT, RUN, Grant, RunOrder
from precast.wire.sessions import (
    FACTS,
    Ack,
    FactsWanted,
    Hello,
    Reconnect,
    Record,
    Refused,
    Released,
    Resend,
    Welcome,
)


class RecordingListener:
    """A listener that records its calls."""

    def __init__(self) -> None:
        self.orders: list[tuple[str, str]] = []
        self.welcomes: list[Welcome] = []
        self.released: list[Released] = []
        self.wanted = asyncio.Event()

    def on_welcome(self, url: str, welcome: Welcome) -> None:
        self.welcomes.append(welcome)

    def on_order(self, order: StoredOrder) -> None:
        self.orders.append((order.kind, order.why))

    def on_released(self, released: Released) -> None:
        self.released.append(released)

    def on_facts_wanted(self) -> None:
        self.wanted.set()


class Agent:
    """A node's store and its sessions."""

    def __init__(self, root: Path, url: str, context: ssl.SSLContext, **options: Any) -> None:
        ids = itertools.count(1)
        self.url = url
        self.store = LocalStore.open(root, lambda: "instance1")
        self.spool = Spool(self.store, SpoolLimits())
        self.listener = RecordingListener()
        self.orders = OrderRegistry(self.store, self.spool)
        self.session = Session(
            self.store,
            self.spool,
            self.orders,
            self.listener,
            lambda: f"try{next(ids)}",
            MachineIdentity("machine1", "boot1"),
            **options,
        )
        self.context = context

    def put(self, text: str) -> None:
        self.spool.put("event", f'"{text}"'.encode(), Importance.EVENT)
        self.session.has_records.set()

    async def acknowledged(self, number: int = 1) -> None:
        """Until the acknowledgement through a number is in the store."""
        async with asyncio.timeout(DEADLINE_S):
            while not self.store.read("SELECT 1 FROM record WHERE number = ? AND acked_at IS NOT NULL", (number,)):
                await asyncio.sleep(0.005)

    async def run(self) -> SessionEnd:
        async with asyncio.timeout(DEADLINE_S):
            return await self.session.run(self.url, DirectConnector(lambda: self.context))

    @asynccontextmanager
    async def connected(
        self, server: ScriptedServer
    ) -> AsyncIterator["tuple[AgentConnection, asyncio.Task[SessionEnd]]"]:
        """A session that runs meanwhile: the server's end of it, and what becomes of it."""
        task = asyncio.create_task(self.run())
        try:
            yield await server.accept(), task
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer(tmp_path / "server") as started:
        yield started


@pytest.fixture
async def agent(tmp_path: Path, server: ScriptedServer) -> AsyncIterator[Agent]:
    credentials = server.enrol(tmp_path / "node", "web1")
    made = Agent(tmp_path / "node", server.url, credentials.context())
    yield made
    made.store.close()


def texts(records: list[Record]) -> list[str]:
    return [bytes(record.body).decode().strip('"') for record in records]


async def test_hello_has_the_state_of_the_store(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        hello = await line.greet()
        assert hello == Hello([1], "instance1", ["try1"], "boot1", hello.agent, 0, 1, 0, 0, machine_id="machine1")
        agent.put("a")
        assert (await line.take()).number == 1
        await agent.acknowledged()
    async with agent.connected(server) as (line, _):
        hello = await line.expect(Hello)
        assert (hello.attempts, hello.epoch, hello.first, hello.last) == (["try2", "try1"], 1, 1, 1)


async def test_attempts_without_an_answer_are_all_remembered(agent: Agent, server: ScriptedServer) -> None:
    for _ in range(3):
        async with agent.connected(server) as (line, task):
            await line.expect(Hello)
            await line.socket.close(1011)
            assert (await task).reason is EndReason.FAILED
    async with agent.connected(server) as (line, _):
        assert (await line.greet()).attempts == ["try4", "try3", "try2", "try1"]
        agent.put("until it is welcomed")
        await line.take()
    assert agent.store.session_state().attempts == ["try4"]


async def test_records_made_offline_and_online_are_sent_in_order(agent: Agent, server: ScriptedServer) -> None:
    agent.put("a")
    agent.put("b")
    async with agent.connected(server) as (line, _):
        await line.greet()
        records = [await line.take(), await line.take()]
        agent.put("c")
        records.append(await line.take())
    assert texts(records) == ["a", "b", "c"]
    assert [record.number for record in records] == [1, 2, 3]


async def test_unacknowledged_records_are_sent_again(agent: Agent, server: ScriptedServer) -> None:
    agent.put("a")
    agent.put("b")
    async with agent.connected(server) as (line, _):
        await line.greet()
        assert (await line.take()).number == 1
        assert (await line.expect(Record)).number == 2
        await agent.acknowledged()
    agent.put("c")
    async with agent.connected(server) as (line, _):
        await line.greet(received=1)
        assert texts([await line.take(), await line.take()]) == ["b", "c"]


async def test_server_that_lost_acknowledged_records_gets_them_again(agent: Agent, server: ScriptedServer) -> None:
    for text in "abc":
        agent.put(text)
    async with agent.connected(server) as (line, _):
        await line.greet()
        for _ in range(3):
            await line.take()
        await agent.acknowledged(3)
    async with agent.connected(server) as (line, _):
        hello = await line.greet(received=1)
        assert (hello.first, hello.last) == (1, 3)
        assert texts([await line.take(), await line.take()]) == ["b", "c"]


async def test_resend_begins_again_after_its_number(agent: Agent, server: ScriptedServer) -> None:
    for text in "abc":
        agent.put(text)
    async with agent.connected(server) as (line, _):
        await line.greet()
        for number in (1, 2, 3):
            assert (await line.expect(Record)).number == number
        await line.send_message(Resend(1))
        assert texts([await line.expect(Record), await line.expect(Record)]) == ["b", "c"]


async def test_send_window_limits_unacknowledged_records(
    agent: Agent, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_exchange, "WINDOW_RECORDS", 3)
    for number in range(7):
        agent.put(str(number))
    async with agent.connected(server) as (line, _):
        await line.greet()
        for number in (1, 2, 3):
            assert (await line.expect(Record)).number == number
        # Records beyond the window have no number yet: they could still be dropped without a gap.
        assert agent.spool.number_range() == (1, 3)
        await line.send_message(Ack(2))
        assert [(await line.expect(Record)).number for _ in range(2)] == [4, 5]
        await line.send_message(Ack(5))
        assert [(await line.expect(Record)).number for _ in range(2)] == [6, 7]


async def test_send_window_has_the_bytes_that_the_server_allows(agent: Agent, server: ScriptedServer) -> None:
    for text in ("a" * 300, "b" * 300, "c" * 3_000, "d" * 300, "e" * 300):
        agent.put(text)
    async with agent.connected(server) as (line, _):
        await line.greet(window_bytes=1_000)
        assert texts([await line.expect(Record) for _ in range(2)]) == ["a" * 300, "b" * 300]
        assert agent.spool.number_range() == (1, 2)
        await line.send_message(Ack(1))
        # A record larger than the window waits until no other record is in flight, and is sent alone.
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await line.expect(Record)
        await line.send_message(Ack(2))
        assert texts([await line.expect(Record)]) == ["c" * 3_000]
        assert agent.spool.number_range() == (1, 3)
        await line.send_message(Ack(3))
        assert texts([await line.expect(Record) for _ in range(2)]) == ["d" * 300, "e" * 300]


async def test_facts_are_sent_compressed(agent: Agent, server: ScriptedServer) -> None:
    body = make_upload(
        {f"package{number}": str(number * 7919) for number in range(200)},
        {"mountpoints": {f"/srv/volume{number}": number * 7919 for number in range(60)}},
    )
    agent.spool.put(FACTS, msgspec.json.encode(body), Importance.ROUTINE)
    async with agent.connected(server) as (line, _):
        await line.greet(0)
        sent = msgspec.json.decode((await line.expect(Record)).body, type=FactUpload)
    assert sent == body.compressed()
    assert sent.whole is None
    assert sent.volatile != body.volatile


async def test_run_is_an_order_of_its_own_and_stored_before_it_is_acknowledged(
    agent: Agent, server: ScriptedServer
) -> None:
    order = RunOrder("o1", "noop", datetime.now(UTC) + timedelta(hours=1), ["web"], "somebody asked")
    async with agent.connected(server) as (line, _):
        await line.greet()
        for number, body in enumerate([order, order, {"order": 3}], 1):
            raw = msgspec.Raw(msgspec.json.encode(body))
            await line.send_message(Record(number, RUN, datetime.now(UTC), raw))
            assert await line.expect(Ack) == Ack(number)
    assert agent.listener.orders == [(RUN, "somebody asked")]
    assert agent.orders.find(RunOrders).find("o1") == order
    assert agent.store.read("SELECT id, state FROM queued_order") == [("o1", "waiting")]


async def test_claimed_orders_are_claimed_again_in_a_new_session(agent: Agent, server: ScriptedServer) -> None:
    order = RunOrder("o1", "noop", datetime.now(UTC) + timedelta(hours=1))
    async with agent.connected(server) as (line, _):
        await line.greet()
        raw = msgspec.Raw(msgspec.json.encode(order))
        await line.send_message(Record(1, RUN, datetime.now(UTC), raw))
        await line.expect(Ack)
        agent.orders.claims.claim_waiting()
        grant = msgspec.Raw(msgspec.json.encode(Grant("o1", 1, agent.store.session_state().instance, True)))
        await line.send_message(Record(2, GRANT, datetime.now(UTC), grant))
        await line.expect(Ack)
        assert agent.orders.claims.is_granted("o1")
    async with agent.connected(server) as (line, _):
        await line.greet(0)
        await line.expect(Record)  # the first claim, which no server has acknowledged
    assert not agent.orders.claims.is_granted("o1")
    agent.orders.claims.claim_waiting()
    assert agent.store.read("SELECT state, claim FROM queued_order") == [("claimed", 2)]


async def test_release_is_passed_to_the_listener(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        await line.greet()
        await line.send_message(Released("d1", 7, 2.5))
        await line.order(1, session.COLLECT)
        await line.expect(Ack)
    assert agent.listener.released == [Released("d1", 7, 2.5)]


async def test_orders_are_stored_before_they_are_acknowledged_and_only_once(
    agent: Agent, server: ScriptedServer
) -> None:
    async with agent.connected(server) as (line, _):
        await line.greet()
        await line.order(1, session.COLLECT, "somebody asked")
        assert await line.expect(Ack) == Ack(1)
        assert agent.orders.find(CollectOrders).is_pending()
        await line.order(1, session.COLLECT, "again")
        assert await line.expect(Ack) == Ack(1)
        await line.order(2, "of the future")
        assert await line.expect(Ack) == Ack(2)
    assert agent.listener.orders == [(session.COLLECT, "somebody asked")]
    assert agent.store.session_state().received == 2
    async with agent.connected(server) as (line, _):
        assert (await line.greet()).received == 2


async def test_missing_records_of_the_server_are_requested_again(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        await line.greet()
        await line.order(2, session.RENEW)
        await line.order(3, session.COLLECT)
        assert await line.expect(Resend) == Resend(0)
        for number, kind in ((1, session.COLLECT), (2, session.RENEW), (3, session.COLLECT)):
            await line.order(number, kind)
            assert await line.expect(Ack) == Ack(number)
    assert [kind for kind, _ in agent.listener.orders] == [session.COLLECT, session.RENEW, session.COLLECT]


async def test_gap_that_stays_is_accepted(agent: Agent, server: ScriptedServer) -> None:
    """The server numbers its records per node, and a new store has received none of them."""
    async with agent.connected(server) as (line, _):
        await line.greet()
        await line.order(8, session.COLLECT)
        assert await line.expect(Resend) == Resend(0)
        await line.order(8, session.COLLECT)
        assert await line.expect(Ack) == Ack(8)


async def test_want_clears_the_digest_of_the_servers_facts(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        await line.greet(facts_digest="d1")
        agent.put("so that it is welcomed")
        await line.take()
        assert agent.store.session_state().facts_digest == "d1"
        await line.send_message(FactsWanted("d1"))
        async with asyncio.timeout(DEADLINE_S):
            await agent.listener.wanted.wait()
        assert agent.store.session_state().facts_digest == ""


async def test_acknowledged_stable_facts_are_noted(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        await line.greet()
        for body, known in (
            (b'{"digest":"d1","volatile":{},"stable":{"a":1}}', "d1"),
            (b'{"digest":"d3","volatile":{}}', "d1"),
        ):
            agent.spool.put(session.FACTS, body, Importance.ROUTINE, supersedes=True)
            agent.session.has_records.set()
            await agent.acknowledged((await line.take()).number)
            assert agent.store.session_state().facts_digest == known


# ends


async def test_refusal_has_its_reason_and_its_retry_time(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.expect(Hello)
        await line.send_message(Refused("SESSION-001", "web1 is here already", "see who", 40.0))
        end = await task
    assert end[:3] == (EndReason.REFUSED, "web1 is here already [SESSION-001]; see who", (40.0, 60.0))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (session.CLOSE_FENCED, EndReason.FENCED),
        (session.CLOSE_REVOKED, EndReason.REVOKED),
        (session.CLOSE_UNSTORED, EndReason.FAILED),
        (session.CLOSE_RECONNECT, EndReason.MOVED),
        (1011, EndReason.FAILED),
    ],
)
@pytest.mark.parametrize("is_welcomed", [False, True])
async def test_close_code_decides_the_reason(
    agent: Agent, server: ScriptedServer, code: int, reason: EndReason, is_welcomed: bool
) -> None:
    async with agent.connected(server) as (line, task):
        await (line.greet() if is_welcomed else line.expect(Hello))
        await line.socket.close(code, "because")
        assert (await task)[:2] == (reason, "because")


async def test_reconnect_has_its_retry_time(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet()
        await line.send_message(Reconnect("it stops", 2.0, 5.0))
        assert (await task)[:3] == (EndReason.MOVED, "it stops", (2.0, 7.0))
        assert await line.ended() == 1000


async def test_connection_is_cycled_at_its_planned_age(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet(cycle_s=0.01)
        assert (await task).reason is EndReason.CYCLED


async def test_connection_is_closed_when_the_agent_needs_a_new_one(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet()
        agent.put("a")
        await line.take()
        agent.session.must_leave.set()
        assert (await task).reason is EndReason.OURS


async def test_silent_server_is_disconnected(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.expect(Hello)
        welcome = Welcome(1, 1, "scripted", 0, 0.2, 3600, 3600)
        await line.send_message(welcome)
        agent.put("a")
        await line.take()
        # From now on the server reads nothing, so it sends no pong.
        line.socket.transport.pause_reading()
        end = await task
    assert (end.reason, end.why) == (EndReason.FAILED, "the server sent nothing for 0.2 s")


async def test_server_that_never_welcomes_is_disconnected(tmp_path: Path, server: ScriptedServer) -> None:
    context = server.enrol(tmp_path / "node", "web1").context()
    agent = Agent(tmp_path / "node", server.url, context, open_s=0.3)
    assert (await agent.run())[:2] == (EndReason.FAILED, "the server did not answer within 0.3 s")
    agent.store.close()


@pytest.mark.parametrize("nonsense", [b"", b"{", b'{"type":"hello"}', b"[" * 10_000, b'"\xff"'])
async def test_server_with_another_protocol_is_disconnected(
    agent: Agent, server: ScriptedServer, nonsense: bytes
) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet()
        await line.socket.send(nonsense)
        assert (await task)[:2] == (EndReason.FAILED, "the server does not speak this protocol")


async def test_frame_beyond_the_limit_ends_the_connection(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet()
        await line.socket.send(b" " * (session.MAX_FRAME_BYTES + 1))
        assert (await task).reason is EndReason.FAILED
        assert await line.ended() == 1009


# before there is a session


async def test_refused_tcp_connection_is_unreachable(agent: Agent, server: ScriptedServer) -> None:
    await server.stop()
    assert (await agent.run())[:2] == (EndReason.UNREACHABLE, "Connection refused")


async def test_unknown_name_is_unreachable(agent: Agent) -> None:
    agent.url = "https://nobody.invalid:8140"
    end = await agent.run()
    assert end.reason is EndReason.UNREACHABLE
    assert end.why.startswith("its name cannot be resolved")


async def test_server_of_another_authority_is_not_trusted(tmp_path: Path, agent: Agent, server: ScriptedServer) -> None:
    async with ScriptedServer(tmp_path / "other") as other:
        agent.url = other.url
        assert (await agent.run()).reason is EndReason.UNTRUSTED


async def test_expired_certificate_is_not_accepted(tmp_path: Path, server: ScriptedServer) -> None:
    context = server.enrol(tmp_path / "node", "web1", ended=True).context()
    agent = Agent(tmp_path / "node", server.url, context)
    assert (await agent.run())[:2] == (EndReason.FAILED, "the server closed the connection before it answered")
    agent.store.close()


async def test_other_program_on_the_port_is_a_failure(agent: Agent) -> None:
    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 smtp.example.com\r\n")
        writer.close()

    other = await asyncio.start_server(answer, "127.0.0.1", 0)
    agent.url = f"https://127.0.0.1:{other.sockets[0].getsockname()[1]}"
    end = await agent.run()
    other.close()
    await other.wait_closed()
    assert end.reason is EndReason.FAILED
    assert end.why.startswith("no session could be opened: ")


async def test_stuck_server_is_disconnected(tmp_path: Path, server: ScriptedServer) -> None:
    context = server.enrol(tmp_path / "node", "web1").context()
    with socket.create_server(("127.0.0.1", 0)) as stuck:
        agent = Agent(tmp_path / "node", f"https://127.0.0.1:{stuck.getsockname()[1]}", context, open_s=0.3)
        assert (await agent.run())[:2] == (EndReason.FAILED, "the server did not answer within 0.3 s")
        agent.store.close()


async def test_failing_store_ends_the_session_with_its_error(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet()
        agent.put("a")
        await line.take()
        await agent.acknowledged()
        agent.store.close()
        await line.order(1, session.COLLECT)
        end = await task
        assert await line.ended() == 1000
    assert end.reason is EndReason.LOCAL
    assert "[AGENT-010]" in end.why


async def test_server_whose_database_was_left_behind_is_left(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        await line.greet(term=7)
        agent.put("a")
        await line.take()
        await agent.acknowledged()
    async with agent.connected(server) as (line, task):
        assert (await line.greet(term=6)).term == 7
        end = await task
        assert end.reason is EndReason.REFUSED
        assert "its term is 6, and this node has seen 7" in end.why
    assert agent.store.session_state().term == 7
    async with agent.connected(server) as (line, _):
        await line.greet(term=8)
        agent.put("b")
        await line.take()
    assert agent.store.session_state().term == 8
