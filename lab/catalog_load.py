"""Many nodes that ask for their catalog, in a process of their own: `python -m lab.catalog_load URL DIRECTORY COUNT`.

DIRECTORY is what `lab.fleet` made. Every node has a key, a certificate and a connection of its own. Each line of standard input is
one order (`Order`), answered by one line (`Answered`). A node that has its catalog asks whether that is still the one. The client is
as thin as it can be: what is measured is the server.
"""

import itertools
import ssl
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from lab import fleet
from lab.lines import HttpLine, converse, reopen
from precast.base import digests


class Order(msgspec.Struct, frozen=True):
    """Ask so often in all, so many at a time; as somebody who has no catalog yet, if that is wanted."""

    requests: int
    at_once: int
    is_new: bool = False


class Answered(msgspec.Struct, frozen=True):
    """How long it took on the machine's monotonic clock, our CPU, how often each status came, and the bytes of bodies."""

    wall_s: float
    cpu_s: float
    statuses: dict[str, int]
    size: int


class Asking(HttpLine):
    """One node: its connection, and the catalog it has."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        super().__init__(port, context)
        self._again = _get("")

    def request(self, is_new: bool) -> bytes:
        return _get("") if is_new else self._again

    def answer(self, status: bytes, body: bytes) -> bytes:
        if status == b"200":
            self._again = _get(digests.of_bytes(body))
        return b"%s %d" % (status, len(body))


def _get(known: str) -> bytes:
    condition = f'If-None-Match: "{known}"\r\n' if known else ""
    return f"GET /v1/catalog HTTP/1.1\r\nHost: localhost\r\n{condition}\r\n".encode()


class Nodes:
    """All who ask."""

    def __init__(self, port: int, directory: Path, count: int) -> None:
        self._port, self._directory = port, directory
        self._names = fleet.names(count)
        self._lines: list[Asking] = []

    def connect(self) -> None:
        reopen(self._lines, self._connect, len(self._names))

    def _connect(self, node: int) -> Asking:
        return Asking(self._port, fleet.context(self._directory, self._names[node]))

    def ask(self, order: Order) -> Answered:
        self.connect()
        turns = itertools.islice(itertools.cycle(enumerate(self._lines)), order.requests)
        requests = ((at, line.request(order.is_new)) for at, line in turns)
        started_s, cpu_s = time.monotonic(), time.process_time()
        answers = converse(self._lines, requests, order.at_once)
        ended_s, cpu_s = time.monotonic(), time.process_time() - cpu_s
        statuses = Counter(answer[:3].decode() for answer in answers)
        return Answered(ended_s - started_s, cpu_s, statuses, sum(int(answer[4:]) for answer in answers))


def main() -> None:
    url, directory, count = sys.argv[1:]
    nodes = Nodes(urlsplit(url).port or 0, Path(directory), int(count))
    nodes.connect()
    print("connected", flush=True)
    for line in sys.stdin:
        answered = nodes.ask(msgspec.json.decode(line, type=Order))
        print(msgspec.json.encode(answered).decode(), flush=True)


if __name__ == "__main__":
    main()
