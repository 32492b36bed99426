"""Many nodes that tell of runs, in a process of their own: `python -m lab.report_load precast|puppetdb PORT NODES [DIRECTORY]`.

Every node of ours has a certificate and a session of its own, connected before anything is timed. Each line of standard input is one order,
answered by one line. Frames are made before the clock starts and go to the socket as they are: what is measured is the server.
"""

import asyncio
import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import uvloop

from lab.fact_documents import name_of
from lab.fact_load import UNDER_WAY, Commands, Sent, post, send
from lab.fact_load import Order as FactOrder
from lab.report_documents import puppet_report, run_of
from lab.session import Peer, Store
from precast.agent.identity.enrolment import Identity
from precast.base import canonical
from precast.wire import sessions as session
from precast.wire.sessions import Ack, Reconnect, Record

HANDSHAKES = 16
SEED = 20_001


class Order(msgspec.Struct, frozen=True):
    """Every node tells of so many runs, one after the other, in which so much changed; all nodes at once if `under_way` is 0."""

    first: int = 0
    rounds: int = 1
    changed: int = 10
    resources: int = 460
    under_way: int = UNDER_WAY


class Nodes:
    """Nodes of ours, each with its session."""

    def __init__(self, port: int, count: int, directory: Path) -> None:
        self._url, self._directory = f"https://127.0.0.1:{port}", directory
        self._peers: list[Peer] = []
        self._count = count
        self._window_bytes = 0

    async def connect(self) -> None:
        for first in range(0, self._count, HANDSHAKES):
            some = range(first, min(first + HANDSHAKES, self._count))
            self._peers += await asyncio.gather(*map(self._connect, some))

    async def _connect(self, node: int) -> Peer:
        peer = Peer(self._url, Identity(self._directory / "nodes" / name_of(node)).context(), Store())
        await peer.__aenter__()
        self._window_bytes = (await peer.greet()).window_bytes
        return peer

    async def send(self, order: Order) -> Sent:
        work = [(peer, self._frames(node, order)) for node, peer in enumerate(self._peers)]
        random.Random(SEED).shuffle(work)
        queue = iter(work)
        runs = 0

        async def keep_on() -> None:
            nonlocal runs
            for peer, frames in queue:
                for last, parts in frames:
                    await self._tell(peer, last, parts)
                    runs += 1

        started_s, cpu_s = time.monotonic(), time.process_time()
        await asyncio.gather(*(keep_on() for _ in range(order.under_way or len(work))))
        ended_s = time.monotonic()
        return Sent(started_s, ended_s, time.process_time() - cpu_s, runs, runs)

    async def _tell(self, peer: Peer, last: int, parts: list[bytes]) -> None:
        """Send as an agent does: what is not acknowledged fits into the window."""
        sent = first = last - len(parts)
        acked, in_flight = first, 0
        while acked < last:
            while sent < last and (not in_flight or in_flight + len(parts[sent - first]) <= self._window_bytes):
                peer.socket.transport.write(parts[sent - first])
                in_flight += len(parts[sent - first])
                sent += 1
            through = await self._acknowledged(peer)
            in_flight -= sum(len(parts[at - first]) for at in range(acked, through))
            acked = through

    async def _acknowledged(self, peer: Peer) -> int:
        """The next number through which everything is stored."""
        while isinstance(came := await peer.receive(), Reconnect):
            pass  # a node goes when it has told what it has
        assert isinstance(came, Ack), came
        return came.through

    def _frames(self, node: int, order: Order) -> list[tuple[int, list[bytes]]]:
        peer, runs = self._peers[node], []
        for round_ in range(order.first, order.first + order.rounds):
            parts = []
            for kind, body in run_of(node, round_, order.changed, order.resources):
                peer.store.last += 1
                parts.append(
                    _frame(session.encode(Record(peer.store.last, kind, datetime.now(UTC), msgspec.Raw(body))))
                )
            runs.append((peer.store.last, parts))
        return runs


class ReportCommands(Commands):
    """PuppetDB's commands come from its servers, over few connections."""

    def __init__(self, port: int, count: int) -> None:
        super().__init__(port, count)
        self._round = 0

    def requests(self, order: FactOrder) -> Iterator[tuple[int, bytes]]:
        self._round += 1
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        for node in range(self._count):
            body = canonical.encode(puppet_report(node, self._round))
            path = f"/pdb/cmd/v1?command=store_report&version=8&certname={name_of(node)}&producer-timestamp={now}"
            yield node % UNDER_WAY, post(path.encode(), body)


def _frame(payload: bytes) -> bytes:
    """A text frame whose mask changes nothing."""
    size = len(payload)
    length = (
        bytes([0x80 | size])
        if size < 126
        else b"\xfe" + size.to_bytes(2)
        if size < 65536
        else b"\xff" + size.to_bytes(8)
    )
    return b"\x81" + length + b"\0\0\0\0" + payload


async def main() -> None:
    target, port, count, *rest = sys.argv[1:]
    loop = asyncio.get_running_loop()
    ours = Nodes(int(port), int(count), Path(rest[0])) if target == "precast" else None
    theirs = None if ours is not None else ReportCommands(int(port), int(count))
    if ours is not None:
        await ours.connect()
    print("connected", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = msgspec.json.decode(line, type=Order)
        if ours is not None:
            sent = await ours.send(order)
        else:
            assert theirs is not None
            sent = send(theirs, FactOrder())
        print(msgspec.json.encode(sent).decode(), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
