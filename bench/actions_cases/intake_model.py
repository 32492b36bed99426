"""A simulated server: attempts in flight under a limit, and an intake that commits what nodes send in batches.

An attempt sends a claim, waits for its commit, works for its duration and sends a result. Both pass the same intake, first in, first out: a
batch of up to `BATCH` records takes a flush and a time for each record, so the intake has a capacity, which a scenario changes over time.
The lag of a record is the time from its arrival to its commit. A controller sees what a server sees: the lag of the oldest record of every
commit, and every quarter of a second the age of the oldest record that waits. Time is simulated, so the machine's speed changes nothing.
"""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

BATCH = 256
FLUSH_S = 0.004
NETWORK_S = 0.005
TICK_S = 0.25
END_S = 600.0


class Controller(Protocol):
    """Decides how many attempts may be in flight."""

    @property
    def limit(self) -> int: ...

    def observe(self, lag_s: float, in_flight: int) -> None: ...


class Scenario(NamedTuple):
    """Durations of attempts in the order in which they start, when each becomes startable, and the intake's capacity over time."""

    name: str
    durations_s: Sequence[float]
    waiting_from_s: Sequence[float]
    capacity: Callable[[float], float]  # records a second; 0 while the database is down
    disturbed: tuple[float, float]  # from when until when the capacity or the load is unusual


class Sample(NamedTuple):
    """The state at one tick."""

    at_s: float
    limit: int
    queued: int
    oldest_s: float


class Trace(NamedTuple):
    """What happened: when each result was committed, the lag of every record, and the samples."""

    ends_s: list[float]
    lags_s: list[float]
    samples: list[Sample]


class Simulation:
    """One scenario under one controller."""

    def __init__(self, scenario: Scenario, make: Callable[[Callable[[], float]], Controller]) -> None:
        self._scenario = scenario
        self._now_s = 0.0
        self._controller = make(lambda: self._now_s)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._next = 0  # the next attempt to start
        self._in_flight = 0
        self._ends_s: list[float] = []
        self._queue: deque[tuple[float, Callable[[], None]]] = deque()
        self._committing: list[tuple[float, Callable[[], None]]] = []
        self._lags_s: list[float] = []
        self._samples: list[Sample] = []

    def run(self) -> Trace:
        self._after(0.0, self._tick)
        while len(self._ends_s) < len(self._scenario.durations_s) and self._now_s < END_S:
            self._now_s, _, event = heapq.heappop(self._events)
            event()
        return Trace(self._ends_s, self._lags_s, self._samples)

    def _after(self, delay_s: float, event: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (self._now_s + delay_s, self._count, event))

    def _tick(self) -> None:
        waiting = self._committing or self._queue
        oldest_s = self._now_s - waiting[0][0] if waiting else 0.0
        if oldest_s:
            self._controller.observe(oldest_s, self._in_flight)
        queued = len(self._queue) + len(self._committing)
        self._samples.append(Sample(self._now_s, self._controller.limit, queued, oldest_s))
        self._start_attempts()
        self._commit()
        self._after(TICK_S, self._tick)

    def _start_attempts(self) -> None:
        scenario = self._scenario
        while self._next < len(scenario.durations_s) and self._in_flight < self._controller.limit:
            if scenario.waiting_from_s[self._next] > self._now_s:
                return
            duration_s = scenario.durations_s[self._next]
            self._next += 1
            self._in_flight += 1
            # The order travels to the node, and the claim back.
            self._after(2 * NETWORK_S, lambda duration_s=duration_s: self._arrive(lambda: self._work(duration_s)))  # type: ignore[misc]

    def _work(self, duration_s: float) -> None:
        self._after(2 * NETWORK_S + duration_s, lambda: self._arrive(self._end))

    def _end(self) -> None:
        self._in_flight -= 1
        self._ends_s.append(self._now_s)

    def _arrive(self, on_commit: Callable[[], None]) -> None:
        self._queue.append((self._now_s, on_commit))
        self._commit()

    def _commit(self) -> None:
        """Begin the commit of the next batch, unless one is going on or the database is down."""
        capacity = self._scenario.capacity(self._now_s)
        if self._committing or not self._queue or not capacity:
            return
        self._committing = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
        self._after(FLUSH_S + len(self._committing) / capacity, self._committed)

    def _committed(self) -> None:
        batch, self._committing = self._committing, []
        self._lags_s.extend(self._now_s - arrived_s for arrived_s, _ in batch)
        for _, on_commit in batch:
            on_commit()
        self._controller.observe(self._now_s - batch[0][0], self._in_flight)
        self._start_attempts()
        self._commit()
