"""The lock of a command that runs: other processes see by it whether the process of an order is alive."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def command_locked(state: Path, order_id: str) -> Iterator[None]:
    """Hold the lock of a command inside the block. The kernel releases it when the process ends, however it ends."""
    path = _lock_path(state, order_id)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def is_command_locked(state: Path, order_id: str) -> bool:
    """Whether a process holds the lock of a command. A lock file that no process holds is deleted."""
    try:
        descriptor = os.open(_lock_path(state, order_id), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    _lock_path(state, order_id).unlink(missing_ok=True)
    return False


def _lock_path(state: Path, order_id: str) -> Path:
    return state / "commands" / f"{order_id}.lock"
