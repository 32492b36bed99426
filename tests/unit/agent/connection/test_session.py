"""The agent's side of a session against a server that says exactly what a test wants, over real TLS."""

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

from lab.scripted_server import DEADLINE_S, Line, ScriptedServer
from precast.agent.connection import conversation
from precast.agent.connection.pauses import Verdict
from precast.agent.connection.session import Ending, Session
from precast.agent.orders.runs import Orders
from precast.agent.state.spool import Importance, Limits, Spool
from precast.agent.state.store import LocalStore
from precast.wire import sessions as session
from precast.wire.facts import FactsBody, facts_body
from precast.wire.jobs.orders import RUN, RunOrder
from precast.wire.sessions import (
    FACTS,
    WITH_PACKED_FACTS,
    WITH_PACKED_VOLATILE,
    Ack,
    Hello,
    Reconnect,
    Record,
    Refused,
    Released,
    Resend,
    Want,
    Welcome,
)


class Heard:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.orders: list[tuple[str, str]] = []
        self.welcomes: list[Welcome] = []
        self.released: list[Released] = []
        self.wanted = asyncio.Event()

    def on_welcome(self, url: str, welcome: Welcome) -> None:
        self.welcomes.append(welcome)

    def on_order(self, kind: str, why: str) -> None:
        self.orders.append((kind, why))

    def on_released(self, released: Released) -> None:
        self.released.append(released)

    def on_want(self) -> None:
        self.wanted.set()


class Agent:
    """A node's store and its sessions."""

    def __init__(self, root: Path, url: str, context: ssl.SSLContext, **options: Any) -> None:
        ids = itertools.count(1)
        self.url = url
        self.store = LocalStore.open(root, lambda: "instance1")
        self.spool = Spool(self.store, Limits())
        self.heard = Heard()
        self.session = Session(self.store, self.spool, self.heard, lambda: f"try{next(ids)}", "boot1", **options)
        self.context = context

    def put(self, text: str) -> None:
        self.spool.put("event", f'"{text}"'.encode(), Importance.EVENT)
        self.session.has_records.set()

    async def acknowledged(self, number: int = 1) -> None:
        """Until the acknowledgement through a number is in the store."""
        async with asyncio.timeout(DEADLINE_S):
            while not self.store.read("SELECT 1 FROM record WHERE number = ? AND acked_at IS NOT NULL", (number,)):
                await asyncio.sleep(0.005)

    async def run(self) -> Ending:
        async with asyncio.timeout(DEADLINE_S):
            return await self.session.run(self.url, self.context)

    @asynccontextmanager
    async def connected(self, server: ScriptedServer) -> AsyncIterator["tuple[Line, asyncio.Task[Ending]]"]:
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


