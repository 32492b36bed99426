"""Runs a net on asyncio tasks, all owned by one TaskGroup."""

import asyncio
from collections.abc import Awaitable, Callable

from precast.net.execution.execution import Execution
from precast.net.model.declarations import Outcome
from precast.running.results import DriverResult, WorkOutcome


async def run_tasks(
    execution: Execution,
    work: Callable[[int], Awaitable[WorkOutcome]],
    at_once: int,
    deadline_s: float | None = None,
    stop: asyncio.Event | None = None,
) -> DriverResult:
    """Do the work of every transition, at most `at_once` together, until nothing can start.

    Work that raises is a failure, and its error is in the result. Once `stop` is set no more work starts, and running work may end; after
    `deadline_s` seconds running work is cancelled. Work that ran when the execution was stored is repeated first. Cancelling this call
    cancels the work; the execution then still lists it as running, and can be stored.
    """
    driver = _TaskDriver(execution, work, at_once, stop or asyncio.Event())
    try:
        async with asyncio.timeout(deadline_s):
            await driver.run()
    except TimeoutError:
        driver.result.is_late = True
    driver.result.unfinished = sorted(execution.running)
    driver.result.is_complete = execution.is_over
    return driver.result


class _TaskDriver:
    def __init__(
        self, execution: Execution, work: Callable[[int], Awaitable[WorkOutcome]], at_once: int, stop: asyncio.Event
    ) -> None:
        self._execution = execution
        self._work = work
        self._at_once = at_once
        self._stop = stop
        self._restored = [t for t, count in sorted(execution.running.items(), reverse=True) for _ in range(count)]
        self._busy = 0
        self._ended = asyncio.Event()
        self.result = DriverResult()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._start_all(group)
            while self._busy:
                await self._ended.wait()
                self._ended.clear()
                self._start_all(group)

    def _start_all(self, group: asyncio.TaskGroup) -> None:
        while self._busy < self._at_once and not self._stop.is_set():
            t = self._restored.pop() if self._restored else self._execution.start_next()
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
            outcome = self._record_failure(t, error)  # the work raised it by itself: this task was not cancelled
        except Exception as error:  # noqa: BLE001 - the boundary to the work: whatever it raises is its failure
            outcome = self._record_failure(t, error)
        self._execution.finish(t, outcome)
        self._busy -= 1
        self._ended.set()

    def _record_failure(self, t: int, error: BaseException) -> Outcome:
        self.result.errors[t] = error
        return Outcome.FAILURE
