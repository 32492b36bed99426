"""Sessions with a real server over real TLS, message by message: epochs, replay, fencing, copies, revocation, draining."""

import asyncio
import base64
import contextlib
import json
import ssl
import uuid
import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from lab.session import Peer, Store
from lab.site import Site
from precast.agent.identity.enrolment import Identity
from precast.api.sessions.endpoint import MAX_SOCKETS
from precast.base import canonical, digests
from precast.wire import sessions as session
from precast.wire.sessions import Ack, FactsWanted, FromNode, Hello, Reconnect, Record, Refused, Resend, Welcome

pytestmark = pytest.mark.timeout(180)
CLOSE_TOO_BIG = 1009  # of the websocket protocol


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site") / "data") as running:
        yield running


def facts_of(stable: dict[str, Any], *, is_whole: bool = True) -> dict[str, Any]:
    body = {"digest": digests.of_bytes(canonical.encode(stable)), "volatile": {"uptime": 1}}
    return {**body, "stable": stable} if is_whole else body


def peer(site: Site, context: ssl.SSLContext, store: Store | None = None) -> Peer:
    return Peer(site.url, context, store or Store())


async def test_records_are_acknowledged_and_stored_once(site: Site) -> None:
    context = site.enrol("twice1").context()
    store = Store()
    async with peer(site, context, store) as node:
        welcome = await node.greet()
        assert (welcome.epoch, welcome.received, welcome.facts_digest) == (1, 0, "")
        await node.acknowledged(await node.send(session.FACTS, facts_of({"tier": "one"})))
        first = store.records[0]
        await node.send_message(first)
        assert await node.expect(Ack) == Ack(1)
    async with peer(site, context, store) as node:
        welcome = await node.greet()
        assert (welcome.epoch, welcome.received) == (2, 1)
        assert welcome.facts_digest == facts_of({"tier": "one"})["digest"]


async def test_gap_in_the_records_is_requested_again(site: Site) -> None:
    async with peer(site, site.enrol("gap1").context()) as node:
        await node.greet()
        await node.acknowledged(await node.send(session.FACTS, facts_of({"n": 1})))
        third = Record(3, session.FACTS, node.store.records[0].at, node.store.records[0].body)
        await node.send_message(third)
        assert await node.expect(Ack) == Ack(1)
        assert await node.expect(Resend) == Resend(1)


async def test_facts_with_an_unknown_digest_are_requested(site: Site) -> None:
    async with peer(site, site.enrol("want1").context()) as node:
        await node.greet()
        body = facts_of({"tier": "two"}, is_whole=False)
        number = await node.send(session.FACTS, body)
        assert await node.expect(Ack) == Ack(number)
        assert await node.expect(FactsWanted) == FactsWanted(body["digest"])
        await node.acknowledged(await node.send(session.FACTS, facts_of({"tier": "two"})))


async def test_invalid_record_does_not_stop_the_stream(site: Site) -> None:
    async with peer(site, site.enrol("poison1").context()) as node:
        await node.greet()
        await node.send("weather", {"sun": True})
        await node.send(session.FACTS, {"digest": 1})
        wrong = facts_of({"a": 1}) | {"digest": "0" * 64}
        await node.send(session.FACTS, wrong)
        await node.acknowledged(await node.send(session.FACTS, facts_of({"a": 1})))
    assert site.session_of("poison1")["lost"] == 3


async def test_compressed_volatile_part_is_found_by_queries_unless_it_is_invalid(site: Site) -> None:
    stable = {"os": {"name": "Plan9"}}
    volatile = canonical.encode({"uptime": 7, "mountpoints": {f"/srv/volume{number}": number for number in range(100)}})
    streams = {"packed1": zlib.compress(volatile), "packed2": zlib.compress(b"[]," * 100_000), "packed3": b"\xff{}"}
    for name, stream in streams.items():
        async with peer(site, site.enrol(name).context()) as node:
            await node.greet()
            packed = {"volatile": {}, "packed_volatile": base64.b64encode(stream).decode()}
            await node.acknowledged(await node.send(session.FACTS, facts_of(stable) | packed))
            await node.acknowledged(await node.send(session.FACTS, facts_of(stable, is_whole=False) | packed))
    facts = {name: site.run("facts", "show", name)["facts"] for name in streams}
    assert facts == {"packed1": stable | json.loads(volatile), "packed2": stable, "packed3": stable}
    matching = {query: site.run("node", "list", query) for query in ("facts.os.name = 'Plan9'", "facts.uptime = 7")}
    assert [[row["name"] for row in rows] for rows in matching.values()] == [list(streams), ["packed1"]]


async def test_second_connection_closes_the_first(site: Site) -> None:
    context, store = site.enrol("fence1").context(), Store()
    async with peer(site, context, store) as first:
        assert (await first.greet()).epoch == 1
        async with peer(site, context, store) as second:
            assert (await second.greet()).epoch == 2
            assert await first.closed() == session.CLOSE_FENCED
            await second.acknowledged(await second.send(session.FACTS, facts_of({"a": 1})))


