"""How long an agent waits before it tries again, by what ended its connection.

A herd that lost its server together must not come back together. The first try after a loss comes within what the server said when
it welcomed us, by how many we are, spread by the node's name; after that every pause is drawn from the whole range, which doubles
(full jitter). A refused TCP connection costs the server nothing, so it is tried again sooner than a handshake that failed: whoever
restarts a server sees about one handshake per agent.
"""

import hashlib
import random
from enum import Enum


class Verdict(Enum):
    """What ended a connection, as far as it matters for the next one."""

    UNREACHABLE = "unreachable"  # nobody takes the TCP connection
    FAILED = "failed"  # lost, too slow, or not understood
    LOCAL = "local"  # something on this machine
    NOT_ENROLLED = "not enrolled"  # this machine is no node yet
    UNTRUSTED = "untrusted"  # the server is not of our authority
    REFUSED = "refused"  # the server says so, and when to come again
    FENCED = "fenced"  # another connection of this node is newer
    REVOKED = "revoked"  # our certificate is not good any more
    MOVED = "moved"  # the server sent us away
    CYCLED = "cycled"  # it was time for a new connection
    OURS = "ours"  # we wanted a new connection ourselves


# Until a server says otherwise.
SPREAD_S = 3.0
# Where the range begins, and its cap.
UNREACHABLE_S = (1.0, 30.0)
FAILED_S = (5.0, 300.0)
FENCED_S = (300.0, 600.0)
REVOKED_S = (600.0, 1800.0)
# Somebody may be about to enrol it, and looking costs nothing.
NOT_ENROLLED_S = 5.0
# A session that lived this long was a good one: what comes after it is a first failure again.
GOOD_S = 60.0
QUICK_S = 1.0


class Pauses:
    """Counts failures in a row."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self._spread = fraction(name)
        self._chance = chance
        self._failures = 0
        self.spread_s = SPREAD_S

    def next_s(self, verdict: Verdict, lived_s: float, told_s: tuple[float, float] = (0.0, 0.0)) -> float:
        """How long to wait, after a session that lived so long; `told_s` is the range that a server asked for."""
        if lived_s >= GOOD_S:
            self._failures = 0
        match verdict:
            case Verdict.REFUSED:
                return self._chance.uniform(*told_s)
            case Verdict.MOVED:
                # A server that sends us away as soon as we come is not asked without end.
                again_s = self._grow(*UNREACHABLE_S) if lived_s < QUICK_S else 0.0
                return max(again_s, self._chance.uniform(*told_s))
            case Verdict.CYCLED | Verdict.OURS:
                return 0.0
            case Verdict.NOT_ENROLLED:
                return NOT_ENROLLED_S
            case Verdict.FENCED:
                return self._chance.uniform(*FENCED_S)
            case Verdict.REVOKED:
                return self._chance.uniform(*REVOKED_S)
            case _:
                # One that had welcomed us is there, or is about to be.
                is_near = verdict is Verdict.UNREACHABLE or lived_s > 0
                return self._grow(*(UNREACHABLE_S if is_near else FAILED_S))

    def _grow(self, begin_s: float, cap_s: float) -> float:
        self._failures += 1
        if self._failures == 1:
            return self.spread_s * self._spread
        return self._chance.uniform(0, min(cap_s, begin_s * 2 ** min(self._failures - 1, 20)))


def fraction(name: str) -> float:
    """A number from 0 to 1 that is always the same for a name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64
