"""Work that may never come back, waited for only so long.

A thread in a system call cannot be stopped. Past its deadline it is left behind, and as long as it is stuck the same work is not
started again: a mount that never answers costs one thread, not one for each collection.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


class StillStuck(TimeoutError):
    """The same work, started earlier, has not come back yet."""


class Deadlines:
    """Remembers what is stuck. Used by one thread at a time."""

    def __init__(self) -> None:
        self._stuck: dict[str, threading.Thread] = {}

    def within(self, deadline_s: float, name: str, work: Callable[[], Answer]) -> Answer:
        """What the work returns, or the error that it raises. Raises TimeoutError past the deadline, StillStuck until it is back."""
        if (thread := self._stuck.get(name)) is not None:
            if thread.is_alive():
                raise StillStuck(name)
            del self._stuck[name]
        done: list[Answer] = []
        failed: list[BaseException] = []
        thread = threading.Thread(target=_do, args=(work, done, failed), name=f"facts: {name}", daemon=True)
        thread.start()
        thread.join(deadline_s)
        if thread.is_alive():
            self._stuck[name] = thread
            raise TimeoutError(name)
        if failed:
            raise failed[0]
        return done[0]


def _do(work: Callable[[], Answer], done: list[Answer], failed: list[BaseException]) -> None:
    try:
        done.append(work())
    except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
        failed.append(error)
