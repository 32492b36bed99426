"""Has what nodes have sent stored: all that came at a moment together, because a turn of the event loop for each would cost a good part of
what storing it does.
"""

import asyncio
from typing import Protocol


class Sender(Protocol):
    """A connection that has something to be stored."""

    def store(self) -> None:
        """Have it stored, without waiting for that. Raises nothing."""


class Arrivals:
    """Who has something to be stored, over all connections of a process. Bounded: each of them is there once."""

    def __init__(self) -> None:
        self._waiting: list[Sender] = []

    def add(self, one: Sender) -> None:
        """Have it asked soon: what comes together from one is stored together."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._store_all)
        self._waiting.append(one)

    def _store_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.store()