async def test_copy_holds_the_node_until_an_operator_chooses(site: Site) -> None:
    context, store = site.enrol("copied1").context(), Store()
    async with peer(site, context, store) as original:
        await original.greet()
        copied = store.copy()
    async with peer(site, context, store) as original:
        await original.greet()
        async with peer(site, context, copied) as copy:
            assert await refusal(copy) == "SESSION-008"
            assert await copy.closed() == session.CLOSE_REFUSED
        # The connection that is open ends, too.
        assert await original.closed() == session.CLOSE_FENCED
    async with peer(site, context, store) as original:
        assert await refusal(original) == "SESSION-008"
    assert site.session_of("copied1")["held_at"] is not None
    first, second = (await asyncio.to_thread(site.run, "node", "show", "copied1"))["machines"]
    await asyncio.to_thread(site.run, "node", "choose-machine", "copied1", first["machine"])
    async with peer(site, context, copied) as copy:
        assert await refusal(copy) == "SESSION-001"
    async with peer(site, context, store) as original:
        await original.greet()
        await original.acknowledged(await original.send(session.FACTS, facts_of({"a": 1})))
    presence = site.session_of("copied1")
    assert presence["held_at"] is None
    actions = [row["action"] for row in site.run("audit") if row["target"] == "copied1"]
    assert (actions.count("session.hold"), actions.count("node.choose-machine")) == (1, 1)
    assert [machine["machine"] for machine in site.run("node", "show", "copied1")["machines"]] == [second["machine"]]


async def refusal(node: Peer) -> str:
    """Say hello, and return the code by which the server refuses it."""
    node.store.attempts.insert(0, uuid.uuid4().hex)
    await node.send_message(node.store.hello())
    return (await node.expect(Refused)).code


async def test_new_store_starts_a_new_stream(site: Site) -> None:
    context = site.enrol("anew1").context()
    async with peer(site, context) as node:
        await node.greet()
        await node.acknowledged(await node.send(session.FACTS, facts_of({"a": 1})))
    await _wait_until(site, "anew1", lambda presence: presence["server"] is None)
    async with peer(site, context, Store()) as node:
        assert (await node.greet()).received == 0
        await node.acknowledged(await node.send(session.FACTS, facts_of({"a": 2})))
    assert site.session_of("anew1")["held_at"] is None


async def test_revocation_closes_the_connection(site: Site) -> None:
    context = site.enrol("stolen1").context()
    async with peer(site, context) as node:
        await node.greet()
        await asyncio.to_thread(site.run, "ca", "revoke", "stolen1")
        assert await node.closed() == session.CLOSE_REVOKED
    with pytest.raises(InvalidStatus) as refused:
        async with peer(site, context):
            pass
    assert refused.value.response.status_code == 401


@pytest.mark.parametrize("operation", [["deactivate"], ["purge", "--force"]])
async def test_deactivated_or_purged_node_is_disconnected_and_refused(site: Site, operation: list[str]) -> None:
    name = f"out-{operation[0]}1"
    context = site.enrol(name).context()
    async with peer(site, context) as node:
        await node.greet()
        await asyncio.to_thread(site.run, "node", *operation, name)
        assert await node.closed() == session.CLOSE_REVOKED
    with pytest.raises(InvalidStatus) as refused:
        async with peer(site, context):
            pass
    assert refused.value.response.status_code == 401


async def test_presence_shows_the_server_or_the_time_of_disconnection(site: Site) -> None:
    context = site.enrol("seen1").context()
    async with peer(site, context) as node:
        await node.greet()
        connected = await asyncio.to_thread(site.session_of, "seen1")
        assert connected["server"].endswith(f":{site.port}")
        assert connected["away_since"] is None
    offline = await _wait_until(site, "seen1", lambda presence: presence["server"] is None)
    assert offline["away_since"] is not None


async def test_order_reaches_the_node_and_is_repeated_until_confirmed(site: Site) -> None:
    context, store = site.enrol("order1").context(), Store()
    async with peer(site, context, store) as node:
        await node.greet()
        await asyncio.to_thread(site.run, "facts", "collect", "order1")
        order = await node.expect(Record)
        assert (order.number, order.kind) == (1, session.COLLECT)
    async with peer(site, context, store) as node:
        await node.greet()
        assert (await node.expect(Record)).number == 1
        store.received = 1
        await node.send_message(Ack(1))
        await asyncio.to_thread(site.run, "facts", "collect", "order1")
        assert (await node.expect(Record)).number == 2


async def test_order_for_an_offline_node_is_delivered_when_it_connects(site: Site) -> None:
    context = site.enrol("order2").context()
    await asyncio.to_thread(site.run, "facts", "collect", "order2")
    async with peer(site, context) as node:
        await node.greet()
        assert (await node.expect(Record)).kind == session.COLLECT


