"""How much of what nodes send waits to be stored, over all connections of a process: a burst of a whole fleet must not fill the memory.

Who finds no room waits, and its socket with it, so the node notices and waits too. What is being stored gives its room back, whatever
becomes of it: so there is always somebody who goes on.
"""

import asyncio
from collections import deque

# As it came; while it is stored it takes several times as much.
MAX_BYTES = 4 * 1024 * 1024


class Intake:
    """The room that the connections of one process share."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._most = self._left = max_bytes
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_full(self) -> bool:
        return self._left <= 0

    def take(self, size_bytes: int) -> None:
        """Take as much as is needed, where there is room at all."""
        self._left -= size_bytes

    async def wait(self) -> None:
        """Wait until there is room at all."""
        while self.is_full:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn

    def give(self, size_bytes: int) -> None:
        self._left += size_bytes
        while self._waiting and self._left > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                # One at a time as long as it is tight: each may take what is left.
                if self._left < self._most // 4:
                    return
