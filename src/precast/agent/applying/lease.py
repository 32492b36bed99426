"""The lease of a run: one run on a node at a time, and a fencing token that only grows.

A run holds a lock on a file, which the kernel releases when the process ends, however it ends. Each run also takes the next token, and
checks it before it stores its results: if the lock's file was deleted under a run that is still active, the earlier of the two runs can
no longer write. A run that is refused learns which process holds the lease.
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
RETRY_S = 0.1
# `is_run_active` takes the lock for a moment, so a run that begins then must wait.
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
def lease_held(
    store: LocalStore, holder: str, wait_s: float = 0.0, on_lease: Callable[[sqlite3.Connection], None] | None = None
) -> Iterator[Lease]:
    """Hold the lease inside the block; `on_lease` is called in the transaction that takes the token.

    Raises ConflictError APPLY-001 if another run still holds the lease after `wait_s`, UnavailableError AGENT-010.
    """
    path = store.path.parent / NAME
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise agent_issues.NO_STORE.error(path=path, reason=error.strerror) from error
    try:
        _lock(handle, store, wait_s)
        with store.transaction() as db:
            db.execute("UPDATE run_lease SET token = token + 1, holder = ?", (holder,))
            ((token,),) = db.execute("SELECT token FROM run_lease").fetchall()
            if on_lease is not None:
                on_lease(db)
        yield Lease(store, token)
    finally:
        os.close(handle)


@contextlib.contextmanager
def lease_shared(
    store: LocalStore, token: int, on_lease: Callable[[sqlite3.Connection], None] | None = None
) -> Iterator[Lease]:
    """The lease with a token, which the caller's process or the one that forked it holds; `on_lease` is called in a transaction.

    Raises ConflictError APPLY-002 if another run has started since.
    """
    lease = Lease(store, token)
    with store.transaction() as db:
        lease.check()
        if on_lease is not None:
            on_lease(db)
    yield lease


def is_run_active(directory: Path) -> bool:
    """Whether a run is active on this node."""
    with runs_blocked(directory) as is_free:
        return not is_free


@contextlib.contextmanager
def runs_blocked(directory: Path) -> Iterator[bool]:
    """Keep runs from beginning inside the block. Yields False if a run is active."""
    try:
        handle = os.open(directory / NAME, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield True  # no run has ever begun
        return
    try:
        yield _try_lock(handle)
    finally:
        os.close(handle)


def _lock(handle: int, store: LocalStore, wait_s: float) -> None:
    until_s = time.monotonic() + max(wait_s, PATIENCE_S)
    while not _try_lock(handle):
        if time.monotonic() >= until_s:
            ((holder,),) = store.read("SELECT holder FROM run_lease")
            raise issues.RUNS_ALREADY.error(holder=holder)
        time.sleep(RETRY_S)


def _try_lock(handle: int) -> bool:
    """Lock the file without waiting; False if another process holds the lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
