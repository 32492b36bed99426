"""Tells nodes what became of their records: one task for all who are to be told at a moment, because a task for each would cost as much
as to store what it has sent.
"""

import asyncio
from collections import deque
from typing import Protocol

from precast.services.sessions import Taken


class Listener(Protocol):
    """A connection that has sent records."""

    @property
    def is_clogged(self) -> bool:
        """Whether telling it something means to wait."""

    async def answer(self, taken: Taken) -> None:
        """Tell it. Waits only if it is clogged; raises nothing."""


class Answers:
    """What is to be told, over all connections of a process. Bounded: a connection has nothing more stored until it was told."""

    def __init__(self) -> None:
        self._due: deque[tuple[Listener, Taken]] = deque()
        self._telling: asyncio.Task[None] | None = None
        self._apart: set[asyncio.Task[None]] = set()

    def give(self, to: Listener, taken: Taken) -> None:
        """Have a connection told soon."""
        self._due.append((to, taken))
        if self._telling is None:
            self._telling = asyncio.create_task(self._tell_all(), name="precast-answers")

    async def _tell_all(self) -> None:
        while self._due:
            to, taken = self._due.popleft()
            if to.is_clogged:
                # Nobody waits for a node that takes nothing.
                waiting = asyncio.create_task(to.answer(taken), name="precast-answer")
                self._apart.add(waiting)
                waiting.add_done_callback(self._apart.discard)
            else:
                await to.answer(taken)
        self._telling = None
