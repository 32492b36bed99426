"""Many nodes that send facts, in a process of their own: `python -m lab.fact_load requests|sessions|puppetdb PORT NODES [DIRECTORY]`.

Every node of ours has a key, a certificate and a connection of its own, as in a fleet; they are connected before anything is
timed. Each line of standard input is one order (`Order`), answered by one line (`Sent`). Requests are made before the clock
starts, and the client is as thin as it can be: what is measured is the server.
"""

import asyncio
import random
import ssl
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar, cast

import msgspec
import uvloop

from lab.fact_documents import facts_of, name_of
from precast.agent.enrolment import Identity
from precast.base import canonical, digests
from precast.wire.facts import merge

UNDER_WAY = 128
HANDSHAKES = 16
SEED = 20_000


class Order(msgspec.Struct, frozen=True):
    """Send a set of every node, upgraded so often; without stable part if that is known."""

    upgrades: int = 0
    tick: int = 0
    is_whole: bool = True
    # What the server should say to a digest.
    is_known: bool = True
    # How many every node sends, one after the other: each upgraded once more, or a minute later.
    rounds: int = 1

    def each(self) -> Iterator["Order"]:
        for at in range(self.rounds):
            upgrades, tick = (at, 0) if self.is_whole else (0, 60 * at)
            yield Order(self.upgrades + upgrades, self.tick + tick, self.is_whole, self.is_known)


class Sent(msgspec.Struct, frozen=True):
    """What was sent: begin and end on the machine's monotonic clock, our CPU, and how many answers were as they should be."""

    started_s: float
    ended_s: float
    cpu_s: float
    sent: int
    accepted: int
    refused: str = ""


# Is told an answer, or why there is none.
Tell = Callable[[bytes | Exception], None]


class Sender(Protocol):
    """A connection on which one thing is asked after the other."""

    def ask(self, request: bytes, tell: Tell) -> None: ...


class Connection(Protocol):
    """What may have been closed by its other end."""

    @property
    def is_open(self) -> bool: ...


W = TypeVar("W", bound=Connection)


class Senders(Protocol):
    """Who sends: what each says, over which of the connections, and whether the answer is good."""

    @property
    def wires(self) -> Sequence[Sender]: ...

    async def connect(self) -> None: ...

    def requests(self, order: Order) -> Iterator[tuple[int, bytes]]: ...

    def is_good(self, order: Order, answer: bytes) -> bool: ...


class Line:
    """Requests that follow each other. No task and no future for each: the load shares the processors with what it measures."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._tell: Tell | None = None
        self._next: deque[tuple[bytes, Tell]] = deque()

    def ask(self, request: bytes, tell: Tell) -> None:
        if self._tell is not None:
            self._next.append((request, tell))
            return
        self._tell = tell
        self._write(request)

    def answer(self, answer: bytes | Exception) -> None:
        """For who asked first; then it is the next one's turn."""
        tell, self._tell = self._tell, None
        if self._next:
            self.ask(*self._next.popleft())
        if tell is not None:
            tell(answer)


