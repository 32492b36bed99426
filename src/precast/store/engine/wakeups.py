"""Wake-ups: a hint that something is there to read. Losing one costs a poll interval, never a result.

A subscription is one flag, so a thousand wake-ups before the sleeper looks are one. One process needs no more than
this; neighbours on one SQLite file wake each other by sockets (`local_wakeups`), servers through PostgreSQL (`postgres_wakeups`).
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self

POLL_S = 1.0


class Subscription:
    """One sleeper, from entering to leaving its `with` block."""

    def __init__(self, wakeups: "Wakeups", topics: frozenset[str]) -> None:
        self._wakeups = wakeups
        self._flag = asyncio.Event()
        self.topics = topics

    def __enter__(self) -> Self:
        self._wakeups.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wakeups.remove(self)

    def wake(self) -> None:
        self._flag.set()

    async def wait(self, timeout_s: float = POLL_S) -> bool:
        """Sleep until woken or until it is time to look anyway; whether it was a wake-up. Clears the flag."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._flag.wait()
        except TimeoutError:
            return False
        self._flag.clear()
        return True


class Wakeups:
    """Wakes the sleepers of this process. Used from the event loop only."""

    def __init__(self) -> None:
        self._by_topic: dict[str, set[Subscription]] = {}
        self._taps: list[tuple[str, Callable[[str], None]]] = []

    def subscribe(self, *topics: str) -> Subscription:
        """A sleeper for these topics. Subscribe first, look second, sleep third: then nothing falls in between."""
        return Subscription(self, frozenset(topics))

    @contextlib.contextmanager
    def tap(self, prefix: str, hear: Callable[[str], None]) -> Iterator[None]:
        """Inside, `hear` is called with the rest of every topic that begins so: for one sleeper with thousands of topics.

        Topics that were missed are not repeated: who taps looks once in a while.
        """
        entry = (prefix, hear)
        self._taps.append(entry)
        try:
            yield
        finally:
            self._taps.remove(entry)

    def publish(self, topics: Iterable[str]) -> None:
        for topic in topics:
            for subscription in self._by_topic.get(topic, ()):
                subscription.wake()
            for prefix, hear in self._taps:
                if topic.startswith(prefix):
                    hear(topic.removeprefix(prefix))

    def add(self, subscription: Subscription) -> None:
        for topic in subscription.topics:
            self._by_topic.setdefault(topic, set()).add(subscription)

    def remove(self, subscription: Subscription) -> None:
        for topic in subscription.topics:
            sleepers = self._by_topic[topic]
            sleepers.discard(subscription)
            if not sleepers:
                del self._by_topic[topic]

    async def listening(self) -> None:
        """Wait until wake-ups of other servers are heard. In one process there are none."""

    async def close(self) -> None:
        """Nothing to give back in one process."""
