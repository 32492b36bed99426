"""Shared reads: questions that come while one of their kind is being answered are asked together next.

The mirror of group commit. A question costs a thread's turn or a round trip, however much is in it, so the first who asks does so
at once, and the first of those who came meanwhile asks for all of them. Nobody waits for a batch to fill, and no answer is older
than its question.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from precast.store.engine.interface import BatchUnit, Engine

MAX_BATCH = 256


class _Waiting(NamedTuple):
    """Somebody's question. Its future gets the answer, or None when it is their turn to ask."""

    item: object
    future: "asyncio.Future[tuple[Any] | None]"


class SharedReads:
    """The questions under way on one database. Bounded by those who ask: each has one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Of each kind that is being asked now, who comes next.
        self._lines: dict[BatchUnit[Any, Any], list[_Waiting]] = {}

    async def read(self, batch: BatchUnit[Any, Any], item: object) -> Any:
        """The value for this item. Raises what the read raises, which may be another item's fault: such units do not raise."""
        own = _Waiting(item, asyncio.get_running_loop().create_future())
        if batch in self._lines:
            self._lines[batch].append(own)
            try:
                answered = await own.future
            except asyncio.CancelledError:
                self._leave(batch, own)
                raise
            if answered is not None:
                return answered[0]
            self._lines[batch].remove(own)
        else:
            self._lines[batch] = []
        return await self._ask(batch, own)

    async def _ask(self, batch: BatchUnit[Any, Any], own: _Waiting) -> Any:
        """Ask for everyone who waits by now."""
        line = self._lines[batch]
        others, line[:] = line[: MAX_BATCH - 1], line[MAX_BATCH - 1 :]
        try:
            values: Sequence[Any] = await self._engine.read(partial(batch, [own.item, *(one.item for one in others)]))
        except asyncio.CancelledError:
            # We are told to stop, they are not.
            line[:0] = others
            raise
        except BaseException as error:
            for one in others:
                if not one.future.done():
                    one.future.set_exception(error)
            raise
        else:
            for one, value in zip(others, values[1:], strict=True):
                if not one.future.done():
                    one.future.set_result((value,))
            return values[0]
        finally:
            self._pass_on(batch)

    def _pass_on(self, batch: BatchUnit[Any, Any]) -> None:
        """Let the next one ask, if there is one."""
        for one in self._lines[batch]:
            if not one.future.done():
                one.future.set_result(None)
                return
        del self._lines[batch]

    def _leave(self, batch: BatchUnit[Any, Any], own: _Waiting) -> None:
        if own in (line := self._lines.get(batch, [])):
            line.remove(own)
        if (
            own.future.done()
            and not own.future.cancelled()
            and own.future.exception() is None
            and own.future.result() is None
        ):
            self._pass_on(batch)
