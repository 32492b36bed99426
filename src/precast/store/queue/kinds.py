"""The types of the work queue: kinds with their limits, claims, dead letters."""

import enum
import hashlib
from datetime import datetime
from typing import NamedTuple

import msgspec

MAX_PAYLOAD_BYTES = 64 * 1024
MAX_ERROR_CHARS = 2_000
# The distance between the turns of one lane. The first item of an idle lane gets the turn after the one that is being worked on, so it
# is next. That position advances with every finished turn, so at most this many rounds of such items overtake the next item of a busy
# lane.
LANE_STEPS = 16


class WorkKind(msgspec.Struct, frozen=True):
    """One kind of work and its limits."""

    name: str
    # When this many items wait or are claimed, new keys are refused with WORK-002; a known key can still be enqueued again.
    max_items: int = 100_000
    # Attempts before an item becomes a dead letter.
    max_attempts: int = 5
    # When there are this many dead letters, further failing items stay in the queue and are retried at the slowest rate.
    max_dead: int = 10_000
    pause_first_s: float = 1.0
    pause_cap_s: float = 300.0

    def pause_s(self, key: str, attempt: int) -> float:
        """Return the backoff after a failed attempt: doubling up to the cap, with a jitter of up to a quarter."""
        pause = min(self.pause_cap_s, self.pause_first_s * 2.0 ** min(attempt - 1, 32))
        spread = int.from_bytes(hashlib.sha256(f"{self.name}\0{key}\0{attempt}".encode()).digest()[:4]) / 2**32
        return pause * (1 - spread / 4)


class ItemRequest(NamedTuple):
    """An item to enqueue together with others; its payload is a text."""

    key: str
    payload: str = ""
    due_at: datetime | None = None


class Claim(msgspec.Struct, frozen=True):
    """A leased item. Its fence is greater than that of every earlier claim of the item."""

    kind: str
    key: str
    lane: str
    payload: bytes
    attempt: int
    generation: int
    owner: str
    fence: int
    lease_until: datetime


class Failure(enum.Enum):
    """The outcome of a failed attempt."""

    RETRIED = "retried"
    DEAD = "dead"
    LOST = "lost"


class DeadLetter(msgspec.Struct, frozen=True):
    """An item that has no attempts left."""

    kind: str
    key: str
    lane: str
    payload: bytes
    attempts: int
    last_error: str
    queued_at: datetime
    died_at: datetime


class WaitingItem(msgspec.Struct, frozen=True):
    """An item in the queue, as operators see it."""

    kind: str
    key: str
    lane: str
    attempts: int
    queued_at: datetime
    ready_at: datetime
    owner: str | None
    last_error: str | None


class KindCounts(msgspec.Struct, frozen=True):
    """The numbers of items of one kind: waiting, claimed, dead."""

    kind: str
    waiting: int
    held: int
    dead: int
    oldest_at: datetime | None
