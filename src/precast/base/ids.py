"""Ids, whose source callers pass in: unique without coordination, and sorted by creation time (UUID version 7, RFC 9562)."""

import secrets
import uuid
from collections.abc import Callable
from typing import Protocol

from precast.base.clock import Clock, to_micros


class Ids(Protocol):
    """The source of ids."""

    def new(self) -> str:
        """A unique id."""


class TimeOrderedIds:
    """UUIDv7 as text; within one process each is greater than the one before, also when the clock is set back."""

    def __init__(self, clock: Clock, random_bits: Callable[[int], int] = secrets.randbits) -> None:
        self._clock = clock
        self._random_bits = random_bits
        self._last = 0

    def new(self) -> str:
        # 48 bits of milliseconds, then 12 bits of the fraction of one: RFC 9562, section 6.2, method 3.
        micros = to_micros(self._clock.now())
        stamp = micros // 1000 << 12 | micros % 1000 * 4096 // 1000
        self._last = stamp = max(stamp, self._last + 1)
        value = stamp >> 12 << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | 0b10 << 62 | self._random_bits(62)
        return str(uuid.UUID(int=value))


class CountedIds:
    """Predictable ids for tests: prefix-1, prefix-2, …"""

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self._count = 0

    def new(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"