async def test_hello_says_what_the_store_holds(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        hello = await line.greet()
        assert hello == Hello([4, 3, 2, 1], "instance1", ["try1"], "boot1", hello.agent, 0, 1, 0, 0)
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
            assert (await task).verdict is Verdict.FAILED
    async with agent.connected(server) as (line, _):
        assert (await line.greet()).attempts == ["try4", "try3", "try2", "try1"]
        agent.put("until it is welcomed")
        await line.take()
    assert agent.store.standing().attempts == ["try4"]


async def test_records_made_offline_and_online_come_in_their_order(agent: Agent, server: ScriptedServer) -> None:
    agent.put("a")
    agent.put("b")
    async with agent.connected(server) as (line, _):
        await line.greet()
        came = [await line.take(), await line.take()]
        agent.put("c")
        came.append(await line.take())
    assert texts(came) == ["a", "b", "c"]
    assert [record.number for record in came] == [1, 2, 3]


async def test_records_without_an_acknowledgement_come_again(agent: Agent, server: ScriptedServer) -> None:
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


async def test_resend_begins_again_where_it_is_told(agent: Agent, server: ScriptedServer) -> None:
    for text in "abc":
        agent.put(text)
    async with agent.connected(server) as (line, _):
        await line.greet()
        for number in (1, 2, 3):
            assert (await line.expect(Record)).number == number
        await line.say(Resend(1))
        assert texts([await line.expect(Record), await line.expect(Record)]) == ["b", "c"]


async def test_window_holds_back_what_is_not_acknowledged(
    agent: Agent, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "WINDOW_RECORDS", 3)
    for number in range(7):
        agent.put(str(number))
    async with agent.connected(server) as (line, _):
        await line.greet()
        for number in (1, 2, 3):
            assert (await line.expect(Record)).number == number
        # What the window holds back has no number yet: it could still be dropped without a gap.
        assert agent.spool.span() == (1, 3)
        await line.say(Ack(2))
        assert [(await line.expect(Record)).number for _ in range(2)] == [4, 5]
        await line.say(Ack(5))
        assert [(await line.expect(Record)).number for _ in range(2)] == [6, 7]


async def test_window_is_as_many_bytes_as_the_server_says(agent: Agent, server: ScriptedServer) -> None:
    for text in ("a" * 300, "b" * 300, "c" * 3_000, "d" * 300, "e" * 300):
        agent.put(text)
    async with agent.connected(server) as (line, _):
        await line.greet(window_bytes=1_000)
        assert texts([await line.expect(Record) for _ in range(2)]) == ["a" * 300, "b" * 300]
        assert agent.spool.span() == (1, 2)
        await line.say(Ack(1))
        # What is larger than all of it waits until nothing else is under way, and goes alone.
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await line.expect(Record)
        await line.say(Ack(2))
        assert texts([await line.expect(Record)]) == ["c" * 3_000]
        assert agent.spool.span() == (1, 3)
        await line.say(Ack(3))
        assert texts([await line.expect(Record) for _ in range(2)]) == ["d" * 300, "e" * 300]


@pytest.mark.parametrize("version", [4, 3, 2])
async def test_facts_travel_packed_to_a_server_that_takes_them_so(
    agent: Agent, server: ScriptedServer, version: int
) -> None:
    body = facts_body(
        {f"package{number}": str(number * 7919) for number in range(200)},
        {"mountpoints": {f"/srv/volume{number}": number * 7919 for number in range(60)}},
    )
    agent.spool.put(FACTS, msgspec.json.encode(body), Importance.ROUTINE)
    async with agent.connected(server) as (line, _):
        await line.greet(0, version=version)
        sent = msgspec.json.decode((await line.expect(Record)).body, type=FactsBody)
    expected = body.with_stable_packed() if version >= WITH_PACKED_FACTS else body
    assert sent == (expected.with_volatile_packed() if version >= WITH_PACKED_VOLATILE else expected)
    assert (sent.whole is None) is (version >= WITH_PACKED_FACTS)
    assert (sent.volatile == body.volatile) is (version < WITH_PACKED_VOLATILE)


async def test_run_is_an_order_of_its_own_and_stored_before_it_is_acknowledged(
    agent: Agent, server: ScriptedServer
) -> None:
    order = RunOrder("o1", "noop", datetime.now(UTC) + timedelta(hours=1), ["web"], "somebody asked")
    async with agent.connected(server) as (line, _):
        await line.greet()
        for number, body in enumerate([order, order, {"order": 3}], 1):
            raw = msgspec.Raw(msgspec.json.encode(body))
            await line.say(Record(number, RUN, datetime.now(UTC), raw))
            assert await line.expect(Ack) == Ack(number)
    assert agent.heard.orders == [(RUN, "somebody asked")]
    orders = Orders(agent.store, agent.spool)
    assert (orders.next(), orders.next()) == (order, None)


async def test_release_is_a_hint_that_is_passed_on(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        await line.greet()
        await line.say(Released("d1", 7, 2.5))
        await line.order(1, session.COLLECT)
        await line.expect(Ack)
    assert agent.heard.released == [Released("d1", 7, 2.5)]


async def test_orders_are_stored_then_acknowledged_and_taken_once(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        await line.greet()
        await line.order(1, session.COLLECT, "somebody asked")
        assert await line.expect(Ack) == Ack(1)
        assert agent.store.orders() == {session.COLLECT: "somebody asked"}
        await line.order(1, session.COLLECT, "again")
        assert await line.expect(Ack) == Ack(1)
        await line.order(2, "of the future")
        assert await line.expect(Ack) == Ack(2)
    assert agent.heard.orders == [(session.COLLECT, "somebody asked")]
    assert agent.store.standing().received == 2
    async with agent.connected(server) as (line, _):
        assert (await line.greet()).received == 2


async def test_gap_in_the_servers_records_is_asked_for(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        await line.greet()
        await line.order(2, session.RENEW)
        await line.order(3, session.COLLECT)
        assert await line.expect(Resend) == Resend(0)
        for number, kind in ((1, session.COLLECT), (2, session.RENEW), (3, session.COLLECT)):
            await line.order(number, kind)
            assert await line.expect(Ack) == Ack(number)
    assert [kind for kind, _ in agent.heard.orders] == [session.COLLECT, session.RENEW, session.COLLECT]


async def test_gap_that_stays_is_passed_over(agent: Agent, server: ScriptedServer) -> None:
    """The server's numbers are of the node, and a new store has seen none of them."""
    async with agent.connected(server) as (line, _):
        await line.greet()
        await line.order(8, session.COLLECT)
        assert await line.expect(Resend) == Resend(0)
        await line.order(8, session.COLLECT)
        assert await line.expect(Ack) == Ack(8)


async def test_want_forgets_what_the_server_was_thought_to_have(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        await line.greet(facts_digest="d1")
        agent.put("so that it is welcomed")
        await line.take()
        assert agent.store.standing().facts_digest == "d1"
        await line.say(Want("d1"))
        async with asyncio.timeout(DEADLINE_S):
            await agent.heard.wanted.wait()
        assert agent.store.standing().facts_digest == ""


async def test_facts_that_came_whole_are_known_there(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, _):
        await line.greet()
        for body, known in (
            (b'{"digest":"d1","volatile":{},"stable":{"a":1}}', "d1"),
            (b'{"digest":"d2","volatile":{},"stable":null}', "d1"),
            (b'{"digest":"d3","volatile":{}}', "d1"),
        ):
            agent.spool.put(session.FACTS, body, Importance.ROUTINE, supersedes=True)
            agent.session.has_records.set()
            await agent.acknowledged((await line.take()).number)
            assert agent.store.standing().facts_digest == known


# ends


async def test_refusal_is_told_with_its_words_and_its_time(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.expect(Hello)
        await line.say(Refused("SESSION-001", "web1 is here already", "see who", 40.0))
        ending = await task
    assert ending[:3] == (Verdict.REFUSED, "web1 is here already [SESSION-001]; see who", (40.0, 60.0))


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (session.CLOSE_FENCED, Verdict.FENCED),
        (session.CLOSE_REVOKED, Verdict.REVOKED),
        (session.CLOSE_UNSTORED, Verdict.FAILED),
        (session.CLOSE_RECONNECT, Verdict.MOVED),
        (1011, Verdict.FAILED),
    ],
)
@pytest.mark.parametrize("is_welcomed", [False, True])
async def test_close_code_decides(
    agent: Agent, server: ScriptedServer, code: int, verdict: Verdict, is_welcomed: bool
) -> None:
    async with agent.connected(server) as (line, task):
        await (line.greet() if is_welcomed else line.expect(Hello))
        await line.socket.close(code, "because")
        assert (await task)[:2] == (verdict, "because")


async def test_reconnect_tells_when_to_come_again(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet()
        await line.say(Reconnect("it stops", 2.0, 5.0))
        assert (await task)[:3] == (Verdict.MOVED, "it stops", (2.0, 7.0))
        assert await line.ended() == 1000


async def test_connection_is_cycled_when_its_time_is_over(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet(cycle_s=0.01)
        assert (await task).verdict is Verdict.CYCLED


async def test_connection_is_left_when_we_want_another(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet()
        agent.put("a")
        await line.take()
        agent.session.must_leave.set()
        assert (await task).verdict is Verdict.OURS


async def test_server_that_falls_silent_is_left(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.expect(Hello)
        welcome = Welcome(1, 1, "scripted", 0, 0.2, 3600, 3600)
        await line.say(welcome)
        agent.put("a")
        await line.take()
        # From now on nobody reads: no pong either.
        line.socket.transport.pause_reading()
        ending = await task
    assert (ending.verdict, ending.why) == (Verdict.FAILED, "nothing was heard from it for 0.2 s")


async def test_server_that_never_welcomes_is_left(tmp_path: Path, server: ScriptedServer) -> None:
    context = server.enrol(tmp_path / "node", "web1").context()
    agent = Agent(tmp_path / "node", server.url, context, open_s=0.3)
    assert (await agent.run())[:2] == (Verdict.FAILED, "it did not answer within 0.3 s")
    agent.store.close()


@pytest.mark.parametrize("nonsense", [b"", b"{", b'{"type":"hello"}', b"[" * 10_000, b'"\xff"'])
async def test_server_that_speaks_something_else_is_left(agent: Agent, server: ScriptedServer, nonsense: bytes) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet()
        await line.socket.send(nonsense)
        assert (await task)[:2] == (Verdict.FAILED, "it does not speak our protocol")


async def test_frame_beyond_the_limit_ends_the_connection(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet()
        await line.socket.send(b" " * (session.MAX_FRAME_BYTES + 1))
        assert (await task).verdict is Verdict.FAILED
        assert await line.ended() == 1009


# before there is a session


async def test_nobody_listening_is_unreachable(agent: Agent, server: ScriptedServer) -> None:
    await server.stop()
    assert (await agent.run())[:2] == (Verdict.UNREACHABLE, "Connection refused")


async def test_unknown_name_is_unreachable(agent: Agent) -> None:
    agent.url = "https://nobody.invalid:8140"
    ending = await agent.run()
    assert ending.verdict is Verdict.UNREACHABLE
    assert ending.why.startswith("its name is not found")


async def test_server_of_another_authority_is_not_trusted(tmp_path: Path, agent: Agent, server: ScriptedServer) -> None:
    async with ScriptedServer(tmp_path / "other") as other:
        agent.url = other.url
        assert (await agent.run()).verdict is Verdict.UNTRUSTED


async def test_certificate_that_has_run_out_is_not_taken(tmp_path: Path, server: ScriptedServer) -> None:
    context = server.enrol(tmp_path / "node", "web1", ended=True).context()
    agent = Agent(tmp_path / "node", server.url, context)
    assert (await agent.run())[:2] == (Verdict.FAILED, "it left before it answered")
    agent.store.close()


async def test_something_that_is_no_server_of_ours_is_told(agent: Agent) -> None:
    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 smtp.example.com\r\n")
        writer.close()

    other = await asyncio.start_server(answer, "127.0.0.1", 0)
    agent.url = f"https://127.0.0.1:{other.sockets[0].getsockname()[1]}"
    ending = await agent.run()
    other.close()
    await other.wait_closed()
    assert ending.verdict is Verdict.FAILED
    assert ending.why.startswith("no session could be opened: ")


async def test_server_that_takes_connections_and_is_stuck_is_left(tmp_path: Path, server: ScriptedServer) -> None:
    context = server.enrol(tmp_path / "node", "web1").context()
    with socket.create_server(("127.0.0.1", 0)) as stuck:
        agent = Agent(tmp_path / "node", f"https://127.0.0.1:{stuck.getsockname()[1]}", context, open_s=0.3)
        assert (await agent.run())[:2] == (Verdict.FAILED, "it did not answer within 0.3 s")
        agent.store.close()


async def test_store_that_fails_ends_the_session_and_says_so(agent: Agent, server: ScriptedServer) -> None:
    async with agent.connected(server) as (line, task):
        await line.greet()
        agent.put("a")
        await line.take()
        await agent.acknowledged()
        agent.store.close()
        await line.order(1, session.COLLECT)
        ending = await task
        assert await line.ended() == 1000
    assert ending.verdict is Verdict.LOCAL
    assert "[AGENT-010]" in ending.why
