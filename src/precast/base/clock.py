"""The time, which callers pass in: only `SystemClock` reads the machine's clock.

Stored times are whole microseconds since 1970 (UTC): one number that both databases sort and index alike.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Later than every stored time: where a list of the newest rows begins. A clock that was ahead has stored times in the future.
END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC)
# Earlier than every stored time: since then, nothing is too old.
BEGINNING_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """The source of the time."""

    def now(self) -> datetime:
        """The time of day, aware, UTC."""

    def monotonic_s(self) -> float:
        """Seconds that never run backwards, from an unknown start. They also count while the machine is suspended."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)


class ManualClock:
    """A clock that only moves when a test moves it."""

    def __init__(self, start_at: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._now = start_at
        self._monotonic_s = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic_s(self) -> float:
        return self._monotonic_s

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("a clock is only moved forward; use set_back for a wrong clock")
        self._now += timedelta(seconds=seconds)
        self._monotonic_s += seconds

    def set_back(self, seconds: float) -> None:
        """Behave as a corrected or skewed machine clock: the time of day jumps back, the monotonic time does not."""
        self._now -= timedelta(seconds=seconds)

    def set_ahead(self, seconds: float) -> None:
        """As `set_back`, in the other direction."""
        self._now += timedelta(seconds=seconds)


class AnchoredClock:
    """Another machine's time of day, advanced by our monotonic clock, because our time of day may be wrong or corrected at any time."""

    def __init__(self, clock: Clock, there_at: datetime) -> None:
        self._clock = clock
        self.anchor(there_at)

    def anchor(self, there_at: datetime) -> None:
        """Set the other machine's time of day for now."""
        self._there_at = there_at
        self._here_s = self._clock.monotonic_s()

    def now(self) -> datetime:
        return self._there_at + timedelta(seconds=self.monotonic_s() - self._here_s)

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()


def to_micros(time_at: datetime) -> int:
    """A stored time. Raises ValueError for a naive datetime, whose zone is unknown."""
    if time_at.tzinfo is None:
        raise ValueError("a time without a zone cannot be stored")
    return (time_at - _EPOCH) // _MICROSECOND


def from_optional_micros(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)
