"""Decides which waiting connection may begin its TLS handshake, and which connection of a stranger has to go.

A handshake costs a millisecond, and before it is over nobody can tell a node from a stranger. So accepted connections wait in a queue for
each source, and the sources take turns: a flood waits behind itself. Handshakes of strangers are paid from a bucket for the source and one
for all sources; a connection that turns out to be a node's or a person's gets its price back and counts no longer. That is why a fleet
behind one address is not limited. When a limit on connections is reached, the oldest connection of a stranger is closed, so that nobody is
ever locked out by connections that just stay open. A handshake is left alone for as long as an honest one takes.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from precast.api.http.connections.phases import Bucket, Entry, Phase
from precast.api.http.connections.sources import WIDE_FACTOR, Source

T = TypeVar("T")


class ConnectionLimits(NamedTuple):
    """How many connections strangers may have in one process, and how long they may take."""

    # Connections that are accepted and wait for their turn: how many, and how long. A fleet may come back at once.
    waiting_each: int = 8192
    waiting: int = 16384
    turn_s: float = 30.0
    # Handshakes in progress; an older one makes place for another when there are too many, and a slow one is given up.
    handshakes_each: int = 512
    handshakes: int = 1024
    patience_s: float = 5.0
    handshake_s: float = 10.0
    # Connections that are open and not authenticated.
    open_each: int = 256
    open: int = 2048
    # From the handshake until the first request has arrived.
    first_request_s: float = 15.0
    # From the handshake until somebody has to have authenticated: nothing that a stranger may do takes longer.
    stranger_s: float = 300.0
    # Handshakes of strangers per second, and the burst before that.
    rate_each: float = 100.0
    burst_each: float = 1000.0
    rate: float = 200.0
    burst: float = 1000.0
    # Connections of one certificate or person that do not count as a stranger's.
    authenticated_each: int = 256
    # Sources whose callers have authenticated; they do not wait for the bucket of all sources.
    known_sources: int = 10_000


class _Queue(Generic[T]):
    """The waiting connections of one source, and the bucket from which its handshakes are paid."""

    __slots__ = ("bucket", "waiting")

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.waiting: deque[Entry[T]] = deque()


class Admission(NamedTuple, Generic[T]):
    """What a turn has decided: the connections that begin, and those that have to go, each with the reason."""

    begin: list[T]
    drop: list[tuple[T, str]]


# How many sources a turn looks at for each handshake that it may begin: most of them may have to wait for their bucket.
SOURCES_PER_BEGIN = 16
# Why a connection was closed; these are the labels of the metric.
QUEUE_FULL, WAITED, CROWDED = "queue full", "waited too long", "crowded out"
SLOW_HANDSHAKE, BAD_HANDSHAKE, NO_REQUEST, TOO_OLD = "slow handshake", "failed handshake", "no request", "too old"


class StrangerLimits(Generic[T]):
    """The connections of strangers, from the moment they are accepted until they authenticate or end. It does no input or output."""

    def __init__(self, limits: ConnectionLimits, now_s: float) -> None:
        self._limits = limits
        self._queues: dict[Source, _Queue[T]] = {}
        self._turns: deque[Source] = deque()  # the sources that have waiting connections
        self._waiting = 0
        self._handshakes: Phase[T] = Phase(limits.handshakes_each, limits.handshakes)
        self._open: Phase[T] = Phase(limits.open_each, limits.open)
        self._bucket = Bucket(limits.rate, limits.burst, now_s)
        self._network_buckets: dict[str, Bucket] = {}
        self._authenticated: Counter[str] = Counter()
        self._known: OrderedDict[Source, None] = OrderedDict()

    @property
    def waiting(self) -> int:
        return self._waiting

    @property
    def open(self) -> int:
        """How many connections of strangers are open, handshakes included."""
        return len(self._handshakes) + len(self._open)

    def arrive(self, connection: T, source: Source, now_s: float) -> Iterator[tuple[T, str]]:
        """Let a connection wait for its turn. Yields the connections that have to go instead, possibly this one."""
        queue = self._queue(source, now_s)
        if len(queue.waiting) >= self._limits.waiting_each:
            yield connection, QUEUE_FULL
            return
        if self._waiting >= self._limits.waiting:
            yield self._drop_of_longest_queue(), QUEUE_FULL
        if not queue.waiting:
            self._turns.append(source)
        queue.waiting.append(Entry(connection, now_s))
        self._waiting += 1

    def turn(self, now_s: float, most: int) -> Admission[T]:
        """Choose up to `most` waiting connections, one of each source in turn, that may begin their handshake now.

        What is left goes to the known sources among them: a whole fleet may be behind one address.
        """
        chosen: Admission[T] = Admission([], [])
        eager: deque[Source] = deque()
        for _ in range(min(len(self._turns), most * SOURCES_PER_BEGIN)):
            if len(chosen.begin) >= most:
                break
            source = self._turns.popleft()
            has_begun = self._begin_next(source, now_s, chosen)
            if self._queues[source].waiting:
                self._turns.append(source)
                if has_begun and source in self._known:
                    eager.append(source)
        while eager and len(chosen.begin) < most:
            source = eager.popleft()
            has_begun = self._begin_next(source, now_s, chosen)
            if not self._queues[source].waiting:
                self._turns.remove(source)
            elif has_begun:
                eager.append(source)
        return chosen

    def _begin_next(self, source: Source, now_s: float, chosen: Admission[T]) -> bool:
        """Let the next connection of a source begin if it may."""
        queue = self._queues[source]
        while queue.waiting and now_s - queue.waiting[0].since_s > self._limits.turn_s:
            chosen.drop.append((self._take(queue), WAITED))
        if not queue.waiting or not self._may_begin(source, now_s, chosen):
            return False
        connection = self._take(queue)
        self._handshakes.add(connection, source, now_s)
        chosen.begin.append(connection)
        return True

    def establish(self, connection: T, now_s: float) -> Iterator[tuple[T, str]]:
        """The handshake of a stranger is over. Yields the connections that have to go instead."""
        source = self._handshakes.remove(connection)
        if source is None:
            return
        oldest = self._open.find_in_the_way(source)
        if oldest is not None:
            self._open.remove(oldest.connection)
            yield oldest.connection, CROWDED
        self._open.add(connection, source, now_s)

    def authenticate(self, connection: T, who: str) -> bool:
        """The connection belongs to an authenticated caller: it gives back what it has cost, and counts no longer.

        Returns False if it stays a stranger's, because the caller has too many connections or it has ended.
        """
        if self._authenticated[who] >= self._limits.authenticated_each:
            return False
        source = self._handshakes.remove(connection) or self._open.remove(connection)
        if source is None:
            return False
        self._authenticated[who] += 1
        for bucket in self._buckets(source):
            bucket.give_back()
        self._known[source] = None
        self._known.move_to_end(source)
        if len(self._known) > self._limits.known_sources:
            self._known.popitem(last=False)
        return True

    def end(self, connection: T, who: str) -> None:
        """The connection has ended; `who` is the caller for which `authenticate` returned True, empty for a stranger's."""
        if not who:
            self._handshakes.remove(connection)
            self._open.remove(connection)
            return
        self._authenticated[who] -= 1
        if not self._authenticated[who]:
            del self._authenticated[who]

    def abandon_waiting(self) -> list[T]:
        """Remove all waiting connections, because the server stops."""
        waiting = [entry.connection for queue in self._queues.values() for entry in queue.waiting]
        for queue in self._queues.values():
            queue.waiting.clear()
        self._turns.clear()
        self._waiting = 0
        return waiting

    def forget_idle(self, now_s: float) -> None:
        """Drop empty queues and full buckets: they hold no information."""
        self._queues = {
            source: queue for source, queue in self._queues.items() if queue.waiting or not queue.bucket.is_full(now_s)
        }
        self._network_buckets = {
            network: bucket for network, bucket in self._network_buckets.items() if not bucket.is_full(now_s)
        }

    def _queue(self, source: Source, now_s: float) -> _Queue[T]:
        rate, burst = self._limits.rate_each, self._limits.burst_each
        queue = self._queues.get(source)
        if queue is None:
            queue = self._queues[source] = _Queue(Bucket(rate, burst, now_s))
        if source.network and source.network not in self._network_buckets:
            self._network_buckets[source.network] = Bucket(rate * WIDE_FACTOR, burst * WIDE_FACTOR, now_s)
        return queue

    def _take(self, queue: _Queue[T]) -> T:
        self._waiting -= 1
        return queue.waiting.popleft().connection

    def _drop_of_longest_queue(self) -> T:
        longest = max(self._turns, key=lambda source: len(self._queues[source].waiting))
        connection = self._queues[longest].waiting.pop().connection
        self._waiting -= 1
        if not self._queues[longest].waiting:
            self._turns.remove(longest)
        return connection

    def _may_begin(self, source: Source, now_s: float, chosen: Admission[T]) -> bool:
        """Whether a source can pay for a handshake and there is room for it, and if so, take both."""
        if not all(bucket.has_one(now_s) for bucket in self._buckets(source)):
            return False
        oldest = self._handshakes.find_in_the_way(source)
        if oldest is not None:
            if now_s - oldest.since_s <= self._limits.patience_s:
                return False
            self._handshakes.remove(oldest.connection)
            chosen.drop.append((oldest.connection, CROWDED))
        for bucket in self._buckets(source):
            bucket.take()
        return True

    def _buckets(self, source: Source) -> Iterator[Bucket]:
        """The buckets from which a handshake is paid. A flood of unknown sources empties the last one, and known ones go on."""
        if (queue := self._queues.get(source)) is not None:
            yield queue.bucket
        if (bucket := self._network_buckets.get(source.network)) is not None:
            yield bucket
        if source not in self._known:
            yield self._bucket