class Wire(asyncio.Protocol):
    """One connection; requests follow each other."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._line = Line(self._write)
        self.ask = self._line.ask

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not one by its type

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        if end and _is_whole(head.lower(), body):
            self._buffer = b""
            self._line.answer(head[9:12] + b" " + body)

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_lost(self, error: Exception | None) -> None:
        self._line.answer(error or ConnectionResetError())

    def _write(self, request: bytes) -> None:
        assert self._transport is not None
        self._transport.write(request)


def _is_whole(head: bytes, body: bytes) -> bool:
    if b"transfer-encoding: chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    _, found, rest = head.partition(b"content-length:")
    return bool(found) and len(body) >= int(rest.partition(b"\r\n")[0])


async def connected(port: int, context: ssl.SSLContext | None = None) -> Wire:
    _, wire = await asyncio.get_running_loop().create_connection(Wire, "127.0.0.1", port, ssl=context)
    return wire


async def reopen(wires: list[W], connect: Callable[[int], Awaitable[W]]) -> None:
    """Connect the nodes that are not: the server closes what is silent."""
    closed = [node for node, wire in enumerate(wires) if not wire.is_open]
    for first in range(0, len(closed), HANDSHAKES):
        some = closed[first : first + HANDSHAKES]
        for node, wire in zip(some, await asyncio.gather(*map(connect, some)), strict=True):
            wires[node] = wire


class Nodes:
    """Nodes of ours: what each says, and whether the answer is good."""

    def __init__(self, port: int, count: int, directory: Path) -> None:
        self._port, self._directory = port, directory
        self.wires = [Wire() for _ in range(count)]

    async def connect(self) -> None:
        await reopen(self.wires, self._connect)

    def requests(self, order: Order) -> Iterator[tuple[int, bytes]]:
        for node in range(len(self.wires)):
            yield node, _post(b"/v1/facts", body_of(node, order))

    def is_good(self, order: Order, answer: bytes) -> bool:
        return answer == (b'200 {"wants_stable":false}' if order.is_known else b'200 {"wants_stable":true}')

    async def _connect(self, node: int) -> Wire:
        context = Identity(self._directory / "nodes" / name_of(node)).context()
        return await connected(self._port, context)


class Commands:
    """The same for PuppetDB: its commands come from its servers, over few connections."""

    def __init__(self, port: int, count: int) -> None:
        self._port, self._count = port, count
        self.wires: list[Wire] = []

    async def connect(self) -> None:
        """Connect anew."""
        self.wires = list(await asyncio.gather(*(connected(self._port) for _ in range(UNDER_WAY))))

    def requests(self, order: Order) -> Iterator[tuple[int, bytes]]:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        for node in range(self._count):
            name = name_of(node)
            body = {
                "certname": name,
                "environment": "production",
                "producer_timestamp": now,
                "producer": "bench",
                "values": merge(*facts_of(node, order.upgrades, order.tick)),
            }
            path = f"/pdb/cmd/v1?command=replace_facts&version=5&certname={name}&producer-timestamp={now}"
            yield node % UNDER_WAY, _post(path.encode(), canonical.encode(body))

    def is_good(self, order: Order, answer: bytes) -> bool:
        return answer.startswith(b"200 ") and b'"uuid"' in answer


def body_of(node: int, order: Order) -> bytes:
    """What an agent says of its facts, over whichever way."""
    stable, volatile = facts_of(node, order.upgrades, order.tick)
    known = canonical.encode(stable)
    body = b'{"digest":"%s","volatile":%s' % (digests.of_bytes(known).encode(), canonical.encode(volatile))
    return body + (b',"stable":' + known if order.is_whole else b"") + b"}"


def _post(path: bytes, body: bytes) -> bytes:
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (path, len(body)) + body


async def send(nodes: Senders, order: Order) -> Sent:
    requests: list[tuple[int, bytes]] = []
    mixed = random.Random(SEED)
    for one in order.each():
        some = list(nodes.requests(one))
        mixed.shuffle(some)
        requests += some
    await nodes.connect()
    places = iter(requests)
    outcome: list[bytes] = []
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def ask_next() -> None:
        if (place := next(places, None)) is not None:
            at, request = place
            nodes.wires[at].ask(request, tell)

    def tell(answer: bytes | Exception) -> None:
        if isinstance(answer, bytes):
            outcome.append(answer)
            ask_next()
            if len(outcome) == len(requests):
                done.set_result(None)
        elif not done.done():
            done.set_exception(answer)

    started_s, cpu_s = time.monotonic(), time.process_time()
    for _ in range(UNDER_WAY):
        ask_next()
    await done
    ended_s, cpu_s = time.monotonic(), time.process_time() - cpu_s
    refused = [answer for answer in outcome if not nodes.is_good(order, answer)]
    first = refused[0].decode(errors="replace")[:300] if refused else ""
    return Sent(started_s, ended_s, cpu_s, len(outcome), len(outcome) - len(refused), first)


def _nodes(target: str, port: int, count: int, directory: Path = Path()) -> Senders:
    from lab.fact_sessions import SessionNodes  # which needs what is here

    if target == "puppetdb":
        return Commands(port, count)
    return SessionNodes(port, count, directory) if target == "sessions" else Nodes(port, count, directory)


async def main() -> None:
    target, port, count, *rest = sys.argv[1:]
    nodes = _nodes(target, int(port), int(count), *map(Path, rest))
    await nodes.connect()
    loop = asyncio.get_running_loop()
    print("connected", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        sent = await send(nodes, msgspec.json.decode(line, type=Order))
        print(msgspec.json.encode(sent).decode(), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
