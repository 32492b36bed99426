"""The process of a run or of an order: the next daemon recognizes it, asks it to stop when it is late, and kills it if it does not stop.

A process that hangs holds the node's lease, and no other could ever begin. So it has a limit, for a run `MAX_DURATION`: after that it is
asked to stop, and if it has not ended `STOP_GRACE` later, it is killed with every process it started. That may interrupt a change, and
the answer says so. A process is identified by its pid, its start time and the boot of the machine, so no other process is ever mistaken
for it; its age is measured by a clock that cannot be set. A run that a person started by hand is left to that person.
"""

import contextlib
import os
import signal
import time
from datetime import timedelta
from pathlib import Path

import msgspec

from precast.base.programs import signal_group

MAX_DURATION = timedelta(hours=4)
STOP_GRACE = timedelta(minutes=10)

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class RunProcess(msgspec.Struct, frozen=True):
    """A process that a daemon has started; a note in the local store."""

    pid: int
    ticks: int  # its start time, in clock ticks since the boot
    boot: str
    order: str = ""  # that it carries out, if there is one
    limit_s: float | None = None  # None for the limit of a run

    @property
    def is_alive(self) -> bool:
        now = find_process(self.pid)
        return now is not None and (now.ticks, now.boot) == (self.ticks, self.boot)

    @property
    def limit(self) -> timedelta:
        return MAX_DURATION if self.limit_s is None else timedelta(seconds=self.limit_s)

    @property
    def age_s(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self.ticks / _TICKS_PER_S


def request_stop(pid: int) -> None:
    """Ask a process to end: a run after the current resource, a command at once."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def kill_group(pid: int) -> None:
    """Kill a process with every process it started; it leads a session of its own."""
    signal_group(pid, signal.SIGKILL)


def find_process(pid: int) -> RunProcess | None:
    """Return the process that has this pid now; None if there is none, or if it is a zombie."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = _BOOT_ID.read_text().strip()
    except OSError:
        return None
    return None if state in "ZX" else RunProcess(pid, int(fields[18]), boot)
