"""The processes that a task has started, whatever they did to get away.

A process that forks twice, or leads a session of its own, is no longer in the group of the process that started it. But the process of a
task adopts every orphan below it, so all that it has started stay its descendants, and are found in /proc. They are killed again and
again until none is left, because each may start another one meanwhile.
"""

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from precast.base.confinement import kernel

PR_SET_CHILD_SUBREAPER = 36
# How long processes are killed before those that are left are given up: one in an uninterruptible system call ends only after it.
KILL_S = 10.0
PAUSE_S = 0.01


class FoundProcess(NamedTuple):
    """A process, with the time of its start, so that another one with the same number is not taken for it."""

    pid: int
    ticks: int


class _Status(NamedTuple):
    process: FoundProcess
    parent: int
    is_ended: bool  # a zombie, which no parent has reaped


def adopt_orphans() -> None:
    """From now on, become the parent of every descendant whose parent ends. Raises OSError."""
    kernel.prctl(PR_SET_CHILD_SUBREAPER, 1)


def find_children() -> set[FoundProcess]:
    """The direct children of this process that run: those that it has started, and orphans that it has adopted."""
    return {status.process for status in _statuses() if status.parent == os.getpid() and not status.is_ended}


def kill_descendants(spared: Collection[FoundProcess] = (), limit_s: float = KILL_S) -> int:
    """Kill everything below this process, except some of its children with all below them. Returns how many are left after the limit."""
    until_s = time.monotonic() + limit_s
    while left := _find_below(os.getpid(), spared):
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        if time.monotonic() > until_s:
            return len(left)
        time.sleep(PAUSE_S)
        reap_orphans()
    return 0


def reap_orphans(besides: Collection[int] = ()) -> None:
    """Take note of the end of children that have ended, besides those whose end somebody waits for."""
    for status in list(_statuses()):
        if status.parent == os.getpid() and status.is_ended and status.process.pid not in besides:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(status.process.pid, os.WNOHANG)


def _find_below(pid: int, spared: Collection[FoundProcess]) -> list[FoundProcess]:
    """The processes below one that run, each before its own children."""
    children: dict[int, list[_Status]] = {}
    for status in _statuses():
        children.setdefault(status.parent, []).append(status)
    found, waiting = [], [status for status in children.get(pid, ()) if status.process not in spared]
    while waiting:
        status = waiting.pop(0)
        if not status.is_ended:
            found.append(status.process)
        waiting += children.get(status.process.pid, ())
    return found


def _statuses() -> Iterator[_Status]:
    """Every process of this machine. One that ends meanwhile is left out."""
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                state, parent, *fields = (path / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            yield _Status(FoundProcess(int(path.name), int(fields[17])), int(parent), state in "ZX")
