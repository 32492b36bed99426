"""A process with many nodes that fetch their catalogs: `python -m lab.catalog_load URL DIRECTORY COUNT`.

`lab.fleet` has written DIRECTORY. Every node has its own key, certificate and connection. Each line of standard input is a batch
(`FetchBatch`), and the process answers it with one line (`FetchResult`). A node that has a catalog asks whether that catalog is still
current. The client does as little as possible, because the benchmark measures the server.
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
from lab.load_connections import HttpConnection, converse, reopen
from precast.base import digests


class FetchBatch(msgspec.Struct, frozen=True):
    """A number of requests, `at_once` of them concurrently. With `is_new` the nodes ask as if they had no catalog yet."""

    requests: int
    at_once: int
    is_new: bool = False


class FetchResult(msgspec.Struct, frozen=True):
    """Elapsed time, CPU time of this process, the number of answers by HTTP status, and the bytes of all bodies."""

    wall_s: float
    cpu_s: float
    statuses: dict[str, int]
    size: int


class CatalogConnection(HttpConnection):
    """The connection of one node, and the digest of the catalog that the node has."""

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


class CatalogNodes:
    """All nodes of the load."""

    def __init__(self, port: int, directory: Path, count: int) -> None:
        self._port, self._directory = port, directory
        self._names = fleet.names(count)
        self._lines: list[CatalogConnection] = []

    def connect(self) -> None:
        reopen(self._lines, self._connect, len(self._names))

    def _connect(self, node: int) -> CatalogConnection:
        return CatalogConnection(self._port, fleet.context(self._directory, self._names[node]))

    def ask(self, batch: FetchBatch) -> FetchResult:
        self.connect()
        turns = itertools.islice(itertools.cycle(enumerate(self._lines)), batch.requests)
        requests = ((at, line.request(batch.is_new)) for at, line in turns)
        started_s, cpu_s = time.monotonic(), time.process_time()
        answers = converse(self._lines, requests, batch.at_once)
        ended_s, cpu_s = time.monotonic(), time.process_time() - cpu_s
        statuses = Counter(answer[:3].decode() for answer in answers)
        return FetchResult(ended_s - started_s, cpu_s, statuses, sum(int(answer[4:]) for answer in answers))


def main() -> None:
    url, directory, count = sys.argv[1:]
    nodes = CatalogNodes(urlsplit(url).port or 0, Path(directory), int(count))
    nodes.connect()
    print("connected", flush=True)
    for line in sys.stdin:
        result = nodes.ask(msgspec.json.decode(line, type=FetchBatch))
        print(msgspec.json.encode(result).decode(), flush=True)


if __name__ == "__main__":
    main()
