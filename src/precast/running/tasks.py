"""Runs a net on asyncio tasks, all owned by one TaskGroup."""

import asyncio
from collections.abc import Awaitable, Callable

from precast.net.execution.execution import Execution
from precast.net.model.declarations import Outcome
from precast.running.results import Ended, Result


async def run_tasks(
    execution: Execution,
    work: Callable[[int], Awaitable[Ended]],
    at_once: int,
    deadline_s: float | None = None,
    stop: asyncio.Event | None = None,
) -> Result:
    """Do the work of every transition, at most `at_once` together, until nothing can start.

    Work that raises is a failure, and its error is in the result. Once `stop` is set nothing more is started, and what runs may end; after
    `deadline_s` seconds what runs is cancelled. What was running when the execution was restored is done first. Cancelling this call
    cancels the work; the execution then still lists it as running, and can be stored.
    """
    run = _Run(execution, work, at_once, stop or asyncio.Event())
    try:
        async with asyncio.timeout(deadline_s):
            await run.until_over()
    except TimeoutError:
        run.result.is_late = True
    run.result.unfinished = sorted(execution.running)
    run.result.is_complete = execution.is_over
    return run.result


class _Run:
    def __init__(
        self, execution: Execution, work: Callable[[int], Awaitable[Ended]], at_once: int, stop: asyncio.Event
    ) -> None:
        self._execution = execution
        self._work = work
        self._at_once = at_once
        self._stop = stop
        self._again = [t for t, count in sorted(execution.running.items(), reverse=True) for _ in range(count)]
        self._busy = 0
        self._ended = asyncio.Event()
        self.result = Result()

    async def until_over(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._start_all(group)
            while self._busy:
                await self._ended.wait()
                self._ended.clear()
                self._start_all(group)

    def _start_all(self, group: asyncio.TaskGroup) -> None:
        while self._busy < self._at_once and not self._stop.is_set():
            t = self._again.pop() if self._again else self._execution.start_next()
            if t is None:
                return
            self._busy += 1
            group.create_task(self._do(t))

    async def _do(self, t: int) -> None:
        """Do the work of one transition. Cancelled, it leaves the transition running in the execution."""
        try:
            outcome = await self._work(t) or Outcome.SUCCESS
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            outcome = self._failed(t, error)  # the work was cancelled by someone else, not this task
        except Exception as error:  # noqa: BLE001 - the boundary to the work: whatever it raises is its failure
            outcome = self._failed(t, error)
        self._execution.finish(t, outcome)
        self._busy -= 1
        self._ended.set()

    def _failed(self, t: int, error: BaseException) -> Outcome:
        self.result.errors[t] = error
        return Outcome.FAILURE
