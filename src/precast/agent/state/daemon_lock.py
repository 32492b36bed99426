"""One daemon for each local store. The lock is on a file, so the kernel releases it when the process ends, however it ends."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from precast.agent import issues
from precast.agent.state.paths import STATE, make_state_directory

NAME = "daemon.lock"
# `is_daemon_running` takes the lock for a moment, so a daemon that starts then must wait.
PATIENCE_S = 2.0
RETRY_S = 0.05


@contextlib.contextmanager
def daemon_locked(root: Path) -> Iterator[None]:
    """Hold the daemon's lock inside the block.

    Raises ConflictError AGENT-014 if another daemon holds it, UnavailableError AGENT-010.
    """
    path = root / STATE / NAME
    try:
        make_state_directory(root)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise issues.NO_STORE.error(path=path, reason=error.strerror) from error
    try:
        until_s = time.monotonic() + PATIENCE_S
        while not _lock(handle):
            if time.monotonic() > until_s:
                raise issues.RUNS_ALREADY.error(path=path.parent)
            time.sleep(RETRY_S)
        yield
    finally:
        os.close(handle)


def is_daemon_running(root: Path) -> bool:
    """Whether a daemon holds the lock. Raises UnavailableError AGENT-010 if the caller may not open the file."""
    path = root / STATE / NAME
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise issues.NO_STORE.error(path=path.parent, reason=error.strerror) from error
    try:
        return not _lock(handle)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Lock the file without waiting; False if another process holds the lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
