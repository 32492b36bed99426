"""Wakes the daemon, and the processes that wait for it: each signals that it has written something into the local store.

The signal goes through a named pipe beside the store and is only a hint. The daemon also checks the store at intervals, so a signal
that is lost, or that cannot be sent, delays the daemon and does no other harm. The same holds for a process that waits for values: it has
a pipe of its own in a directory, and the daemon signals to all of them.
"""

import contextlib
import os
import select
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

NAME = "wake"
LISTENERS = "listeners"


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


class Listener:
    """Waits for signals of the daemon, in one thread of this process. If the pipe cannot be made, it only lets the time pass."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LISTENERS / f"{os.getpid()}-{threading.get_native_id()}"
        self._handle = -1
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            self._path.unlink(missing_ok=True)
            self._handle = _open_pipe(self._path)

    def wait(self, timeout_s: float) -> None:
        """Wait for a signal, for so long at most."""
        handles = [self._handle] if self._handle >= 0 else []
        if select.select(handles, [], [], max(0.0, timeout_s))[0]:
            with contextlib.suppress(BlockingIOError):
                os.read(self._handle, 4096)

    def wake(self) -> None:
        """End the wait; any thread may call this."""
        with contextlib.suppress(OSError):
            os.write(self._handle, b".")

    def close(self) -> None:
        if self._handle >= 0:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = -1


def wake_listeners(directory: Path) -> None:
    """Signal the processes that wait for values, and remove the pipes of those that have ended. Never waits and never fails."""
    try:
        paths = list((directory / LISTENERS).iterdir())
    except OSError:
        return  # nothing has ever waited
    for path in paths:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink()
            continue
        with contextlib.suppress(OSError):
            os.write(handle, b".")
        os.close(handle)
