"""How many attempts may be in flight at once, by how far the intake of results lags behind.

The lag is the time from the arrival of a node's record to its commit. The limit grows while the lag is below its target and shrinks while
the lag is above it, in proportion to the distance, every `WINDOW_S`:

    gradient = clamp(TARGET_LAG_S / mean lag of the window, 1/2, 2)
    limit    = clamp(limit x (1 - SMOOTHING + SMOOTHING x gradient), LEAST, MOST)

A limit that is not used says nothing about the server: it does not grow, and falls back to `INITIAL` by `DECAY` a second. So a limit that
long work has raised does not admit a herd of short work. `docs/explanation/backpressure.md` has the simulation that chose the formula.
"""

import math
from collections.abc import Callable

TARGET_LAG_S = 0.25
WINDOW_S = 0.1
SMOOTHING = 0.1
LEAST_GRADIENT, MOST_GRADIENT = 0.5, 2.0
DECAY = 0.9
LEAST, INITIAL, MOST = 16, 1_000, 100_000


class AdaptiveLimit:
    """The limit of one server."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._limit = float(INITIAL)
        self._unused_since_s: float | None = None
        self._window_began_s = monotonic_s()
        self._lag_sum_s = 0.0
        self._lags = 0

    @property
    def limit(self) -> int:
        """The number of attempts that may be in flight now."""
        return int(self._decayed(self._monotonic_s()))

    def observe(self, lag_s: float, in_flight: int) -> None:
        """Note the present lag of the intake, and how many attempts are in flight.

        Called often, also while nothing is committed: then the lag is the age of the oldest record that waits.
        """
        now_s = self._monotonic_s()
        self._limit = self._decayed(now_s)
        is_used = in_flight >= self._limit / 2
        self._unused_since_s = None if is_used else now_s
        self._lag_sum_s += lag_s
        self._lags += 1
        if now_s - self._window_began_s >= WINDOW_S:
            self._end_window(is_used)
            self._window_began_s, self._lag_sum_s, self._lags = now_s, 0.0, 0

    def _end_window(self, is_used: bool) -> None:
        lag_s = self._lag_sum_s / self._lags
        gradient = MOST_GRADIENT if lag_s <= 0 else TARGET_LAG_S / lag_s
        gradient = min(max(gradient, LEAST_GRADIENT), MOST_GRADIENT)
        if is_used or gradient < 1:
            grown = self._limit * (1 - SMOOTHING + SMOOTHING * gradient)
            self._limit = min(max(grown, LEAST), MOST)

    def _decayed(self, now_s: float) -> float:
        """The limit after the time for which it was not used."""
        if self._unused_since_s is None or self._limit <= INITIAL:
            return self._limit
        return max(float(INITIAL), self._limit * math.pow(DECAY, now_s - self._unused_since_s))
