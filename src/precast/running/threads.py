"""Runs a net on threads. Only the calling thread touches the execution; the worker threads do the work and hand back its outcome."""

import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from precast.base.clock import Clock, SystemClock
from precast.net.execution.execution import Execution
from precast.net.model.declarations import Outcome
from precast.running.results import DriverResult, WorkOutcome

# How soon a run that only waits notices that it is to stop.
STOP_S = 0.1


class Waits(Protocol):
    """Transitions whose end comes from outside: they take no thread and are not counted."""

    def begin(self, t: int, end: Callable[[Outcome], None]) -> bool:
        """Begin a transition if it is one of them; `end` is called once, by any thread. False for all others."""

    def set_idle(self, is_idle: bool) -> None:
        """Nothing but such transitions runs now, or that is over."""


def run_threads(
    execution: Execution,
    work: Callable[[int], WorkOutcome],
    at_once: int,
    deadline_s: float | None = None,
    stop: threading.Event | None = None,
    clock: Clock | None = None,
    waits: Waits | None = None,
) -> DriverResult:
    """Do the work of every transition, at most `at_once` together, until nothing can start.

    Work that raises is a failure, and its error is in the result. Once `stop` is set no more work starts, and running work may end. A
    thread cannot be cancelled: after `deadline_s` seconds this function returns at once, the transitions whose work goes on are
    `unfinished`, and the later outcome of that work is dropped. Work that ran when the execution was stored is repeated first. What `waits`
    takes is `unfinished`, too, when `stop` is set.
    """
    driver = _ThreadDriver(execution, work, at_once, stop or threading.Event(), waits)
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
        self,
        execution: Execution,
        work: Callable[[int], WorkOutcome],
        at_once: int,
        stop: threading.Event,
        waits: Waits | None,
    ) -> None:
        self._execution = execution
        self._work = work
        self._at_once = at_once
        self._stop = stop
        self._restored = [t for t, count in sorted(execution.running.items(), reverse=True) for _ in range(count)]
        self._busy = 0
        self._waits = waits
        self._waiting: set[int] = set()
        # Neither queue can hold more than `at_once` entries and one for each wait: only that many are handed out before one comes back.
        self._jobs: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._ends: queue.SimpleQueue[_WorkEnd] = queue.SimpleQueue()
        self._threads = 0
        self.result = DriverResult()

    def run(self, clock: Clock, deadline_s: float | None) -> None:
        """Run until nothing can start. Raises queue.Empty when the deadline passes."""
        until_s = None if deadline_s is None else clock.monotonic_s() + deadline_s
        self._start_all()
        while self._busy or (self._waiting and not self._stop.is_set()):
            left_s = None if until_s is None else max(0.0, until_s - clock.monotonic_s())
            if (end := self._next_end(left_s)) is None:
                continue
            if end.error is not None:
                self.result.errors[end.transition] = end.error
            self._execution.finish(end.transition, end.outcome)
            if end.transition in self._waiting:
                self._waiting.discard(end.transition)
            else:
                self._busy -= 1
            self._start_all()

    def _next_end(self, left_s: float | None) -> "_WorkEnd | None":
        """The next end. None while a run that only waits looks whether it is to stop. Raises queue.Empty after `left_s`."""
        if self._busy or self._waits is None:
            return self._ends.get(timeout=left_s)
        self._waits.set_idle(True)
        try:
            return self._ends.get(timeout=STOP_S if left_s is None else min(STOP_S, left_s))
        except queue.Empty:
            if left_s is not None and left_s <= STOP_S:
                raise
            return None

    def _start_all(self) -> None:
        while self._busy < self._at_once and not self._stop.is_set():
            t = self._restored.pop() if self._restored else self._execution.start_next()
            if t is None:
                return
            if self._waits is not None and self._waits.begin(t, partial(self._end_wait, t)):
                self._waiting.add(t)
                continue
            if self._waits is not None:
                self._waits.set_idle(False)
            self._busy += 1
            self._jobs.put(t)
            if self._threads < self._busy:
                self._threads += 1
                # A daemon thread: work that never returns must not keep the process alive after the deadline.
                threading.Thread(target=self._work_until_dismissed, name=f"net-{self._threads}", daemon=True).start()

    def _end_wait(self, t: int, outcome: Outcome) -> None:
        self._ends.put(_WorkEnd(t, outcome, None))

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
