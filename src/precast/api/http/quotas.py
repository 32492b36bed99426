"""How much one caller may ask of a server: so many requests at once, and so many a second after a burst.

Each caller has a bucket that fills at a rate and from which every request takes one. Known callers are told apart by who they
are, strangers by certificate or address. A bucket that is full says nothing, so it is not kept: memory grows with those who asked
in the last seconds, up to a bound.
"""

from typing import NamedTuple

from precast.api.http import issues
from precast.base.clock import Clock


class Limits(NamedTuple):
    """What a caller may take, and how long things may take."""

    # Requests a second, for each caller; a burst is this many seconds' worth.
    rate: float = 100.0
    burst_s: float = 4.0
    # Strangers may be a fleet behind one address, of which each is asking once.
    stranger_burst_s: float = 10.0
    under_way: int = 64
    # From connecting, or the end of an answer, until the head of the next request is there.
    idle_s: float = 60.0
    body_s: float = 30.0
    handler_s: float = 60.0


class Buckets:
    """One bucket for each name."""

    def __init__(self, clock: Clock, rate: float, burst: float, most: int = 100_000) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = max(burst, 1.0)
        self._most = most
        self._left: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._left)

    def has(self, who: str) -> bool:
        """Whether one could be taken now."""
        return self._level(who, self._clock.monotonic_s()) >= 1.0

    def take(self, who: str) -> bool:
        """Take one; False if there is none."""
        now_s = self._clock.monotonic_s()
        level = self._level(who, now_s)
        if level < 1.0:
            return False
        self._keep(who, level - 1.0, now_s)
        return True

    def charge(self, who: str) -> None:
        """Take one that was used already, also if that leaves a debt."""
        now_s = self._clock.monotonic_s()
        self._keep(who, self._level(who, now_s) - 1.0, now_s)

    def _keep(self, who: str, level: float, now_s: float) -> None:
        if len(self._left) >= self._most and who not in self._left:
            self._forget_full(now_s)
        self._left[who] = (level, now_s)

    def _level(self, who: str, now_s: float) -> float:
        kept = self._left.get(who)
        if kept is None:
            return self._burst
        level, at_s = kept
        return min(self._burst, level + (now_s - at_s) * self._rate)

    def _forget_full(self, now_s: float) -> None:
        """Drop those that are full again. If all are in use, the oldest half: who floods from that many places is met elsewhere."""
        self._left = {who: one for who, one in self._left.items() if self._level(who, now_s) < self._burst}
        if len(self._left) >= self._most:
            self._left = dict(list(self._left.items())[self._most // 2 :])


class Quotas:
    """Holds callers to their limits."""

    def __init__(self, clock: Clock, limits: Limits) -> None:
        self.limits = limits
        self._known = Buckets(clock, limits.rate, limits.rate * limits.burst_s)
        self._strangers = Buckets(clock, limits.rate, limits.rate * limits.stranger_burst_s)
        self._under_way: dict[str, int] = {}

    def admit(self, stranger: str, credential: str) -> None:
        """Look at a caller's buckets before anything is looked up for them. Raises LimitedError API-009.

        `stranger` is as whom they count until they are known; `credential` what they show, empty if that is nothing.
        """
        if not self._strangers.has(stranger):
            raise issues.TOO_OFTEN.error(who=stranger, rate=f"{self.limits.rate:g}")
        if credential and not self._known.take(credential):
            raise issues.TOO_OFTEN.error(who="this caller", rate=f"{self.limits.rate:g}")

    def count_stranger(self, stranger: str) -> None:
        """Note what is public, and credentials that are not good: a known caller behind the same address loses nothing."""
        self._strangers.charge(stranger)

    def enter(self, who: str) -> None:
        """Take one of the places that a caller has; `leave` gives it back. Raises LimitedError API-007 if all are taken."""
        taken = self._under_way.get(who, 0)
        if taken >= self.limits.under_way:
            raise issues.TOO_BUSY.error(who=who, limit=self.limits.under_way)
        self._under_way[who] = taken + 1

    def leave(self, who: str) -> None:
        taken = self._under_way[who]
        if taken > 1:
            self._under_way[who] = taken - 1
        else:
            del self._under_way[who]
