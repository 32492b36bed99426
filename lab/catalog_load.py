"""Many nodes that ask for their catalog, in a process of their own: `python -m lab.catalog_load PORT NODES DIRECTORY`.

Every node has a key, a certificate and a connection of its own. Each line of standard input is one order (`Order`), answered by one
line (`Answered`). The first order of a node fetches its catalog; from then on it asks whether that is still the one.
"""

import asyncio
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import uvloop

from lab.fact_load import HANDSHAKES, Wire, connected
from precast.agent.enrolment import Identity
from precast.base import digests


class Order(msgspec.Struct, frozen=True):
    """Ask so often in all, so many at a time."""

    requests: int
    at_once: int


class Answered(msgspec.Struct, frozen=True):
    """How long it took on the machine's monotonic clock, our CPU, and how often each status came."""

    wall_s: float
    cpu_s: float
    statuses: dict[str, int]


class Asking:
    """One node: its connection and the catalog it has."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._request = _get("")

    async def ask(self) -> bytes:
        """The status."""
        answer = await self._wire.ask(self._request)
        status, _, body = answer.partition(b" ")
        if status == b"200":
            self._request = _get(digests.of_bytes(body))
        return status


def _get(known: str) -> bytes:
    condition = f'If-None-Match: "{known}"\r\n' if known else ""
    return f"GET /v1/catalog HTTP/1.1\r\nHost: localhost\r\n{condition}\r\n".encode()


async def connect(port: int, names: list[str], directory: Path) -> list[Asking]:
    async def one(name: str) -> Asking:
        return Asking(await connected(port, Identity(directory / "nodes" / name).context()))

    found: list[Asking] = []
    for first in range(0, len(names), HANDSHAKES):
        found += await asyncio.gather(*map(one, names[first : first + HANDSHAKES]))
    return found


async def ask(nodes: list[Asking], order: Order) -> Answered:
    statuses: Counter[bytes] = Counter()
    places = iter(range(order.requests))

    async def keep_on() -> None:
        for number in places:
            statuses[await nodes[number % len(nodes)].ask()] += 1

    started_s, cpu_s = time.monotonic(), time.process_time()
    await asyncio.gather(*(keep_on() for _ in range(order.at_once)))
    found = {status.decode(): count for status, count in statuses.items()}
    return Answered(time.monotonic() - started_s, time.process_time() - cpu_s, found)


async def main() -> None:
    port, directory, *names = sys.argv[1:]
    nodes = await connect(int(port), names, Path(directory))
    loop = asyncio.get_running_loop()
    print("connected", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        answered = await ask(nodes, msgspec.json.decode(line, type=Order))
        print(msgspec.json.encode(answered).decode(), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
