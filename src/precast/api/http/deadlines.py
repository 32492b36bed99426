"""Cancels requests that take too long. One task checks all deadlines periodically: a timer for each request would cost as much as
many requests do.
"""

import asyncio
import time
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")

CHECK_EVERY_S = 0.5


class DeadlineError(Exception):
    """The work has exceeded its deadline."""


class Deadlines:
    """The tasks in progress, each with its deadline."""

    def __init__(self) -> None:
        # Cached: asking for the running loop costs a system call.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ends: dict[asyncio.Task[object], float] = {}
        self._expired: set[asyncio.Task[object]] = set()

    async def within(self, limit_s: float, work: Awaitable[T]) -> T:
        """Await `work` in the caller's task. Raises DeadlineError after `limit_s`, at most `CHECK_EVERY_S` late."""
        task = asyncio.current_task(self._loop)
        assert task is not None, "requests are handled in tasks"
        self._ends[task] = time.monotonic() + limit_s
        try:
            return await work
        except asyncio.CancelledError:
            # If another task has cancelled it too, the cancellation must go on.
            if task in self._expired and task.uncancel() == 0:
                raise DeadlineError from None
            raise
        finally:
            del self._ends[task]
            self._expired.discard(task)

    async def run(self) -> None:
        """Check the deadlines, for ever."""
        self._loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            now_s = time.monotonic()
            for task, end_s in self._ends.items():
                if end_s <= now_s and task not in self._expired:
                    self._expired.add(task)
                    task.cancel()
