"""Runs a net on threads. Only the calling thread touches the execution; the worker threads do the work and hand back its outcome."""

import queue
import threading
from collections.abc import Callable
from typing import NamedTuple

from precast.base.clock import Clock, SystemClock
from precast.net.execution.execution import Execution
from precast.net.model.declarations import Outcome
from precast.running.results import DriverResult, WorkOutcome


def run_threads(
    execution: Execution,
    work: Callable[[int], WorkOutcome],
    at_once: int,
    deadline_s: float | None = None,
    stop: threading.Event | None = None,
    clock: Clock | None = None,
) -> DriverResult:
    """Do the work of every transition, at most `at_once` together, until nothing can start.

    Work that raises is a failure, and its error is in the result. Once `stop` is set no more work starts, and running work may end. A
    thread cannot be cancelled: after `deadline_s` seconds this function returns at once, the transitions whose work goes on are
    `unfinished`, and the later outcome of that work is dropped. Work that ran when the execution was stored is repeated first.
    """
    driver = _ThreadDriver(execution, work, at_once, stop or threading.Event())
    try:
        driver.run(clock or SystemClock(), deadline_s)
    except queue.Empty:
        driver.result.is_late = True
    finally:
        driver.dismiss()
    driver.result.unfinished = sorted(execution.running)
    driver.result.is_complete = execution.is_over
    return driver.result


class _WorkEnd(NamedTuple):
    transition: int
    outcome: Outcome
    error: BaseException | None


class _ThreadDriver:
    def __init__(
        self, execution: Execution, work: Callable[[int], WorkOutcome], at_once: int, stop: threading.Event
    ) -> None:
        self._execution = execution
        self._work = work
        self._at_once = at_once
        self._stop = stop
        self._restored = [t for t, count in sorted(execution.running.items(), reverse=True) for _ in range(count)]
        self._busy = 0
        # Neither queue can hold more than `at_once` entries: only that many are handed out before one comes back.
        self._jobs: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._ends: queue.SimpleQueue[_WorkEnd] = queue.SimpleQueue()
        self._threads = 0
        self.result = DriverResult()

    def run(self, clock: Clock, deadline_s: float | None) -> None:
        """Run until nothing can start. Raises queue.Empty when the deadline passes."""
        until_s = None if deadline_s is None else clock.monotonic_s() + deadline_s
        self._start_all()
        while self._busy:
            left_s = None if until_s is None else max(0.0, until_s - clock.monotonic_s())
            end = self._ends.get(timeout=left_s)
            if end.error is not None:
                self.result.errors[end.transition] = end.error
            self._execution.finish(end.transition, end.outcome)
            self._busy -= 1
            self._start_all()

    def _start_all(self) -> None:
        while self._busy < self._at_once and not self._stop.is_set():
            t = self._restored.pop() if self._restored else self._execution.start_next()
            if t is None:
                return
            self._busy += 1
            self._jobs.put(t)
            if self._threads < self._busy:
                self._threads += 1
                # A daemon thread: work that never returns must not keep the process alive after the deadline.
                threading.Thread(target=self._work_until_dismissed, name=f"net-{self._threads}", daemon=True).start()

    def dismiss(self) -> None:
        """Let every thread end after its current work."""
        for _ in range(self._threads):
            self._jobs.put(None)

    def _work_until_dismissed(self) -> None:
        while (t := self._jobs.get()) is not None:
            try:
                end = _WorkEnd(t, self._work(t) or Outcome.SUCCESS, None)
            except BaseException as error:  # noqa: BLE001 - the boundary to the work; a lost end would block the driver
                end = _WorkEnd(t, Outcome.FAILURE, error)
            self._ends.put(end)
