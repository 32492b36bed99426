"""The process of a run: known again by whoever starts the daemon next, told to wind up when it is late, killed when it does not.

A run that hangs holds the node's lease, and nothing would ever run here again. So it has an end: after `LONGEST` it is told to wind
up, and if it has not done so `WIND_UP` later, it is killed with all it started. That may be in the middle of a change, and is said so.
A process is known by its number, the moment it began and the boot of the machine, so no other is ever taken for it; how long it runs is
counted by a clock that nobody sets. What somebody started by hand is theirs to end.
"""

import contextlib
import os
import signal
import time
from datetime import timedelta
from pathlib import Path

import msgspec

LONGEST = timedelta(hours=4)
WIND_UP = timedelta(minutes=10)

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class RunProcess(msgspec.Struct, frozen=True):
    """A process that a daemon has started for a run, as the local store notes it."""

    pid: int
    ticks: int  # after the boot, when it began
    boot: str

    @property
    def is_alive(self) -> bool:
        return known(self.pid) == self

    @property
    def age_s(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self.ticks / _TICKS_PER_S


def wind_up(pid: int) -> None:
    """Let it end what it is doing, and then itself."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def kill_group(pid: int) -> None:
    """End it with all it started; it leads a session of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def known(pid: int) -> RunProcess | None:
    """The process that has this number now; None if none has, or it has ended and was not waited for."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = _BOOT_ID.read_text().strip()
    except OSError:
        return None
    return None if state in "ZX" else RunProcess(pid, int(fields[18]), boot)
