"""A knock on the daemon's door: other processes of the agent tell it that something new is in the local store.

It is a hint, through a named pipe beside the store. The daemon looks by itself once in a while, so a knock that nobody hears, or that
cannot be made, costs a moment and nothing else.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

NAME = "wake"


@contextlib.contextmanager
def listening(directory: Path, hear: Callable[[], None]) -> Iterator[bool]:
    """Inside, `hear` is called for knocks, many of them for one; whether there is a door at all."""
    import asyncio  # only the daemon listens; who knocks should not wait for a loop it does not have

    try:
        handle = _opened(directory / NAME)
    except OSError:
        yield False
        return
    loop = asyncio.get_running_loop()

    def read() -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(handle, 4096)
        hear()

    loop.add_reader(handle, read)
    try:
        yield True
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def knock(directory: Path) -> None:
    """Tell the daemon, if it listens. Never waits and never fails."""
    with contextlib.suppress(OSError):
        handle = os.open(directory / NAME, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.write(handle, b".")
        finally:
            os.close(handle)


def _opened(path: Path) -> int:
    """The pipe, made if need be. For reading and writing: with a writer of our own it is never at its end."""
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
