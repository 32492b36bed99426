"""Decides which waiting connection may begin its TLS handshake, and which open connection of a stranger has to go.

A handshake costs a millisecond, and before it is over nobody can tell a node from a stranger. So accepted connections wait in a queue for
each source, and the sources take turns: a flood waits behind itself. Handshakes of strangers are paid from a bucket for the source and one
for all sources; a connection that turns out to be a node's or a person's gets its price back and counts no longer. That is why a fleet
behind one address is not limited. When a limit on open connections is reached, the oldest connection of a stranger is closed, so that
nobody is ever locked out by connections that just stay open.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from precast.api.http.connections.sources import WIDE_FACTOR, Source

T = TypeVar("T")


class ConnectionLimits(NamedTuple):
    """How many connections strangers may have in one process, and how long they may take."""

    # From the moment a connection is accepted: its turn has to come, and the handshake has to be over.
    turn_s: float = 10.0
    handshake_s: float = 10.0
    # From the handshake until the first request has arrived.
    first_request_s: float = 15.0
    # From the handshake until somebody has to have authenticated: nothing that a stranger may do takes longer.
    stranger_s: float = 300.0
    # Connections that are accepted and wait for their turn.
    waiting_each: int = 4096
    waiting: int = 8192
    # Connections whose handshake has begun, or that are open and not authenticated.
    open_each: int = 256
    open: int = 2048
    # Handshakes of strangers per second, and the burst before that.
    rate_each: float = 100.0
    burst_each: float = 1000.0
    rate: float = 200.0
    burst: float = 1000.0
    # Connections of one certificate or person that do not count as a stranger's.
    authenticated_each: int = 256
    # Sources whose callers have authenticated; they do not wait for the bucket of all sources.
    known_sources: int = 10_000


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


class _SourceState(Generic[T]):
    """The connections of one source."""

    __slots__ = ("bucket", "open", "waiting")

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.waiting: deque[tuple[T, float]] = deque()
        self.open: OrderedDict[T, None] = OrderedDict()  # the oldest first

    def is_idle(self, now_s: float) -> bool:
        return not self.waiting and not self.open and self.bucket.is_full(now_s)


class Admission(NamedTuple, Generic[T]):
    """What a turn has decided: the connections that begin, and those that have to go, each with the reason."""

    begin: list[T]
    drop: list[tuple[T, str]]


# Why a connection was closed; these are the labels of the metric.
QUEUE_FULL, WAITED, CROWDED = "queue full", "waited too long", "crowded out"
SLOW_HANDSHAKE, BAD_HANDSHAKE, NO_REQUEST, TOO_OLD = "slow handshake", "failed handshake", "no request", "too old"


class StrangerLimits(Generic[T]):
    """The connections of strangers, from the moment they are accepted until they authenticate or end. It does no input or output."""

    def __init__(self, limits: ConnectionLimits, now_s: float) -> None:
        self._limits = limits
        self._sources: dict[Source, _SourceState[T]] = {}
        self._turns: deque[Source] = deque()  # the sources that have waiting connections
        self._source_of: dict[T, Source] = {}  # of open connections of strangers
        self._waiting = 0
        self._bucket = Bucket(limits.rate, limits.burst, now_s)
        self._in_network: Counter[str] = Counter()  # open connections of strangers, by /48
        self._network_buckets: dict[str, Bucket] = {}
        self._authenticated: Counter[str] = Counter()
        self._known: OrderedDict[Source, None] = OrderedDict()

    @property
    def waiting(self) -> int:
        return self._waiting

    @property
    def open(self) -> int:
        return len(self._source_of)

    def arrive(self, connection: T, source: Source, now_s: float) -> Iterator[tuple[T, str]]:
        """Let a connection wait for its turn. Yields the connections that have to go instead, possibly this one."""
        state = self._state(source, now_s)
        if len(state.waiting) >= self._limits.waiting_each:
            yield connection, QUEUE_FULL
            return
        if self._waiting >= self._limits.waiting:
            yield self._drop_of_longest_queue(), QUEUE_FULL
        if not state.waiting:
            self._turns.append(source)
        state.waiting.append((connection, now_s))
        self._waiting += 1

    def _drop_of_longest_queue(self) -> T:
        longest = max(self._turns, key=lambda source: len(self._sources[source].waiting))
        connection, _ = self._sources[longest].waiting.pop()
        self._waiting -= 1
        if not self._sources[longest].waiting:
            self._turns.remove(longest)
        return connection

    def turn(self, now_s: float, most: int) -> Admission[T]:
        """Choose up to `most` waiting connections, one of each source in turn, that may begin their handshake now."""
        chosen: Admission[T] = Admission([], [])
        for _ in range(len(self._turns)):
            if len(chosen.begin) >= most:
                break
            source = self._turns.popleft()
            state = self._sources[source]
            while state.waiting and now_s - state.waiting[0][1] > self._limits.turn_s:
                chosen.drop.append((state.waiting.popleft()[0], WAITED))
                self._waiting -= 1
            if state.waiting and all(bucket.has_one(now_s) for bucket in self._buckets(source, state)):
                connection, _ = state.waiting.popleft()
                self._waiting -= 1
                self._begin(connection, source, state, chosen)
            if state.waiting:
                self._turns.append(source)
        return chosen

    def authenticate(self, connection: T, who: str) -> bool:
        """The connection belongs to an authenticated caller: it gives back what it has cost, and counts no longer.

        Returns False if it stays a stranger's, because the caller has too many connections or it has ended.
        """
        source = self._source_of.get(connection)
        if source is None or self._authenticated[who] >= self._limits.authenticated_each:
            return False
        self._authenticated[who] += 1
        self._remove(connection, source)
        for bucket in self._buckets(source, self._sources[source]):
            bucket.give_back()
        self._known[source] = None
        self._known.move_to_end(source)
        if len(self._known) > self._limits.known_sources:
            self._known.popitem(last=False)
        return True

    def end(self, connection: T, who: str) -> None:
        """The connection has ended; `who` is the caller for which `authenticate` returned True, empty for a stranger's."""
        if who:
            self._authenticated[who] -= 1
            if not self._authenticated[who]:
                del self._authenticated[who]
        elif (source := self._source_of.get(connection)) is not None:
            self._remove(connection, source)

    def abandon_waiting(self) -> list[T]:
        """Remove all waiting connections, because the server stops."""
        waiting = [connection for state in self._sources.values() for connection, _ in state.waiting]
        for state in self._sources.values():
            state.waiting.clear()
        self._turns.clear()
        self._waiting = 0
        return waiting

    def forget_idle(self, now_s: float) -> None:
        """Drop the state of sources that have no connection and a full bucket: it holds no information."""
        self._sources = {source: state for source, state in self._sources.items() if not state.is_idle(now_s)}
        self._network_buckets = {
            network: bucket for network, bucket in self._network_buckets.items() if not bucket.is_full(now_s)
        }

    def _state(self, source: Source, now_s: float) -> _SourceState[T]:
        state = self._sources.get(source)
        if state is None:
            limits = self._limits
            state = self._sources[source] = _SourceState(Bucket(limits.rate_each, limits.burst_each, now_s))
        if source.network and source.network not in self._network_buckets:
            rate, burst = self._limits.rate_each * WIDE_FACTOR, self._limits.burst_each * WIDE_FACTOR
            self._network_buckets[source.network] = Bucket(rate, burst, now_s)
        return state

    def _buckets(self, source: Source, state: _SourceState[T]) -> Iterator[Bucket]:
        """The buckets from which a handshake is paid. A flood of unknown sources empties the last one, and known ones go on."""
        yield state.bucket
        if (bucket := self._network_buckets.get(source.network)) is not None:
            yield bucket
        if source not in self._known:
            yield self._bucket

    def _begin(self, connection: T, source: Source, state: _SourceState[T], chosen: Admission[T]) -> None:
        for bucket in self._buckets(source, state):
            bucket.take()
        for crowd in self._crowds(source, state):
            oldest = next(iter(self._sources[crowd].open))
            self._remove(oldest, crowd)
            chosen.drop.append((oldest, CROWDED))
        state.open[connection] = None
        self._source_of[connection] = source
        if source.network:
            self._in_network[source.network] += 1
        chosen.begin.append(connection)

    def _crowds(self, source: Source, state: _SourceState[T]) -> Iterator[Source]:
        """The sources whose oldest connection has to go before one more of `source` may begin."""
        if len(state.open) >= self._limits.open_each:
            yield source
        elif source.network and self._in_network[source.network] >= self._limits.open_each * WIDE_FACTOR:
            yield self._largest(other for other in self._sources if other.network == source.network)
        elif len(self._source_of) >= self._limits.open:
            yield self._largest(iter(self._sources))

    def _largest(self, sources: Iterator[Source]) -> Source:
        return max(sources, key=lambda source: len(self._sources[source].open))

    def _remove(self, connection: T, source: Source) -> None:
        del self._source_of[connection]
        del self._sources[source].open[connection]
        if source.network:
            self._in_network[source.network] -= 1
            if not self._in_network[source.network]:
                del self._in_network[source.network]
