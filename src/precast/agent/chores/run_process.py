"""The process of a run: the next daemon recognizes it, asks it to stop when it is late, and kills it if it does not stop.

A run that hangs holds the node's lease, and no other run could ever begin. So a run has a deadline: after `MAX_DURATION` it is asked to
stop, and if it has not ended `STOP_GRACE` later, it is killed with every process it started. That may interrupt a change, and the
report says so. A process is identified by its pid, its start time and the boot of the machine, so no other process is ever mistaken
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
    """A process that a daemon has started for a run; a note in the local store."""

    pid: int
    ticks: int  # its start time, in clock ticks since the boot
    boot: str

    @property
    def is_alive(self) -> bool:
        return find_process(self.pid) == self

    @property
    def age_s(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self.ticks / _TICKS_PER_S


def request_stop(pid: int) -> None:
    """Ask a run to finish the current resource and end."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def kill_group(pid: int) -> None:
    """Kill a run with every process it started; it leads a session of its own."""
    signal_group(pid, signal.SIGKILL)


def find_process(pid: int) -> RunProcess | None:
    """Return the process that has this pid now; None if there is none, or if it is a zombie."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = _BOOT_ID.read_text().strip()
    except OSError:
        return None
    return None if state in "ZX" else RunProcess(pid, int(fields[18]), boot)
