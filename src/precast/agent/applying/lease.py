"""One run on a node at a time: a lease with a number that only grows.

Whoever holds the lock on a file is the run; the lock ends with the process, whatever ends that. Each run takes the next number, and
what it stores it stores under that number: should somebody have removed the lock's file under a run that still goes on, the older of
the two can no longer write. A second run is told who holds the first.
"""

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from precast.agent import issues as agent_issues
from precast.agent.applying import issues
from precast.agent.state.store import LocalStore

NAME = "run.lock"
LOOK_S = 0.1
# Whoever only looks has it for a moment.
PATIENCE_S = 0.3


class Lease:
    """The right to change this node."""

    def __init__(self, store: LocalStore, token: int) -> None:
        self._store = store
        self.token = token

    def check(self) -> None:
        """Raises ConflictError APPLY-002 if another run has started since."""
        ((current,),) = self._store.read("SELECT token FROM run_lease")
        if current != self.token:
            raise issues.LOST_LEASE.error(token=self.token, current=current)


@contextlib.contextmanager
def held(
    store: LocalStore, holder: str, wait_s: float = 0.0, opens: Callable[[sqlite3.Connection], None] | None = None
) -> Iterator[Lease]:
    """Be the run of this node; `opens` is part of the transaction that says so.

    Raises ConflictError APPLY-001 if there still is another after the wait, UnavailableError AGENT-010.
    """
    path = store.path.parent / NAME
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise agent_issues.NO_STORE.error(path=path, reason=error.strerror) from error
    try:
        _lock(handle, store, wait_s)
        with store.writing() as db:
            db.execute("UPDATE run_lease SET token = token + 1, holder = ?", (holder,))
            ((token,),) = db.execute("SELECT token FROM run_lease").fetchall()
            if opens is not None:
                opens(db)
        yield Lease(store, token)
    finally:
        os.close(handle)


def is_held(directory: Path) -> bool:
    """Whether a run is under way."""
    with unheld(directory) as is_free:
        return not is_free


@contextlib.contextmanager
def unheld(directory: Path) -> Iterator[bool]:
    """Keep runs from beginning for a moment; False if one is under way."""
    try:
        handle = os.open(directory / NAME, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield True  # nobody has ever run
        return
    try:
        yield _take(handle)
    finally:
        os.close(handle)


def _lock(handle: int, store: LocalStore, wait_s: float) -> None:
    until_s = time.monotonic() + max(wait_s, PATIENCE_S)
    while not _take(handle):
        if time.monotonic() >= until_s:
            ((holder,),) = store.read("SELECT holder FROM run_lease")
            raise issues.RUNS_ALREADY.error(holder=holder)
        time.sleep(LOOK_S)


def _take(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
