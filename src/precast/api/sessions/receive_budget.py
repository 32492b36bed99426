"""Limits the memory of records that are received but not stored yet, over all connections of a process.

A connection that finds no free budget stops reading its socket, so the node notices and waits too. Storing frees the budget of its records
whether it succeeds or fails, so some connection can always go on.
"""

import asyncio
from collections import deque

# The size of the records as received; while they are stored they need several times as much memory.
MAX_BYTES = 4 * 1024 * 1024


class ReceiveBudget:
    """The bytes that the connections of one process share."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = self._free_bytes = max_bytes
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_full(self) -> bool:
        return self._free_bytes <= 0

    def acquire(self, size_bytes: int) -> None:
        """Charge a record. It may exceed the free budget, which callers check with `is_full` first."""
        self._free_bytes -= size_bytes

    async def wait_for_space(self) -> None:
        """Wait until some budget is free."""
        while self.is_full:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn

    def release(self, size_bytes: int) -> None:
        """Free budget and wake waiting connections."""
        self._free_bytes += size_bytes
        while self._waiting and self._free_bytes > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                # While little is free, wake one at a time: each may use all of it.
                if self._free_bytes < self._max_bytes // 4:
                    return
