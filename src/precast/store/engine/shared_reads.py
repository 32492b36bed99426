"""Shared reads: look-ups that arrive while one of the same kind is being answered are batched into the next one.

This mirrors group commit. A read costs a thread switch or a round trip, however much it asks for. So the first caller reads at
once, and the first of the callers that arrive meanwhile reads for all of them. No caller waits for a batch to fill, and no answer is
older than its question.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from precast.store.engine.interface import BatchTransaction, Engine

MAX_BATCH = 256


class _PendingRead(NamedTuple):
    """A caller's look-up. Its future gets the answer, or None when the caller itself has to read for the batch."""

    item: object
    future: "asyncio.Future[tuple[Any] | None]"


class SharedReads:
    """The look-ups under way on one database. The number of callers bounds them: each has one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # For each batch transaction that is running now, the reads of the next one.
        self._queues: dict[BatchTransaction[Any, Any], list[_PendingRead]] = {}

    async def read(self, batch: BatchTransaction[Any, Any], item: object) -> Any:
        """Return the value for this item. An error of the read reaches all callers of a batch, so such transactions do not raise."""
        own = _PendingRead(item, asyncio.get_running_loop().create_future())
        if batch in self._queues:
            self._queues[batch].append(own)
            try:
                answer = await own.future
            except asyncio.CancelledError:
                self._leave(batch, own)
                raise
            if answer is not None:
                return answer[0]
            self._queues[batch].remove(own)
        else:
            self._queues[batch] = []
        return await self._read_batch(batch, own)

    async def _read_batch(self, batch: BatchTransaction[Any, Any], own: _PendingRead) -> Any:
        """Read for this caller and for all that are queued now."""
        queue = self._queues[batch]
        others, queue[:] = queue[: MAX_BATCH - 1], queue[MAX_BATCH - 1 :]
        try:
            items = [own.item, *(other.item for other in others)]
            values: Sequence[Any] = await self._engine.read(partial(batch, items))
        except asyncio.CancelledError:
            # Only this caller was cancelled; the others are queued again.
            queue[:0] = others
            raise
        except BaseException as error:
            for other in others:
                if not other.future.done():
                    other.future.set_exception(error)
            raise
        else:
            for other, value in zip(others, values[1:], strict=True):
                if not other.future.done():
                    other.future.set_result((value,))
            return values[0]
        finally:
            self._hand_over(batch)

    def _hand_over(self, batch: BatchTransaction[Any, Any]) -> None:
        """Let the next queued caller read, if there is one."""
        for pending in self._queues[batch]:
            if not pending.future.done():
                pending.future.set_result(None)
                return
        del self._queues[batch]

    def _leave(self, batch: BatchTransaction[Any, Any], own: _PendingRead) -> None:
        if own in (queue := self._queues.get(batch, [])):
            queue.remove(own)
        if (
            own.future.done()
            and not own.future.cancelled()
            and own.future.exception() is None
            and own.future.result() is None
        ):
            self._hand_over(batch)
