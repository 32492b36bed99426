"""Thousands of nodes in one process: each opens its session, reconnects and follows orders as an agent does (`lab.light_agent`).

    python -m lab.swarm URL DIRECTORY COUNT [FIRST]

`lab.fleet` has written DIRECTORY; the nodes are COUNT of them, from the number FIRST on. A node that is notified of a release fetches its
catalog over a separate connection, as an agent's child process does. The process prints a JSON line at each change: the numbers of
connected nodes, of handshakes so far, of attempts that found no listener, of nodes that have the catalog of their last notification, and
of orders that were carried out. It ends at the end of its input.
"""

import asyncio
import contextlib
import json
import os
import random
import ssl
import sys
import time
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import uvloop
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from lab import fleet
from lab.light_agent import LightAgent
from lab.session import Store
from precast.agent.connection.backoff import Backoff, EndReason
from precast.agent.connection.session import OPEN_S
from precast.agent.connection.session_socket import ConnectionEnded
from precast.agent.connection.websocket_client import ended_by_close, open_socket
from precast.base import digests
from precast.wire import sessions as session
from precast.wire.sessions import Ack, Message, Reconnect, Record, Refused, Released, Welcome

# How many nodes connect for the first time concurrently; reconnects are not limited.
AT_ONCE = 64


class Swarm:
    """All nodes, and the counters they share."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connected = 0
        self.handshakes = 0
        self.unreachable = 0
        self.failures: dict[str, int] = {}
        self.notified: dict[str, str] = {}
        self.fetched: dict[str, str] = {}
        self.agents: list[LightAgent] = []
        self._fetches: set[asyncio.Task[None]] = set()
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def live(self, agent: LightAgent, context: ssl.SSLContext) -> None:
        """Run one node: connect, stay connected, reconnect, for ever."""
        self.agents.append(agent)
        pauses = Backoff(agent.node, random.Random(agent.node))
        is_first = True
        while True:
            lived_s, ending = 0.0, ConnectionEnded(EndReason.FAILED, "it did not answer in time")
            try:
                async with contextlib.AsyncExitStack() as first:
                    if is_first:
                        await first.enter_async_context(self._gate)
                    async with asyncio.timeout(OPEN_S):
                        socket, welcome = await self._open(agent.store, context)
                pauses.spread_s = welcome.spread_s
                is_first = False
                began_s = time.monotonic()
                try:
                    await self._stay(agent, context, socket, welcome)
                finally:
                    lived_s = time.monotonic() - began_s
            except ConnectionEnded as error:
                ending = error
            except TimeoutError:
                pass
            if ending.reason is EndReason.UNREACHABLE:
                self.unreachable += 1
            elif not lived_s:
                self.failures[ending.why] = self.failures.get(ending.why, 0) + 1
            await asyncio.sleep(pauses.next_delay_s(ending.reason, lived_s, ending.retry_range_s))

    async def _open(self, store: Store, context: ssl.SSLContext) -> tuple[ClientConnection, Welcome]:
        try:
            socket = await open_socket(self.url, context)
        except ConnectionEnded as error:
            self.handshakes += error.reason is not EndReason.UNREACHABLE
            raise
        self.handshakes += 1
        try:
            store.attempts.insert(0, uuid.uuid4().hex)
            await socket.send(session.encode(store.hello()))
            answer = session.decode_from_server(await socket.recv())
        except ConnectionClosed as end:
            raise ended_by_close(end) from end
        if isinstance(answer, Refused):
            raise ConnectionEnded(EndReason.REFUSED, answer.message, (answer.retry_s, 1.5 * answer.retry_s))
        assert isinstance(answer, Welcome), answer
        store.epoch = answer.epoch
        del store.attempts[1:]
        return socket, answer

    @property
    def current(self) -> int:
        """How many nodes have the catalog of their last notification."""
        return sum(self.fetched.get(name) == digest for name, digest in self.notified.items())

    def _begin_fetch(self, name: str, context: ssl.SSLContext, digest: str, spread_s: float) -> None:
        self.notified[name] = digest
        task = asyncio.create_task(self._fetch(name, context, spread_s))
        self._fetches.add(task)
        task.add_done_callback(self._fetches.discard)

    async def _fetch(self, name: str, context: ssl.SSLContext, spread_s: float) -> None:
        await asyncio.sleep(random.uniform(0, spread_s))
        place = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port, ssl=context)
        writer.write(b"GET /v1/catalog HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
        writer.close()
        assert head.startswith(b"HTTP/1.1 200 "), head
        self.fetched[name] = digests.of_bytes(body)

    async def _stay(
        self, agent: LightAgent, context: ssl.SSLContext, socket: ClientConnection, welcome: Welcome
    ) -> None:
        async def send(message: Message) -> None:
            await socket.send(session.encode(message))

        self.connected += 1
        heartbeat = asyncio.create_task(_send_heartbeats(socket, welcome.heartbeat_s))
        try:
            await agent.resume(welcome, send)
            while True:
                match session.decode_from_server(await socket.recv()):
                    case Record() as record:
                        await agent.receive(record, send)
                    case Ack(through):
                        agent.acknowledge(through)
                    case Released(digest, _, spread_s) if digest:
                        self._begin_fetch(agent.node, context, digest, spread_s)
                    case Reconnect(why, after_s, spread_s):
                        raise ConnectionEnded(EndReason.MOVED, why, (after_s, after_s + spread_s))
        except ConnectionClosed as end:
            raise ended_by_close(end) from end
        finally:
            self.connected -= 1
            heartbeat.cancel()


async def _send_heartbeats(socket: ClientConnection, heartbeat_s: float) -> None:
    with contextlib.suppress(ConnectionClosed):
        while True:
            await asyncio.sleep(heartbeat_s)
            await socket.ping()


async def _report(swarm: Swarm) -> None:
    printed = ""
    while True:
        line = json.dumps(
            {
                "connected": swarm.connected,
                "handshakes": swarm.handshakes,
                "unreachable": swarm.unreachable,
                "failures": swarm.failures,
                "fetched": swarm.current,
                "results": sum(agent.results for agent in swarm.agents),
            }
        )
        if line != printed:
            print(line, flush=True)
            printed = line
        await asyncio.sleep(0.2)


async def _main(url: str, directory: Path, count: int, first: int) -> None:
    swarm = Swarm(url)
    names = fleet.names(first + count)[first:]
    contexts = [(LightAgent(directory / name), fleet.context(directory, name)) for name in names]
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(0, lambda: ended.set() if not os.read(0, 1) else None)
    tasks = [asyncio.create_task(swarm.live(agent, context)) for agent, context in contexts]
    tasks.append(asyncio.create_task(_report(swarm)))
    await ended.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    uvloop.run(_main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int((sys.argv[4:] or ["0"])[0])))
