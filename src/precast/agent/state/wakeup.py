"""Wakes the daemon: other processes of the agent signal that they have written something into the local store.

The signal goes through a named pipe beside the store and is only a hint. The daemon also checks the store at intervals, so a signal
that is lost, or that cannot be sent, delays the daemon and does no other harm.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

NAME = "wake"


@contextlib.contextmanager
def listening(directory: Path, on_wake: Callable[[], None]) -> Iterator[bool]:
    """Call `on_wake` for signals inside the block; several signals may lead to one call. Yields whether the pipe could be opened."""
    import asyncio  # only the daemon listens; processes that send a signal should not pay for importing asyncio

    try:
        handle = _open_pipe(directory / NAME)
    except OSError:
        yield False
        return
    loop = asyncio.get_running_loop()

    def read() -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(handle, 4096)
        on_wake()

    loop.add_reader(handle, read)
    try:
        yield True
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def wake_daemon(directory: Path) -> None:
    """Signal the daemon, if it listens. Never waits and never fails."""
    with contextlib.suppress(OSError):
        handle = os.open(directory / NAME, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.write(handle, b".")
        finally:
            os.close(handle)


def _open_pipe(path: Path) -> int:
    """Open the pipe, creating it if necessary. It is opened for reading and writing: with a writer of our own it never reaches its end."""
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
