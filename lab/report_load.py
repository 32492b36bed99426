"""A process with many nodes that report runs: `python -m lab.report_load precast|puppetdb PORT NODES [DIRECTORY]`.

Every node of Precast has its own certificate and session, connected before the clock starts. Each line of standard input is a batch, and
the process answers it with one line. Frames are built before the clock starts, because the benchmark measures the server.
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
from lab.fact_load import UNDER_WAY, FactBatch, PuppetDbSenders, SendResult, post, send
from lab.report_documents import puppet_report, run_of
from lab.session import Peer, Store
from precast.agent.identity.enrolment import Identity
from precast.base import canonical
from precast.wire import sessions as session
from precast.wire.sessions import Ack, Reconnect, Record

HANDSHAKES = 16
SEED = 20_001


class ReportBatch(msgspec.Struct, frozen=True):
    """A number of runs that every node reports in sequence, each with `changed` events; all nodes at once if `under_way` is 0."""

    first: int = 0
    rounds: int = 1
    changed: int = 10
    resources: int = 460
    under_way: int = UNDER_WAY


class ReportNodes:
    """Nodes of Precast, each with its session."""

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

    async def send(self, batch: ReportBatch) -> SendResult:
        work = [(peer, self._frames(node, batch)) for node, peer in enumerate(self._peers)]
        random.Random(SEED).shuffle(work)
        queue = iter(work)
        runs = 0

        async def send_runs() -> None:
            nonlocal runs
            for peer, frames in queue:
                for last, parts in frames:
                    await self._send_run(peer, last, parts)
                    runs += 1

        started_s, cpu_s = time.monotonic(), time.process_time()
        await asyncio.gather(*(send_runs() for _ in range(batch.under_way or len(work))))
        ended_s = time.monotonic()
        return SendResult(started_s, ended_s, time.process_time() - cpu_s, runs, runs)

    async def _send_run(self, peer: Peer, last: int, parts: list[bytes]) -> None:
        """Send the records of a run as an agent does: unacknowledged records fit into the send window."""
        sent = first = last - len(parts)
        acked, in_flight = first, 0
        while acked < last:
            while sent < last and (not in_flight or in_flight + len(parts[sent - first]) <= self._window_bytes):
                peer.socket.transport.write(parts[sent - first])
                in_flight += len(parts[sent - first])
                sent += 1
            through = await self._receive_ack(peer)
            in_flight -= sum(len(parts[at - first]) for at in range(acked, through))
            acked = through

    async def _receive_ack(self, peer: Peer) -> int:
        """The number through which the server has stored all records, from its next acknowledgement."""
        while isinstance(message := await peer.receive(), Reconnect):
            pass  # the node stays connected until it has sent its records
        assert isinstance(message, Ack), message
        return message.through

    def _frames(self, node: int, batch: ReportBatch) -> list[tuple[int, list[bytes]]]:
        peer, runs = self._peers[node], []
        for round_ in range(batch.first, batch.first + batch.rounds):
            parts = []
            for kind, body in run_of(node, round_, batch.changed, batch.resources):
                peer.store.last += 1
                parts.append(
                    _frame(session.encode(Record(peer.store.last, kind, datetime.now(UTC), msgspec.Raw(body))))
                )
            runs.append((peer.store.last, parts))
        return runs


class PuppetDbReportSenders(PuppetDbSenders):
    """Senders of PuppetDB's command `store report`, over few connections."""

    def __init__(self, port: int, count: int) -> None:
        super().__init__(port, count)
        self._round = 0

    def requests(self, batch: FactBatch) -> Iterator[tuple[int, bytes]]:
        self._round += 1
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        for node in range(self._count):
            body = canonical.encode(puppet_report(node, self._round))
            path = f"/pdb/cmd/v1?command=store_report&version=8&certname={name_of(node)}&producer-timestamp={now}"
            yield node % UNDER_WAY, post(path.encode(), body)


def _frame(payload: bytes) -> bytes:
    """A text frame with a mask of zeros, which leaves the payload unchanged."""
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
    ours = ReportNodes(int(port), int(count), Path(rest[0])) if target == "precast" else None
    theirs = None if ours is not None else PuppetDbReportSenders(int(port), int(count))
    if ours is not None:
        await ours.connect()
    print("connected", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        batch = msgspec.json.decode(line, type=ReportBatch)
        if ours is not None:
            sent = await ours.send(batch)
        else:
            assert theirs is not None
            sent = send(theirs, FactBatch())
        print(msgspec.json.encode(sent).decode(), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
