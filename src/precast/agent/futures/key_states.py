"""What this node knows of one key of one node: a value with its bounds, or that it will come, or that it will not.

A value may be used until a time of the server's clock, and for so many seconds since it was received, by a clock that nothing sets and that
runs while the machine is suspended. Whichever bound says that the value has expired is right. After a reboot that clock has begun again, so
a value that has bounds counts as expired until a server has sent it again. So neither a jump of the clock, a suspend nor a reboot revives
a value.
"""

from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from precast.base.clock import Clock

State = Literal["pending", "fulfilled", "failed"]
EXPIRED = "its value has expired"


class Moment(NamedTuple):
    """A point in time, by the clocks of this machine."""

    now: datetime
    boot_s: float  # since the boot
    boot_id: str

    @classmethod
    def take(cls, clock: Clock, boot_id: str) -> "Moment":
        return cls(clock.now(), clock.monotonic_s(), boot_id)


class KeyState(msgspec.Struct, frozen=True):
    """The state of a key of one node, with the moment of its reception."""

    key: str
    node: str
    state: State
    number: int = 0
    value: bytes = b""  # JSON
    is_sensitive: bool = False
    expires_at: datetime | None = None
    left_s: float | None = None
    received_s: float = 0.0
    boot_id: str = ""
    reason: str = ""
    is_standing: bool = False
    has_expired: bool = False  # was found to be expired once; it stays so

    @property
    def has_bounds(self) -> bool:
        return self.expires_at is not None or self.left_s is not None

    def is_expired(self, moment: Moment) -> bool:
        """Whether the value may not be used at this moment any more."""
        if not self.has_bounds or self.has_expired:
            return self.has_expired
        if self.boot_id != moment.boot_id:
            return True
        if self.expires_at is not None and moment.now >= self.expires_at:
            return True
        return self.left_s is not None and moment.boot_s - self.received_s >= self.left_s
