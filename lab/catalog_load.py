"""Many nodes that ask for their catalog, in a process of their own: `python -m lab.catalog_load URL DIRECTORY COUNT`.

DIRECTORY is what `lab.fleet` made. Every node has a key, a certificate and a connection of its own. Each line of standard input is
one order (`Order`), answered by one line (`Answered`). A node that has its catalog asks whether that is still the one. The client is
as thin as it can be: what is measured is the server.
"""

import asyncio
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import msgspec
import uvloop

from lab import fleet
from lab.fact_load import HANDSHAKES
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


class Asking(asyncio.Protocol):
    """One node: its connection, the catalog it has, and whom it tells of an answer."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._again = b""
        self.tell: Callable[[bytes, int], None] = lambda status, size: None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not one by its type

    def connection_lost(self, error: Exception | None) -> None:
        self.tell(b"lost", 0)

    def ask(self, is_new: bool) -> None:
        assert self._transport is not None
        self._transport.write(_get("") if is_new or not self._again else self._again)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        status = head[9:12]
        if status != b"304":
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            if len(body) < length:
                return
            if status == b"200":
                self._again = _get(digests.of_bytes(body))
        self._buffer = b""
        self.tell(status, len(body))


def _get(known: str) -> bytes:
    condition = f'If-None-Match: "{known}"\r\n' if known else ""
    return f"GET /v1/catalog HTTP/1.1\r\nHost: localhost\r\n{condition}\r\n".encode()


async def connect(url: str, directory: Path, count: int) -> list[Asking]:
    place, loop = urlsplit(url), asyncio.get_running_loop()
    host, port = place.hostname or "", place.port or 0

    async def one(name: str) -> Asking:
        context = fleet.context(directory, name)
        _, asking = await loop.create_connection(Asking, host, port, ssl=context)
        return asking

    found: list[Asking] = []
    names = fleet.names(count)
    for first in range(0, count, HANDSHAKES):
        found += await asyncio.gather(*map(one, names[first : first + HANDSHAKES]))
    return found


async def ask(nodes: list[Asking], order: Order) -> Answered:
    statuses: Counter[bytes] = Counter()
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    # Whoever waits longest is next; nobody asks again before they were answered.
    idle = deque(nodes)
    asked = size = 0

    def begin() -> None:
        nonlocal asked
        asked += 1
        idle.popleft().ask(order.is_new)

    def tell(node: Asking, status: bytes, length: int) -> None:
        nonlocal size
        statuses[status] += 1
        size += length
        idle.append(node)
        if asked < order.requests:
            begin()
        elif not done.done() and (statuses.total() == order.requests or b"lost" in statuses):
            done.set_result(None)

    for node in nodes:
        node.tell = partial(tell, node)
    started_s, cpu_s = time.monotonic(), time.process_time()
    for _ in range(min(order.at_once, len(nodes), order.requests)):
        begin()
    await done
    found = {status.decode(): count for status, count in statuses.items()}
    return Answered(time.monotonic() - started_s, time.process_time() - cpu_s, found, size)


async def main() -> None:
    url, directory, count = sys.argv[1:]
    nodes = await connect(url, Path(directory), int(count))
    loop = asyncio.get_running_loop()
    print("connected", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        answered = await ask(nodes, msgspec.json.decode(line, type=Order))
        print(msgspec.json.encode(answered).decode(), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
