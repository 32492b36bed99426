"""The waits of a run as steps of its net: which resource a step stands for, and how its end comes back to the net."""

import queue
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from precast.agent.futures.run_values import Wait
from precast.agent.futures.waiting_room import WaitEnd, WaitingRoom
from precast.catalog.futures import Need
from precast.net.execution.execution import Execution
from precast.net.model.declarations import Outcome

# How soon a run that only waits notices that it is to stop.
STOP_S = 0.1


class _Ended(NamedTuple):
    step: int
    outcome: Outcome


class StepWaits:
    """The steps after the points of a catalog's order, in which its resources wait for values."""

    def __init__(
        self,
        room: WaitingRoom,
        waits: Mapping[str, tuple[Need, ...]],
        first: int,
        on_end: Callable[[str, WaitEnd], Outcome],
    ) -> None:
        """`first` is the first of these steps. `on_end` is called when a wait has ended, and returns the outcome of its step."""
        self._room = room
        self._waits = [Wait(ref, needs) for ref, needs in waits.items()]
        self._first = first
        self._on_end = on_end
        # At most one entry for each wait.
        self._ended: queue.SimpleQueue[_Ended] = queue.SimpleQueue()
        self._running = 0

    def begin(self, t: int, end: Callable[[Outcome], None]) -> bool:
        """Begin a wait, whose outcome `end` is given by another thread. False if the step is none."""
        if t < self._first:
            return False
        wait = self._waits[t - self._first]
        self._room.begin(wait, lambda ended: end(self._on_end(wait.ref, ended)))
        return True

    def set_idle(self, is_idle: bool) -> None:
        """Note whether the run has nothing else to do."""
        self._room.set_idle(is_idle)

    # For a run with one thread.

    def begin_here(self, t: int) -> bool:
        """Begin a wait that `finish_ended` and `await_end` finish. False if the step is none."""
        has_begun = self.begin(t, lambda outcome: self._ended.put(_Ended(t, outcome)))
        self._running += has_begun
        return has_begun

    def finish_ended(self, execution: Execution) -> None:
        """Finish the waits that have ended."""
        while not self._ended.empty():
            self._finish(execution, self._ended.get())

    def await_end(self, execution: Execution, stop: threading.Event) -> bool:
        """Wait until a wait has ended, and finish it. False if there is none, or if the run is to stop."""
        if not self._running:
            return False
        self.set_idle(True)
        while not stop.is_set():
            try:
                ended = self._ended.get(timeout=STOP_S)
            except queue.Empty:
                continue
            self.set_idle(False)
            self._finish(execution, ended)
            return True
        return False

    def _finish(self, execution: Execution, ended: _Ended) -> None:
        self._running -= 1
        execution.finish(ended.step, ended.outcome)
