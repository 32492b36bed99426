"""One daemon for a store: a lock on a file, which ends with the process that has it, whatever ends that."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from precast.agent import issues
from precast.agent.state.places import STATE

NAME = "daemon.lock"
# Whoever only looks has it for a moment.
PATIENCE_S = 2.0
LOOK_S = 0.05


@contextlib.contextmanager
def only_one(root: Path) -> Iterator[None]:
    """Be the daemon of a store. Raises ConflictError AGENT-014 if there is one, UnavailableError AGENT-010."""
    path = root / STATE / NAME
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise issues.NO_STORE.error(path=path, reason=error.strerror) from error
    try:
        until_s = time.monotonic() + PATIENCE_S
        while not _take(handle):
            if time.monotonic() > until_s:
                raise issues.RUNS_ALREADY.error(path=path.parent)
            time.sleep(LOOK_S)
        yield
    finally:
        os.close(handle)


def is_running(root: Path) -> bool:
    """Whether somebody is the daemon of a store. Raises UnavailableError AGENT-010 if that may not be known."""
    path = root / STATE / NAME
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise issues.NO_STORE.error(path=path.parent, reason=error.strerror) from error
    try:
        return not _take(handle)
    finally:
        os.close(handle)


def _take(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
