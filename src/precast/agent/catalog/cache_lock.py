"""Keeps fetches into the same cache apart: one must not delete what another is about to use, nor replace what that one has compared."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from precast.agent import issues
from precast.base.files import make_private_directory

_LOCK = "lock"


@contextlib.contextmanager
def cache_locked(directory: Path, name: str = _LOCK) -> Iterator[None]:
    """Hold the lock of a cache inside the block. Raises UnavailableError AGENT-004."""
    path = directory / name
    try:
        make_private_directory(directory)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise issues.CANNOT_KEEP.error(path=path, reason=error.strerror) from None
    try:
        # The holder asks a server. A process that waits here has a deadline, and the kernel releases the lock of a process that ends.
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
