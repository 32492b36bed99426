"""The words of the work queue: kinds with their limits, claims, dead letters."""

import enum
import hashlib
from datetime import datetime
from typing import NamedTuple

import msgspec

MAX_PAYLOAD_BYTES = 64 * 1024
MAX_ERROR_CHARS = 2_000
# How far apart the turns of one lane are. A newcomer of an idle lane gets the turn after the one that is being worked on, and
# that place moves on as turns are worked off: so it comes at once, and the next item of a busy lane lets at most this many
# rounds of newcomers pass, never all of them.
LANE_STEPS = 16


class WorkKind(msgspec.Struct, frozen=True):
    """One kind of work and its limits."""

    name: str
    # When this many items wait or are held, new keys are refused with WORK-002; asking again for a known key is not.
    max_items: int = 100_000
    # Tries before an item is dead.
    max_attempts: int = 5
    # When this many letters are dead, further items stay in the queue at the slowest pace.
    max_dead: int = 10_000
    pause_first_s: float = 1.0
    pause_cap_s: float = 300.0

    def pause_s(self, key: str, attempt: int) -> float:
        """How long to wait after a failed try: doubling up to the cap, spread by up to a quarter so that a herd parts."""
        pause = min(self.pause_cap_s, self.pause_first_s * 2.0 ** min(attempt - 1, 32))
        spread = int.from_bytes(hashlib.sha256(f"{self.name}\0{key}\0{attempt}".encode()).digest()[:4]) / 2**32
        return pause * (1 - spread / 4)


class Asked(NamedTuple):
    """An item that is asked for together with others; its payload is a text."""

    key: str
    payload: str = ""
    due_at: datetime | None = None


class Claim(msgspec.Struct, frozen=True):
    """An item on lease. The fence is greater than that of every earlier claim of the item."""

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
    """What became of an item that failed."""

    RETRIED = "retried"
    DEAD = "dead"
    LOST = "lost"


class DeadLetter(msgspec.Struct, frozen=True):
    """An item that is out of tries."""

    kind: str
    key: str
    lane: str
    payload: bytes
    attempts: int
    last_error: str
    queued_at: datetime
    died_at: datetime


class WaitingItem(msgspec.Struct, frozen=True):
    """An item in the queue, as people look at it."""

    kind: str
    key: str
    lane: str
    attempts: int
    queued_at: datetime
    ready_at: datetime
    owner: str | None
    last_error: str | None


class Counts(msgspec.Struct, frozen=True):
    """How much there is of one kind."""

    kind: str
    waiting: int
    held: int
    dead: int
    oldest_at: datetime | None
