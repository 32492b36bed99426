"""Limits the requests of one caller: a number in progress, and a number per second after a burst.

Each caller has a token bucket, which refills at a rate and from which every request takes one. Authenticated callers have a bucket by
identity, unauthenticated ones by certificate or source. A full bucket holds no information and is not stored: memory grows with the
callers of the last seconds, up to a bound.
"""

import contextlib
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from precast.api.http import issues
from precast.api.http.connections.sources import WIDE_FACTOR, Source
from precast.base.clock import Clock

MAX_BODY_BYTES = 256 * 1024
# The body of a public route that reads it itself: a forge describes a push at length.
MAX_STREAMED_BYTES = 1024 * 1024


class RequestLimits(NamedTuple):
    """How much a caller may request, and how long the parts of a request may take."""

    # Requests per second for each caller, which a server takes from its settings; a burst is the requests of this many seconds.
    rate: float = 100.0
    burst_s: float = 4.0
    # An unauthenticated address may be a fleet behind one address translation, each node of which connects once.
    stranger_burst_s: float = 10.0
    in_progress: int = 64
    # The bodies of unauthenticated requests that are received at the same time: of one source, and of all.
    stranger_body_bytes: int = 4 * 1024 * 1024
    all_stranger_body_bytes: int = 64 * 1024 * 1024
    # From the connection, or the end of a response, until the head of the next request is received.
    idle_s: float = 60.0
    body_s: float = 30.0
    handler_s: float = 60.0


class RateLimiter:
    """One token bucket for each key."""

    def __init__(self, clock: Clock, rate: float, burst: float, most: int = 100_000) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = max(burst, 1.0)
        self._most = most
        self._buckets: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def has_capacity(self, who: str) -> bool:
        """Whether a request would be accepted now."""
        return self._level(who, self._clock.monotonic_s()) >= 1.0

    def take(self, who: str) -> bool:
        """Take one from the bucket; False if it is empty."""
        now_s = self._clock.monotonic_s()
        level = self._level(who, now_s)
        if level < 1.0:
            return False
        self._set_level(who, level - 1.0, now_s)
        return True

    def charge(self, who: str) -> None:
        """Take one for a request that was handled already, also if that makes the level negative."""
        now_s = self._clock.monotonic_s()
        self._set_level(who, self._level(who, now_s) - 1.0, now_s)

    def _set_level(self, who: str, level: float, now_s: float) -> None:
        if len(self._buckets) >= self._most and who not in self._buckets:
            self._drop_full(now_s)
        self._buckets[who] = (level, now_s)

    def _level(self, who: str, now_s: float) -> float:
        bucket = self._buckets.get(who)
        if bucket is None:
            return self._burst
        level, at_s = bucket
        return min(self._burst, level + (now_s - at_s) * self._rate)

    def _drop_full(self, now_s: float) -> None:
        """Drop buckets that are full again. If none is, drop the oldest half: a flood from that many addresses is stopped elsewhere."""
        self._buckets = {who: bucket for who, bucket in self._buckets.items() if self._level(who, now_s) < self._burst}
        if len(self._buckets) >= self._most:
            self._buckets = dict(list(self._buckets.items())[self._most // 2 :])


# How many credentials are remembered as valid; each is a digest.
MAX_RECOGNISED = 20_000


class Quotas:
    """Enforces the limits of callers."""

    def __init__(self, clock: Clock, limits: RequestLimits) -> None:
        self.limits = limits
        self._callers = RateLimiter(clock, limits.rate, limits.rate * limits.burst_s)
        self._sources = RateLimiter(clock, limits.rate, limits.rate * limits.stranger_burst_s)
        wide_rate = limits.rate * WIDE_FACTOR
        self._networks = RateLimiter(clock, wide_rate, wide_rate * limits.stranger_burst_s)
        self._in_progress: Counter[str] = Counter()
        self._body_bytes: Counter[str] = Counter()
        self._recognised: OrderedDict[str, None] = OrderedDict()

    def admit(self, stranger: Source, credential: str) -> None:
        """Check a caller's buckets before the credentials are looked up. Raises LimitedError API-009.

        `credential` identifies the credentials, empty if there are none. Credentials that were valid before do not suffer from strangers
        behind the same address.
        """
        if credential not in self._recognised:
            self.admit_stranger(stranger)
        if credential and not self._callers.take(credential):
            raise issues.TOO_OFTEN.error(who="this caller", rate=f"{self.limits.rate:g}")

    def admit_stranger(self, stranger: Source) -> None:
        """Raises LimitedError API-009."""
        if not self._sources.has_capacity(stranger.key):
            raise issues.TOO_OFTEN.error(who=stranger.key, rate=f"{self.limits.rate:g}")
        if stranger.network and not self._networks.has_capacity(stranger.network):
            raise issues.TOO_OFTEN.error(who=stranger.network, rate=f"{self.limits.rate * WIDE_FACTOR:g}")

    def count_stranger(self, stranger: Source) -> None:
        """Count a public request or one with invalid credentials. Authenticated callers behind the same address are not charged."""
        self._sources.charge(stranger.key)
        if stranger.network:
            self._networks.charge(stranger.network)

    def recognise(self, credential: str) -> None:
        """Remember that these credentials are valid."""
        if credential not in self._recognised:
            self._recognised[credential] = None
            if len(self._recognised) > MAX_RECOGNISED:
                self._recognised.popitem(last=False)

    def forget(self, credential: str) -> None:
        """These credentials are no longer valid, or never were."""
        self._recognised.pop(credential, None)

    def enter(self, who: Source) -> None:
        """Count a request in progress until `leave`. Raises LimitedError API-007 if the caller has reached the limit."""
        limit = self.limits.in_progress
        if self._in_progress[who.key] >= limit:
            raise issues.TOO_BUSY.error(who=who.key, limit=limit)
        if who.network:
            if self._in_progress[who.network] >= limit * WIDE_FACTOR:
                raise issues.TOO_BUSY.error(who=who.network, limit=limit * WIDE_FACTOR)
            self._in_progress[who.network] += 1
        self._in_progress[who.key] += 1

    def leave(self, who: Source) -> None:
        _subtract(self._in_progress, who.key, 1)
        if who.network:
            _subtract(self._in_progress, who.network, 1)

    @contextlib.contextmanager
    def receiving(self, stranger: Source, size_bytes: int) -> Iterator[None]:
        """Count the memory of a stranger's request body inside the block. Raises LimitedError API-015 if there is too much of it."""
        limits = self.limits
        shares = [(stranger.key, limits.stranger_body_bytes), ("", limits.all_stranger_body_bytes)]
        if stranger.network:
            shares.append((stranger.network, limits.stranger_body_bytes * WIDE_FACTOR))
        if any(self._body_bytes[key] + size_bytes > limit for key, limit in shares):
            raise issues.TOO_MUCH_AT_ONCE.error(who=stranger.key)
        for key, _ in shares:
            self._body_bytes[key] += size_bytes
        try:
            yield
        finally:
            for key, _ in shares:
                _subtract(self._body_bytes, key, size_bytes)


def _subtract(counts: Counter[str], key: str, amount: int) -> None:
    counts[key] -= amount
    if not counts[key]:
        del counts[key]
