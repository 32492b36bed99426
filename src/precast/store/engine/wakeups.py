"""Wake-ups: a hint to a subscriber that there is something to read. A lost wake-up costs a poll interval, never a result.

A subscription is one flag, so a thousand wake-ups before the subscriber looks count as one. A single process needs no more than
this; processes on one SQLite file wake each other by sockets (`local_wakeups`), servers through PostgreSQL (`postgres_wakeups`).
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self

POLL_S = 1.0


class Subscription:
    """One subscriber, from entering to leaving its `with` block."""

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
        """Sleep until a wake-up or until the poll interval is over. Returns whether it was a wake-up, and clears the flag."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._flag.wait()
        except TimeoutError:
            return False
        self._flag.clear()
        return True


class Wakeups:
    """Wakes the subscribers of this process. Used from the event loop only."""

    def __init__(self) -> None:
        self._by_topic: dict[str, set[Subscription]] = {}
        self._by_prefix: list[tuple[str, Callable[[str], None]]] = []

    def subscribe(self, *topics: str) -> Subscription:
        """Subscribe to topics. Subscribe first, then look, then sleep: then no change is missed in between."""
        return Subscription(self, frozenset(topics))

    @contextlib.contextmanager
    def prefix_subscription(self, prefix: str, receive: Callable[[str], None]) -> Iterator[None]:
        """Call `receive` with the rest of every published topic that has this prefix: for one subscriber with thousands of topics.

        Missed topics are not repeated, so the subscriber also polls from time to time.
        """
        entry = (prefix, receive)
        self._by_prefix.append(entry)
        try:
            yield
        finally:
            self._by_prefix.remove(entry)

    def publish(self, topics: Iterable[str]) -> None:
        for topic in topics:
            for subscription in self._by_topic.get(topic, ()):
                subscription.wake()
            for prefix, receive in self._by_prefix:
                if topic.startswith(prefix):
                    receive(topic.removeprefix(prefix))

    def add(self, subscription: Subscription) -> None:
        for topic in subscription.topics:
            self._by_topic.setdefault(topic, set()).add(subscription)

    def remove(self, subscription: Subscription) -> None:
        for topic in subscription.topics:
            subscribers = self._by_topic[topic]
            subscribers.discard(subscription)
            if not subscribers:
                del self._by_topic[topic]

    async def wait_until_listening(self) -> None:
        """Wait until wake-ups of other servers are received. A single process has none to wait for."""

    async def close(self) -> None:
        """Release connections and sockets; a single process has none."""
