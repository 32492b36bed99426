"""Nodes that promise values and nodes that wait for them, in one process, over real sessions.

    python -m lab.future_load URL DIRECTORY PRODUCERS WAITERS wake|rate SECONDS

`lab.fleet` has enrolled the nodes in DIRECTORY, and DIRECTORY/digests.json has the digest of each one's catalog: the first PRODUCERS nodes
promise the keys key00000 and so on in turn, each of the others needs one. `wake` fulfils every key once, paced over SECONDS, and prints the
seconds from sending a promise to receiving its value; `rate` fulfils as fast as the send windows allow, and prints how many fulfilments a
second were acknowledged and how many values arrived.
"""

import asyncio
import json
import sys
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import uvloop

from lab import fleet
from lab.session import Peer, Store
from precast.wire import futures as wire
from precast.wire.futures import Promised
from precast.wire.sessions import Ack, Subscribe, Values

AT_ONCE = 64
# The send window of an agent.
MAX_UNACKNOWLEDGED = 256


def key_name(number: int) -> str:
    return f"key{number:05d}"


class Load:
    """All connections, and what they have seen."""

    def __init__(self, url: str, directory: Path, producers: int, waiters: int) -> None:
        self._url, self._directory = url, directory
        self._digests: dict[str, str] = json.loads((directory / "digests.json").read_text())
        names = fleet.names(producers + waiters)
        self._producers, self._waiters = names[:producers], names[producers:]
        self._gate = asyncio.Semaphore(AT_ONCE)
        self.peers: dict[str, Peer] = {}
        self.sent_s: dict[str, float] = {}
        self.woken_s: dict[str, float] = {}
        self.acknowledged = dict.fromkeys(names, 0)
        self.values = 0
        self.fence = 1

    async def connect(self) -> None:
        await asyncio.gather(*(self._connect(name) for name in [*self._producers, *self._waiters]))
        for name in self._waiters:
            await self.peers[name].send_message(Subscribe(self._digests[name]))
            answer = await self.peers[name].expect(Values)
            assert answer.is_last, answer
            assert not answer.error, answer

    async def _connect(self, name: str) -> None:
        async with self._gate:
            peer = Peer(self._url, fleet.context(self._directory, name), Store())
            await peer.__aenter__()
            await peer.greet()
            self.peers[name] = peer

    def follow(self) -> list[asyncio.Task[None]]:
        tasks = [asyncio.create_task(self._follow_producer(name)) for name in self._producers]
        return tasks + [asyncio.create_task(self._follow_waiter(name)) for name in self._waiters]

    async def _follow_producer(self, name: str) -> None:
        while True:
            message = await self.peers[name].receive()
            if isinstance(message, Ack):
                self.acknowledged[name] = message.through
                self.peers[name].store.records.clear()

    async def _follow_waiter(self, name: str) -> None:
        while True:
            message = await self.peers[name].receive()
            if isinstance(message, Values):
                now_s = time.perf_counter()
                for value in message.values:
                    self.values += 1
                    self.woken_s.setdefault(value.key, now_s)

    async def promise(self, number: int, value: str) -> None:
        name = self._producers[number % len(self._producers)]
        key = key_name(number)
        body = Promised(
            *(str(uuid.UUID(int=1)), self._digests[name], key, msgspec.Raw(msgspec.json.encode(value)), self.fence),
            *(datetime.now(UTC), self.peers[name].store.instance),
        )
        self.sent_s.setdefault(key, time.perf_counter())
        await self.peers[name].send(wire.PROMISED, body)

    async def wake(self, seconds: float) -> list[float]:
        """The seconds that each waiter was woken after."""
        began_s = time.perf_counter()
        for number in range(len(self._waiters)):
            await asyncio.sleep(max(0.0, began_s + seconds * number / len(self._waiters) - time.perf_counter()))
            await self.promise(number, "x")
        async with asyncio.timeout(30):
            # What arrives is counted, without an event for each.
            while len(self.woken_s) < len(self._waiters):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return [self.woken_s[key] - self.sent_s[key] for key in sorted(self.sent_s)]

    async def rate(self, seconds: float) -> tuple[float, int]:
        """Acknowledged fulfilments a second, and how many values arrived."""
        until_s = time.perf_counter() + seconds
        began_s = time.perf_counter()
        await asyncio.gather(*(self._produce(place, until_s) for place in range(len(self._producers))))
        async with asyncio.timeout(30):
            last = {name: self.peers[name].store.last for name in self._producers}
            while any(self.acknowledged[name] < last[name] for name in last):  # noqa: ASYNC110 - it is only counted
                await asyncio.sleep(0.02)
        return sum(self.acknowledged.values()) / (time.perf_counter() - began_s), self.values

    async def _produce(self, place: int, until_s: float) -> None:
        name = self._producers[place]
        own = range(place, len(self._waiters), len(self._producers))
        turn = 0
        while time.perf_counter() < until_s:
            turn += 1
            for number in own:
                while self.peers[name].store.last - self.acknowledged[name] >= MAX_UNACKNOWLEDGED:  # noqa: ASYNC110
                    await asyncio.sleep(0.002)
                await self.promise(number, f"value {turn}")
            await asyncio.sleep(0)


async def main(url: str, directory: Path, producers: int, waiters: int, what: str, seconds: float) -> None:
    load = Load(url, directory, producers, waiters)
    await load.connect()
    tasks = load.follow()
    if what == "wake":
        print(json.dumps({"wake_s": await load.wake(seconds)}))
    else:
        rate, values = await load.rate(seconds)
        print(json.dumps({"rate": rate, "values": values}))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    uvloop.run(
        main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], float(sys.argv[6]))
    )
