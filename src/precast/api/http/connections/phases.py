"""Counts connections by source: a token bucket for their rate, and a bounded set of those in one phase, the oldest first."""

from collections import Counter, OrderedDict
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from precast.api.http.connections.sources import WIDE_FACTOR, Source

T = TypeVar("T")


class Bucket:
    """A token bucket. Time is passed in."""

    __slots__ = ("_at_s", "_burst", "_level", "_rate")

    def __init__(self, rate: float, burst: float, now_s: float) -> None:
        self._rate, self._burst = rate, burst
        self._level, self._at_s = burst, now_s

    def has_one(self, now_s: float) -> bool:
        self._refill(now_s)
        return self._level >= 1.0

    def is_full(self, now_s: float) -> bool:
        self._refill(now_s)
        return self._level >= self._burst

    def take(self) -> None:
        self._level -= 1.0

    def give_back(self) -> None:
        self._level = min(self._burst, self._level + 1.0)

    def _refill(self, now_s: float) -> None:
        self._level = min(self._burst, self._level + (now_s - self._at_s) * self._rate)
        self._at_s = now_s


class Entry(NamedTuple, Generic[T]):
    """A connection, and when it entered the phase."""

    connection: T
    since_s: float


class Phase(Generic[T]):
    """The connections of strangers in one phase, with a limit for each source, for each IPv6 /48, and for all."""

    def __init__(self, each: int, total: int) -> None:
        self._each, self._total = each, total
        self._of_source: dict[Source, OrderedDict[T, float]] = {}
        self._in_network: Counter[str] = Counter()
        self._source_of: dict[T, Source] = {}

    def __len__(self) -> int:
        return len(self._source_of)

    def find_source(self, connection: T) -> Source | None:
        return self._source_of.get(connection)

    def find_in_the_way(self, source: Source) -> Entry[T] | None:
        """The connection that has to go before one more of `source` may enter; None if there is room.

        It is the oldest of the source itself, or of the source that has the most, in the /48 or of all.
        """
        own = self._of_source.get(source, ())
        if len(own) >= self._each:
            return self._oldest(source)
        if source.network and self._in_network[source.network] >= self._each * WIDE_FACTOR:
            return self._oldest(self._largest(other for other in self._of_source if other.network == source.network))
        if len(self._source_of) >= self._total:
            return self._oldest(self._largest(self._of_source))
        return None

    def add(self, connection: T, source: Source, now_s: float) -> None:
        self._of_source.setdefault(source, OrderedDict())[connection] = now_s
        self._source_of[connection] = source
        if source.network:
            self._in_network[source.network] += 1

    def remove(self, connection: T) -> Source | None:
        """Remove a connection and return its source; None if it is not in this phase."""
        source = self._source_of.pop(connection, None)
        if source is None:
            return None
        del self._of_source[source][connection]
        if not self._of_source[source]:
            del self._of_source[source]
        if source.network:
            self._in_network[source.network] -= 1
            if not self._in_network[source.network]:
                del self._in_network[source.network]
        return source

    def _largest(self, sources: Iterable[Source]) -> Source:
        return max(sources, key=lambda source: len(self._of_source[source]))

    def _oldest(self, source: Source) -> Entry[T]:
        return Entry(*next(iter(self._of_source[source].items())))
