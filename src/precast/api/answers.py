"""Tells nodes what became of their records: one task for all who are to be told at a moment, because a task for each would cost as much
as to store what it has sent.
"""

import asyncio
from collections import deque
from typing import Protocol

from precast.services.sessions import Taken


class Listener(Protocol):
    """A connection that has sent records."""

    async def answer(self, taken: Taken) -> None:
        """Tell it, without waiting for it: nobody else is told meanwhile. Raises nothing."""


class Answers:
    """What is to be told, over all connections of a process. Bounded: a connection has nothing more stored until it was told."""

    def __init__(self) -> None:
        self._due: deque[tuple[Listener, Taken]] = deque()
        self._telling: asyncio.Task[None] | None = None

    def give(self, to: Listener, taken: Taken) -> None:
        """Have a connection told soon."""
        self._due.append((to, taken))
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell_all(), name="precast-answers")

    async def _tell_all(self) -> None:
        while self._due:
            to, taken = self._due.popleft()
            await to.answer(taken)
