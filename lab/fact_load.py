"""A process with many nodes that send facts: `python -m lab.fact_load requests|sessions|puppetdb PORT NODES [DIRECTORY]`.

Every node of Precast has its own key, certificate and connection, as in a fleet; all are connected before the clock starts. Each line
of standard input is a batch (`FactBatch`). The process answers it with two lines: one when all responses have arrived, and a
`SendResult` after it has checked them. Requests are built before the clock starts and sent with little overhead (`load_connections`),
because the benchmark measures the server. For sessions, TLS also encrypts before the clock starts and decrypts after it has stopped
(`fact_sessions`).
"""

import random
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from lab.fact_documents import facts_of, name_of
from lab.load_connections import HttpConnection, LoadConnection, converse, reopen
from precast.agent.identity.enrolment import Identity
from precast.base import canonical, digests
from precast.wire.facts import merge

UNDER_WAY = 128
ALL_ANSWERED = "all is answered"
SEED = 20_000


class FactBatch(msgspec.Struct, frozen=True):
    """One fact set of every node after a number of upgrades; without the stable part unless `is_whole`."""

    upgrades: int = 0
    tick: int = 0
    is_whole: bool = True
    # Whether the server is expected to know the digest.
    is_known: bool = True
    # How many sets every node sends in sequence: each with one more upgrade, or a minute later.
    rounds: int = 1

    def each(self) -> Iterator["FactBatch"]:
        for at in range(self.rounds):
            upgrades, tick = (at, 0) if self.is_whole else (0, 60 * at)
            yield FactBatch(self.upgrades + upgrades, self.tick + tick, self.is_whole, self.is_known)


class SendResult(msgspec.Struct, frozen=True):
    """Start and end on the monotonic clock, CPU time of this process, and the numbers of sets sent and accepted."""

    started_s: float
    ended_s: float
    cpu_s: float
    sent: int
    accepted: int
    refused: str = ""


class Senders(ABC):
    """A group of senders: builds requests, assigns each to one of the connections, and checks the responses."""

    lines: Sequence[LoadConnection]

    @abstractmethod
    def connect(self) -> None: ...

    @abstractmethod
    def requests(self, batch: FactBatch) -> Iterator[tuple[int, bytes]]: ...

    def seal(self, requests: Sequence[tuple[int, bytes]]) -> Sequence[tuple[int, bytes]]:
        """Encrypt requests for the open connections in advance, where that is possible."""
        return requests

    def open(self, answers: Sequence[bytes]) -> Sequence[bytes]:
        """Decrypt the responses that arrived."""
        return answers

    @abstractmethod
    def is_good(self, batch: FactBatch, answer: bytes) -> bool: ...


class RequestSenders(Senders):
    """Nodes of Precast that send facts in HTTPS requests."""

    def __init__(self, port: int, count: int, directory: Path) -> None:
        self._port, self._count, self._directory = port, count, directory
        self.lines: list[HttpConnection] = []

    def connect(self) -> None:
        reopen(self.lines, self._connect, self._count)

    def requests(self, batch: FactBatch) -> Iterator[tuple[int, bytes]]:
        for node in range(self._count):
            yield node, post(b"/v1/facts", body_of(node, batch))

    def is_good(self, batch: FactBatch, answer: bytes) -> bool:
        return answer == (b'200 {"wants_stable":false}' if batch.is_known else b'200 {"wants_stable":true}')

    def _connect(self, node: int) -> HttpConnection:
        return HttpConnection(self._port, Identity(self._directory / "nodes" / name_of(node)).context())


class PuppetDbSenders(Senders):
    """Senders of PuppetDB's commands. They use few connections, because servers send these commands, not nodes."""

    def __init__(self, port: int, count: int) -> None:
        self._port, self._count = port, count
        self.lines: list[HttpConnection] = []

    def connect(self) -> None:
        """Reconnect: PuppetDB closes idle connections, possibly just now."""
        for connection in self.lines:
            connection.socket.close()
        self.lines.clear()
        reopen(self.lines, lambda _: HttpConnection(self._port), UNDER_WAY)

    def requests(self, batch: FactBatch) -> Iterator[tuple[int, bytes]]:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        for node in range(self._count):
            name = name_of(node)
            body = {
                "certname": name,
                "environment": "production",
                "producer_timestamp": now,
                "producer": "bench",
                "values": merge(*facts_of(node, batch.upgrades, batch.tick)),
            }
            path = f"/pdb/cmd/v1?command=replace_facts&version=5&certname={name}&producer-timestamp={now}"
            yield node % UNDER_WAY, post(path.encode(), canonical.encode(body))

    def is_good(self, batch: FactBatch, answer: bytes) -> bool:
        return answer.startswith(b"200 ") and b'"uuid"' in answer


def body_of(node: int, batch: FactBatch) -> bytes:
    """The body of a fact upload, the same for requests and sessions."""
    stable, volatile = facts_of(node, batch.upgrades, batch.tick)
    known = canonical.encode(stable)
    body = b'{"digest":"%s","volatile":%s' % (digests.of_bytes(known).encode(), canonical.encode(volatile))
    return body + (b',"stable":' + known if batch.is_whole else b"") + b"}"


def post(path: bytes, body: bytes) -> bytes:
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (path, len(body)) + body


def send(nodes: Senders, batch: FactBatch, notify: Callable[[], None] = lambda: None) -> SendResult:
    """Send a batch, call `notify` when all responses have arrived, and then check the responses."""
    requests: list[tuple[int, bytes]] = []
    mixed = random.Random(SEED)
    for single_batch in batch.each():
        shuffled = list(nodes.requests(single_batch))
        mixed.shuffle(shuffled)
        requests += shuffled
    nodes.connect()
    sealed = nodes.seal(requests)
    started_s, cpu_s = time.monotonic(), time.process_time()
    received = converse(nodes.lines, sealed, len(nodes.lines))
    ended_s, cpu_s = time.monotonic(), time.process_time() - cpu_s
    notify()
    answers = nodes.open(received)
    assert len(answers) == len(received), f"{len(answers)} answers where there should be {len(received)}"
    refused = [answer for answer in answers if not nodes.is_good(batch, answer)]
    first = refused[0].decode(errors="replace")[:300] if refused else ""
    return SendResult(started_s, ended_s, cpu_s, len(answers), len(answers) - len(refused), first)


def _nodes(target: str, port: int, count: int, directory: Path = Path()) -> Senders:
    from lab.fact_sessions import SessionSenders  # that module imports this one

    if target == "puppetdb":
        return PuppetDbSenders(port, count)
    return SessionSenders(port, count, directory) if target == "sessions" else RequestSenders(port, count, directory)


def main() -> None:
    target, port, count, *rest = sys.argv[1:]
    nodes = _nodes(target, int(port), int(count), *map(Path, rest))
    nodes.connect()
    print("connected", flush=True)
    for line in sys.stdin:
        sent = send(nodes, msgspec.json.decode(line, type=FactBatch), lambda: print(ALL_ANSWERED, flush=True))
        print(msgspec.json.encode(sent).decode(), flush=True)


if __name__ == "__main__":
    main()
