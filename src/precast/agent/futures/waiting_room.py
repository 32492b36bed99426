"""The resources of a run that wait for values. They hold nothing: no lock, no thread, no turn.

One thread looks whether their values are there: when the daemon signals that it has written some, when a resource begins to wait, and at a
deadline. Signals can be lost, so it also looks at intervals. It tells servers which resources wait, and whether the run has anything else
to do: all changes of a short time in one record.
"""

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from precast.agent.futures.resolution import NAMED, Failed, Known, Pending, Resolution, Unavailable
from precast.agent.futures.run_values import RunValues, Wait, Watch
from precast.base.clock import Clock
from precast.base.errors import PrecastError
from precast.catalog.futures import Need

# How soon a lost signal is noticed, and how long changes of what waits are collected before they are told.
POLL_S = 0.5
TELL_S = 0.05


class WaitEnd(NamedTuple):
    """How a wait has ended: the values are there, or the resource has none for a reason; then it fails, or is only waiting."""

    reason: str = ""
    has_failed: bool = False

    @property
    def is_ready(self) -> bool:
        return not self.reason


OnEnd = Callable[[WaitEnd], None]


class _Waiting(NamedTuple):
    wait: Wait
    begun_s: float
    on_end: OnEnd

    def left_s(self, now_s: float) -> float:
        """The time until the next deadline of one of its needs."""
        return min((left for need in self.wait.needs if (left := self.begun_s + need.timeout_s - now_s) > 0), default=0)


class WaitingRoom:
    """Where the resources of one run wait. The thread begins with the first of them, and ends with `close`."""

    def __init__(self, values: RunValues, clock: Clock) -> None:
        self._values = values
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting] = {}
        self._is_new = False
        self._is_idle = False
        self._is_closed = False
        self._told: tuple[frozenset[str], bool] = (frozenset(), False)
        self._watch: Watch | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def begin(self, wait: Wait, on_end: OnEnd) -> None:
        """Let a resource wait; its deadline counts from now. `on_end` is called once, in the thread of the room."""
        with self._lock:
            self._waiting[wait.ref] = _Waiting(wait, self._clock.monotonic_s(), on_end)
            self._is_new = True
        self._wake()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="precast-waits", daemon=True)
            self._thread.start()

    def set_idle(self, is_idle: bool) -> None:
        """Note whether the run has nothing else to do."""
        if self._is_idle != is_idle:
            self._is_idle = is_idle
            self._wake()

    def close(self) -> None:
        """End the thread; what still waits has no end."""
        self._is_closed = True
        self._wake()
        if self._thread is not None:
            self._thread.join()

    def _wake(self) -> None:
        if (watch := self._watch) is not None:
            watch.wake()

    def _run(self) -> None:
        watch = self._watch = self._values.watch()
        try:
            while not self._is_closed:
                self._look(watch)
        finally:
            self._watch = None
            watch.close()

    def _look(self, watch: Watch) -> None:
        """Wait until there may be something to do, and do it."""
        with self._lock:
            is_new, self._is_new = self._is_new, False
            waiting = list(self._waiting.values())
        if is_new:
            self._end_those(waiting)
        has_changed = False
        if self._is_untold():
            has_changed = watch.wait(TELL_S)
            self._tell()
        now_s = self._clock.monotonic_s()
        left_s = min((each.left_s(now_s) for each in waiting), default=POLL_S)
        has_changed |= watch.wait(0 if has_changed else min(POLL_S, left_s))
        if has_changed or left_s <= POLL_S:
            with self._lock:
                waiting = list(self._waiting.values())
            self._end_those(waiting)

    def _end_those(self, waiting: list[_Waiting]) -> None:
        """End the waits whose values are there, or for which there is no hope."""
        if not waiting:
            return
        needs = list(dict.fromkeys(need for each in waiting for need in each.wait.needs))
        try:
            found = dict(zip(needs, self._values.resolve(needs), strict=True))
        except PrecastError:
            return  # the store cannot be read now: looked at again, until the deadline
        now_s = self._clock.monotonic_s()
        for each in waiting:
            end = judge([found[need] for need in each.wait.needs])
            if end is None:
                late = {need: found[need] for need in each.wait.needs if now_s >= each.begun_s + need.timeout_s}
                end = _judge_late(late)
            if end is not None:
                self._end(each, end)

    def _end(self, waiting: _Waiting, end: WaitEnd) -> None:
        with self._lock:
            del self._waiting[waiting.wait.ref]
        if not end.is_ready:
            self._report(lambda: self._values.give_up(waiting.wait.ref, end.reason))
        waiting.on_end(end)

    def _is_untold(self) -> bool:
        return self._told != self._state() and bool(self._waiting or self._told[0])

    def _state(self) -> tuple[frozenset[str], bool]:
        return frozenset(self._waiting), self._is_idle

    def _tell(self) -> None:
        with self._lock:
            state, waits = self._state(), [each.wait for each in self._waiting.values()]
        if state == self._told or (not waits and not self._told[0]):
            return
        self._report(lambda: self._values.note_waits(waits, is_idle=state[1]))
        self._told = state

    def _report(self, tell: Callable[[], None]) -> None:
        """Tell the servers. What cannot be told does not stop the run."""
        try:
            tell()
        except PrecastError:
            return


def judge(found: list[Resolution]) -> WaitEnd | None:
    """How a wait for all of these has ended; None if it has not."""
    for resolution in found:
        if isinstance(resolution, Failed):
            return WaitEnd(resolution.reason, True)
    for resolution in found:
        if isinstance(resolution, Unavailable):
            return WaitEnd(resolution.reason)
    return WaitEnd() if all(isinstance(resolution, Known) for resolution in found) else None


def _judge_late(found: Mapping[Need, Resolution]) -> WaitEnd | None:
    """How a wait ends at the deadlines of these needs; None if it does not."""
    texts = []
    for need, resolution in found.items():
        if isinstance(resolution, Pending):
            nodes = ", ".join(resolution.nodes[:NAMED])
            more = f" and {len(resolution.nodes) - NAMED} more" if len(resolution.nodes) > NAMED else ""
            who = f"promised by {nodes}{more}" if nodes else "and no server has answered"
            texts.append(f"waited {need.timeout_s} s for {need.key}, {who}")
    return WaitEnd("; ".join(texts), True) if texts else None
