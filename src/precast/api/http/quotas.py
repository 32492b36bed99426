"""Limits the requests of one caller: a number in progress, and a number per second after a burst.

Each caller has a token bucket, which refills at a rate and from which every request takes one. Authenticated callers have a bucket by
identity, unauthenticated ones by certificate or address. A full bucket holds no information and is not stored: memory grows with the
callers of the last seconds, up to a bound.
"""

from typing import NamedTuple

from precast.api.http import issues
from precast.base.clock import Clock


class RequestLimits(NamedTuple):
    """How much a caller may request, and how long the parts of a request may take."""

    # Requests per second for each caller, which a server takes from its settings; a burst is the requests of this many seconds.
    rate: float = 100.0
    burst_s: float = 4.0
    # An unauthenticated address may be a fleet behind one address translation, each node of which connects once.
    stranger_burst_s: float = 10.0
    in_progress: int = 64
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


class Quotas:
    """Enforces the limits of callers."""

    def __init__(self, clock: Clock, limits: RequestLimits) -> None:
        self.limits = limits
        self._known = RateLimiter(clock, limits.rate, limits.rate * limits.burst_s)
        self._strangers = RateLimiter(clock, limits.rate, limits.rate * limits.stranger_burst_s)
        self._in_progress: dict[str, int] = {}

    def admit(self, stranger: str, credential: str) -> None:
        """Check a caller's buckets before the credentials are looked up. Raises LimitedError API-009.

        `stranger` is the caller's quota key before authentication; `credential` identifies the credentials, empty if there are none.
        """
        if not self._strangers.has_capacity(stranger):
            raise issues.TOO_OFTEN.error(who=stranger, rate=f"{self.limits.rate:g}")
        if credential and not self._known.take(credential):
            raise issues.TOO_OFTEN.error(who="this caller", rate=f"{self.limits.rate:g}")

    def count_stranger(self, stranger: str) -> None:
        """Count a public request or one with invalid credentials. Authenticated callers behind the same address are not charged."""
        self._strangers.charge(stranger)

    def enter(self, who: str) -> None:
        """Count a request in progress until `leave`. Raises LimitedError API-007 if the caller has reached the limit."""
        count = self._in_progress.get(who, 0)
        if count >= self.limits.in_progress:
            raise issues.TOO_BUSY.error(who=who, limit=self.limits.in_progress)
        self._in_progress[who] = count + 1

    def leave(self, who: str) -> None:
        count = self._in_progress[who]
        if count > 1:
            self._in_progress[who] = count - 1
        else:
            del self._in_progress[who]
