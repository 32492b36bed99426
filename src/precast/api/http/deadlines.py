"""Ends what takes too long. All deadlines are looked at together, once in a while: a timer for each request would cost as much as
many a request itself.
"""

import asyncio
import time
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")

LOOK_EVERY_S = 0.5


class DeadlineError(Exception):
    """It was not done in time."""


class Deadlines:
    """The work under way, with when each has to be done."""

    def __init__(self) -> None:
        # Kept: to ask which loop is running is a call of the system.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ends: dict[asyncio.Task[object], float] = {}
        self._over: set[asyncio.Task[object]] = set()

    async def within(self, limit_s: float, work: Awaitable[T]) -> T:
        """Do it in the caller's task. Raises DeadlineError if it is not done in time, a little later at most."""
        task = asyncio.current_task(self._loop)
        assert task is not None, "work is done in tasks"
        self._ends[task] = time.monotonic() + limit_s
        try:
            return await work
        except asyncio.CancelledError:
            # Somebody else may have cancelled it too; then it is not ours to forgive.
            if task in self._over and task.uncancel() == 0:
                raise DeadlineError from None
            raise
        finally:
            del self._ends[task]
            self._over.discard(task)

    async def run(self) -> None:
        """Look for ever."""
        self._loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            now_s = time.monotonic()
            for task, end_s in self._ends.items():
                if end_s <= now_s and task not in self._over:
                    self._over.add(task)
                    task.cancel()