async def test_order_for_a_node_whose_lost_connection_is_replaced_comes_after_the_welcome(site: Site) -> None:
    context, store = site.enrol("order3").context(), Store()
    async with peer(site, context, store) as lost, peer(site, context, store) as node:
        await lost.greet()
        # The server reads it slowly, so it waits for an answer when it closes the connection, and gets none.
        for _ in range(100):
            await lost.send_message(Resend(0))
        lost.socket.transport.pause_reading()
        store.attempts.insert(0, "next")
        await node.send_message(store.hello())
        await _wait_until(site, "order3", lambda presence: presence["epoch"] == 2)
        await asyncio.to_thread(site.run, "facts", "collect", "order3")
        assert (await node.expect(Welcome)).epoch == 2
        assert (await node.expect(Record)).kind == session.COLLECT
        lost.socket.transport.abort()


@pytest.mark.parametrize(
    "opening", [b"", b"hello", b'{"type":"ack","through":1}', b"\xff\xff", b'{"type":"hello"}', b"[" * 100_000]
)
async def test_anything_but_hello_ends_the_connection(site: Site, opening: bytes) -> None:
    context = _known(site, "rude1")
    async with peer(site, context) as node:
        await node.socket.send(opening)
        assert await node.closed() == session.CLOSE_PROTOCOL


async def test_invalid_frame_ends_the_connection(site: Site) -> None:
    for frame in (b"{}", b"\xff", session.encode(Hello([1], "i", ["a"], "b", "0"))):
        async with peer(site, _known(site, "rude2")) as node:
            await node.greet()
            await node.socket.send(frame)
            assert await node.closed() == session.CLOSE_PROTOCOL


async def test_ping_before_hello_ends_the_connection(site: Site) -> None:
    async with peer(site, _known(site, "rude3")) as node:
        await node.socket.ping()
        assert await node.closed() == session.CLOSE_PROTOCOL


async def test_message_in_fragments_is_limited_as_a_whole(site: Site) -> None:
    async def fragments() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * (session.MAX_FRAME_BYTES // 10)

    async with peer(site, _known(site, "rude4")) as node:
        await node.greet()
        with contextlib.suppress(ConnectionClosed):
            await node.socket.send(fragments())
        assert await node.closed() == CLOSE_TOO_BIG


async def test_compression_of_frames_is_not_negotiated(site: Site) -> None:
    """A compressed frame could be a thousand times as large as what was sent."""
    address = site.url.replace("https://", "wss://") + session.PATH
    async with connect(address, ssl=_known(site, "rude5"), compression="deflate") as socket:
        assert socket.protocol.extensions == []
        assert socket.response is not None
        assert "Sec-WebSocket-Extensions" not in socket.response.headers


async def test_node_has_few_connections_at_a_time(site: Site) -> None:
    context = _known(site, "many1")
    async with contextlib.AsyncExitStack() as open_connections:
        for _ in range(MAX_SOCKETS):
            await open_connections.enter_async_context(peer(site, context))
        with pytest.raises(InvalidStatus) as refused:
            await open_connections.enter_async_context(peer(site, context))
        assert refused.value.response.status_code == 503
        assert b"SESSION-004" in (refused.value.response.body or b"")


async def test_flood_of_pings_and_resends_is_slowed_down_and_records_are_stored(site: Site) -> None:
    async with peer(site, _known(site, "rude6")) as node:
        await node.greet()
        for _ in range(1000):
            await node.socket.ping()
        for _ in range(10):
            await node.send_message(Resend(0))
        await node.acknowledged(await node.send(session.FACTS, facts_of({"n": 1})))


async def test_unknown_protocol_version_is_refused(site: Site) -> None:
    async with peer(site, _known(site, "future1")) as node:
        await node.send_message(Hello([7, 8], "i", ["a"], "b", "9.9"))
        refused = await node.expect(Refused)
        assert refused.code == "SESSION-002"
        assert "7, 8" in refused.message


async def test_every_message_needs_a_node(site: Site) -> None:
    """No message can be sent without a certificate."""
    authority = Path(site.environment["PRECAST_CA"]).read_text()
    anonymous = ssl.create_default_context(cadata=authority)
    for message in msgspec.inspect.type_info(FromNode).types:  # type: ignore[attr-defined] # a union
        with pytest.raises(InvalidStatus) as refused:
            async with Peer(site.url, anonymous, Store()) as node:
                await node.socket.send(json.dumps({"type": message.tag}))
        assert refused.value.response.status_code == 401


async def test_stopping_server_asks_its_nodes_to_reconnect(tmp_path: Path) -> None:
    with Site(tmp_path / "data") as other:
        context = other.enrol("drain1").context()
        async with Peer(other.url, context, Store()) as node:
            await node.greet()
            stopping = asyncio.create_task(asyncio.to_thread(other.stop))
            assert "stopping" in (await node.expect(Reconnect)).why
            assert await node.closed() == session.CLOSE_RECONNECT
            await stopping


def _known(site: Site, name: str) -> ssl.SSLContext:
    identity = Identity(site.directory / "nodes" / name)
    return identity.context() if identity.certificate.exists() else site.enrol(name).context()


async def _wait_until(site: Site, node: str, is_reached: Any) -> dict[str, Any]:
    """The node's presence once a condition holds; the server notices the end of a connection a little later than the node."""
    async with asyncio.timeout(30):
        while not is_reached(presence := await asyncio.to_thread(site.session_of, node)):
            pass
    return dict(presence)
