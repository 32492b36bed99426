"""Runs work that may never return, with a deadline.

A thread in a system call cannot be stopped. After its deadline it is abandoned, and as long as it is stuck the same work is not started
again: a mount that never answers costs one thread, not one for each collection.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


class StillStuck(TimeoutError):
    """The same work was started earlier and has not returned yet."""


class Deadlines:
    """Remembers which work is stuck. Used by one thread at a time."""

    def __init__(self) -> None:
        self._stuck: dict[str, threading.Thread] = {}

    def within(self, deadline_s: float, name: str, work: Callable[[], Answer]) -> Answer:
        """Run the work and return its result, or raise its error.

        Raises TimeoutError after the deadline, StillStuck as long as the same work of an earlier call has not returned.
        """
        if (thread := self._stuck.get(name)) is not None:
            if thread.is_alive():
                raise StillStuck(name)
            del self._stuck[name]
        results: list[Answer] = []
        errors: list[BaseException] = []
        thread = threading.Thread(target=_run, args=(work, results, errors), name=f"facts: {name}", daemon=True)
        thread.start()
        thread.join(deadline_s)
        if thread.is_alive():
            self._stuck[name] = thread
            raise TimeoutError(name)
        if errors:
            raise errors[0]
        return results[0]


def _run(work: Callable[[], Answer], results: list[Answer], errors: list[BaseException]) -> None:
    try:
        results.append(work())
    except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
        errors.append(error)
