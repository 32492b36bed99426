"""How long the agent waits before it reconnects, depending on why its connection ended.

Agents that lost their server together must not come back together. The first attempt after a loss comes within a time that the server
chose when it welcomed the agent, by the number of its nodes; the node's name chooses the point within that time. Every later delay is
drawn from the whole of a range that doubles (full jitter). A refused TCP connection costs the server nothing, so it is retried sooner
than a failed handshake: a server that is restarted sees about one handshake for each agent.
"""

import hashlib
import random
from enum import Enum


class EndReason(Enum):
    """Why a connection ended, as far as it matters for the next one."""

    UNREACHABLE = "unreachable"  # no server accepts the TCP connection
    FAILED = "failed"  # lost, too slow, or not this protocol
    LOCAL = "local"  # a failure on this machine
    NOT_ENROLLED = "not enrolled"  # this machine has no certificate yet
    UNTRUSTED = "untrusted"  # the server's certificate is not of our authority
    REFUSED = "refused"  # the server refused the session, and said when to retry
    FENCED = "fenced"  # this node has a newer connection, which may be that of a copy
    CLOCK = "clock"  # a certificate is not valid by the clock of one side
    REVOKED = "revoked"  # our certificate is no longer accepted
    MOVED = "moved"  # the server asked us to reconnect
    CYCLED = "cycled"  # the connection reached its planned age
    OURS = "ours"  # this agent wanted a new connection


# Until a server sends its own.
SPREAD_S = 3.0
# The beginning of the range, and its cap.
UNREACHABLE_S = (1.0, 30.0)
FAILED_S = (5.0, 300.0)
# The first, the second and every further one.
FENCED_S = (2.0, 30.0, 600.0)
REVOKED_S = (600.0, 1800.0)
# Clocks are corrected at any moment, and then everything works again.
CLOCK_S = (5.0, 60.0)
# However long a server asks for: one that was taken over cannot send the node away for good.
MAX_DELAY_S = 3600.0
# An operator may be about to enrol the machine, and checking costs nothing.
NOT_ENROLLED_S = 5.0
# A session that lived this long was a good one: a failure after it counts as the first.
GOOD_S = 60.0
QUICK_S = 1.0


class Backoff:
    """Counts failures in a row and chooses the delay before the next attempt."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self._fraction = fraction(name)
        self._chance = chance
        self._failures = 0
        self._fenced = 0
        self.spread_s = SPREAD_S

    def next_delay_s(self, reason: EndReason, lived_s: float, retry_range_s: tuple[float, float] = (0.0, 0.0)) -> float:
        """Choose the delay after a session that lived for `lived_s`; `retry_range_s` is the range that the server asked for."""
        return min(self._choose_s(reason, lived_s, retry_range_s), MAX_DELAY_S)

    def _choose_s(self, reason: EndReason, lived_s: float, retry_range_s: tuple[float, float]) -> float:
        if lived_s >= GOOD_S:
            self._failures = self._fenced = 0
        match reason:
            case EndReason.REFUSED:
                return self._chance.uniform(*retry_range_s)
            case EndReason.MOVED:
                # A server that sends the agent away at once must not be asked again and again without a delay.
                least_s = self._grow(*UNREACHABLE_S) if lived_s < QUICK_S else 0.0
                return max(least_s, self._chance.uniform(*retry_range_s))
            case EndReason.CYCLED | EndReason.OURS:
                return 0.0
            case EndReason.NOT_ENROLLED:
                return NOT_ENROLLED_S
            case EndReason.FENCED:
                # Soon: only when both machines have connected does the server know that there are two, and holds the node.
                self._fenced += 1
                return self._chance.uniform(0, FENCED_S[min(self._fenced, len(FENCED_S)) - 1])
            case EndReason.CLOCK:
                return self._grow(*CLOCK_S)
            case EndReason.REVOKED:
                return self._chance.uniform(*REVOKED_S)
            case _:
                # A server that had welcomed us is up, or about to come up.
                is_near = reason is EndReason.UNREACHABLE or lived_s > 0
                return self._grow(*(UNREACHABLE_S if is_near else FAILED_S))

    def _grow(self, begin_s: float, cap_s: float) -> float:
        self._failures += 1
        if self._failures == 1:
            return self.spread_s * self._fraction
        return self._chance.uniform(0, min(cap_s, begin_s * 2 ** min(self._failures - 1, 20)))


def fraction(name: str) -> float:
    """A number from 0 to 1 that is always the same for a name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64
