"""Many nodes that send facts, in a process of their own: `python -m lab.fact_load requests|sessions|puppetdb PORT NODES [DIRECTORY]`.

Every node of ours has a key, a certificate and a connection of its own, as in a fleet; they are connected before anything is
timed. Each line of standard input is one order (`Order`), answered by two: that all is answered, and after a look at that, `Sent`.
Requests are made before the clock starts, and are sent as thinly as it can be (`lines`): what is measured is the server. Of sessions
also the sealing of TLS is done before that, and the opening when all has come (`fact_sessions`).
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
from lab.lines import HttpLine, Line, converse, reopen
from precast.agent.identity.enrolment import Identity
from precast.base import canonical, digests
from precast.wire.facts import merge

UNDER_WAY = 128
ALL_ANSWERED = "all is answered"
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


class Senders(ABC):
    """Who sends: what each says, over which of the lines, and whether the answer is good."""

    lines: Sequence[Line]

    @abstractmethod
    def connect(self) -> None: ...

    @abstractmethod
    def requests(self, order: Order) -> Iterator[tuple[int, bytes]]: ...

    def seal(self, requests: Sequence[tuple[int, bytes]]) -> Sequence[tuple[int, bytes]]:
        """Requests as they are sent over the lines, which are connected."""
        return requests

    def open(self, answers: Sequence[bytes]) -> Sequence[bytes]:
        """Answers as they are read, each of these."""
        return answers

    @abstractmethod
    def is_good(self, order: Order, answer: bytes) -> bool: ...


class Nodes(Senders):
    """Nodes of ours: what each says, and whether the answer is good."""

    def __init__(self, port: int, count: int, directory: Path) -> None:
        self._port, self._count, self._directory = port, count, directory
        self.lines: list[HttpLine] = []

    def connect(self) -> None:
        reopen(self.lines, self._connect, self._count)

    def requests(self, order: Order) -> Iterator[tuple[int, bytes]]:
        for node in range(self._count):
            yield node, post(b"/v1/facts", body_of(node, order))

    def is_good(self, order: Order, answer: bytes) -> bool:
        return answer == (b'200 {"wants_stable":false}' if order.is_known else b'200 {"wants_stable":true}')

    def _connect(self, node: int) -> HttpLine:
        return HttpLine(self._port, Identity(self._directory / "nodes" / name_of(node)).context())


class Commands(Senders):
    """The same for PuppetDB: its commands come from its servers, over few connections."""

    def __init__(self, port: int, count: int) -> None:
        self._port, self._count = port, count
        self.lines: list[HttpLine] = []

    def connect(self) -> None:
        """Connect anew: it closes what was silent for a while, and that may be now."""
        for line in self.lines:
            line.socket.close()
        self.lines.clear()
        reopen(self.lines, lambda _: HttpLine(self._port), UNDER_WAY)

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
            yield node % UNDER_WAY, post(path.encode(), canonical.encode(body))

    def is_good(self, order: Order, answer: bytes) -> bool:
        return answer.startswith(b"200 ") and b'"uuid"' in answer


def body_of(node: int, order: Order) -> bytes:
    """What an agent says of its facts, over whichever way."""
    stable, volatile = facts_of(node, order.upgrades, order.tick)
    known = canonical.encode(stable)
    body = b'{"digest":"%s","volatile":%s' % (digests.of_bytes(known).encode(), canonical.encode(volatile))
    return body + (b',"stable":' + known if order.is_whole else b"") + b"}"


def post(path: bytes, body: bytes) -> bytes:
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (path, len(body)) + body


def send(nodes: Senders, order: Order, tell: Callable[[], None] = lambda: None) -> Sent:
    """Send, and tell when all is answered; then look at that."""
    requests: list[tuple[int, bytes]] = []
    mixed = random.Random(SEED)
    for one in order.each():
        some = list(nodes.requests(one))
        mixed.shuffle(some)
        requests += some
    nodes.connect()
    sealed = nodes.seal(requests)
    started_s, cpu_s = time.monotonic(), time.process_time()
    came = converse(nodes.lines, sealed, len(nodes.lines))
    ended_s, cpu_s = time.monotonic(), time.process_time() - cpu_s
    tell()
    answers = nodes.open(came)
    assert len(answers) == len(came), f"{len(answers)} answers where there should be {len(came)}"
    refused = [answer for answer in answers if not nodes.is_good(order, answer)]
    first = refused[0].decode(errors="replace")[:300] if refused else ""
    return Sent(started_s, ended_s, cpu_s, len(answers), len(answers) - len(refused), first)


def _nodes(target: str, port: int, count: int, directory: Path = Path()) -> Senders:
    from lab.fact_sessions import SessionNodes  # which needs what is here

    if target == "puppetdb":
        return Commands(port, count)
    return SessionNodes(port, count, directory) if target == "sessions" else Nodes(port, count, directory)


def main() -> None:
    target, port, count, *rest = sys.argv[1:]
    nodes = _nodes(target, int(port), int(count), *map(Path, rest))
    nodes.connect()
    print("connected", flush=True)
    for line in sys.stdin:
        sent = send(nodes, msgspec.json.decode(line, type=Order), lambda: print(ALL_ANSWERED, flush=True))
        print(msgspec.json.encode(sent).decode(), flush=True)


if __name__ == "__main__":
    main()
