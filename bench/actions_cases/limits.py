"""The controllers that are compared, and the figures of each: which one decides how many attempts may be in flight.

`AdaptiveLimit` is the product's. The others are the known ones: additive increase with multiplicative decrease (AIMD), and the gradient
of the short-term to the long-term lag ("gradient2": tolerance 1.5, smoothing 0.2, a queue of the limit's square root). Each begins with
the same limit and bounds, and decides at the same interval.
"""

import math
import random
import statistics
from collections.abc import Callable

from bench.actions_cases.intake_model import Controller, Scenario, Simulation, Trace
from precast.services.jobs.flow.adaptive_limit import INITIAL, LEAST, MOST, TARGET_LAG_S, WINDOW_S, AdaptiveLimit

# Records a second that the simulated intake commits. An attempt needs two.
CAPACITY = 2_000.0
# A record that waits longer is late: people notice.
LATE_S = 2 * TARGET_LAG_S


class FixedLimit:
    """The same limit for ever."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def observe(self, lag_s: float, in_flight: int) -> None:
        """Nothing is learned from it."""


class WindowedLimit:
    """A limit that is decided anew after every window, from the mean lag of that window."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._limit = float(INITIAL)
        self._began_s = monotonic_s()
        self._lags_s: list[float] = []

    @property
    def limit(self) -> int:
        return int(self._limit)

    def observe(self, lag_s: float, in_flight: int) -> None:
        self._lags_s.append(lag_s)
        now_s = self._monotonic_s()
        if now_s - self._began_s >= WINDOW_S:
            decided = self.decide(self._limit, statistics.fmean(self._lags_s), in_flight >= self._limit / 2)
            self._limit = min(max(decided, LEAST), MOST)
            self._began_s = now_s
            self._lags_s.clear()

    def decide(self, limit: float, lag_s: float, is_used: bool) -> float:
        raise NotImplementedError


class Aimd(WindowedLimit):
    """Adds 50 while the lag is below the target, and cuts by a tenth above it."""

    def decide(self, limit: float, lag_s: float, is_used: bool) -> float:
        if lag_s > TARGET_LAG_S:
            return 0.9 * limit
        return limit + 50 if is_used else limit


class Gradient2(WindowedLimit):
    """Compares the lag with its own average over 600 windows."""

    _long_s = 0.0

    def decide(self, limit: float, lag_s: float, is_used: bool) -> float:
        self._long_s = self._long_s + (lag_s - self._long_s) * 2 / 601 if self._long_s else lag_s
        if self._long_s > 2 * lag_s:
            self._long_s *= 0.95
        if not is_used:
            return limit
        gradient = min(max(1.5 * self._long_s / lag_s, 0.5), 1.0)
        return 0.8 * limit + 0.2 * (limit * gradient + math.sqrt(limit))


CONTROLLERS: dict[str, Callable[[Callable[[], float]], Controller]] = {
    "no limit": lambda _: FixedLimit(MOST),
    "fixed, 1,000": lambda _: FixedLimit(INITIAL),
    "AIMD": Aimd,
    "gradient2": Gradient2,
    "gradient to target": AdaptiveLimit,
}


def make_scenarios() -> list[Scenario]:
    """The work and the intake of each scenario. Durations are log-normal; the seeds are fixed."""
    busy, outage = (6.0, 12.0), 0.0
    return [
        Scenario("steady", _durations(1, 40_000, 1.0), [0.0] * 40_000, _capacity(), (0.0, 0.0)),
        Scenario("slow database", _durations(2, 40_000, 1.0), [0.0] * 40_000, _capacity(busy, CAPACITY / 10), busy),
        Scenario("database down", _durations(3, 40_000, 1.0), [0.0] * 40_000, _capacity(busy, outage), busy),
        Scenario(
            "herd",
            _durations(4, 1_500, 1.0) + _durations(5, 10_000, 0.1),
            [number / 300 for number in range(1_500)] + [5.0] * 10_000,
            _capacity(),
            (5.0, 5.0),
        ),
        Scenario(
            "long, then short",
            _durations(6, 4_000, 8.0) + _durations(7, 10_000, 0.05),
            [0.0] * 14_000,
            _capacity(),
            (0.0, 0.0),
        ),
        Scenario(
            "herd after long",
            _durations(8, 6_000, 5.0, 0.3) + _durations(9, 10_000, 0.1),
            [0.0] * 6_000 + [40.0] * 10_000,
            _capacity(),
            (40.0, 40.0),
        ),
    ]


def compare() -> list[dict[str, float | str]]:
    """The figures of every controller in every scenario.

    lost_pct: how much later 95 % of the attempts have ended than without a limit; late_pct: records with a lag above 0.5 s; peak: the most
    records that waited; recovery_s: from the end of the disturbance to the last late record; oscillation: the standard deviation of the
    logarithm of the limit in the last two fifths of the busy time.
    """
    rows: list[dict[str, float | str]] = []
    for scenario in make_scenarios():
        ideal_s = 0.0
        for name, make in CONTROLLERS.items():
            trace = Simulation(scenario, make).run()
            busy_s = _busy_s(scenario, trace)
            ideal_s = ideal_s or busy_s
            rows.append({"scenario": scenario.name, "limit": name, **_figures(scenario, trace, busy_s, ideal_s)})
    return rows


def _figures(scenario: Scenario, trace: Trace, busy_s: float, ideal_s: float) -> dict[str, float]:
    lags_s = sorted(trace.lags_s)
    until_s = scenario.disturbed[1]
    late = [sample.at_s for sample in trace.samples if sample.at_s >= until_s and sample.oldest_s > LATE_S]
    limits = [math.log(sample.limit) for sample in trace.samples if 0.6 * busy_s < sample.at_s < busy_s]
    return {
        "lost_pct": round(100 * (busy_s / ideal_s - 1), 1),
        "p99_lag_s": round(lags_s[int(len(lags_s) * 0.99)], 2),
        "late_pct": round(100 * sum(lag_s > LATE_S for lag_s in lags_s) / len(lags_s), 1),
        "peak": max(sample.queued for sample in trace.samples),
        "recovery_s": round(late[-1] - until_s, 1) if late else 0.0,
        "oscillation": round(statistics.pstdev(limits), 2),
    }


def _busy_s(scenario: Scenario, trace: Trace) -> float:
    """When 95 % of the attempts have ended. The last ones end when their work ends, whatever the limit."""
    return trace.ends_s[int(0.95 * len(scenario.durations_s))]


def _durations(seed: int, count: int, median_s: float, sigma: float = 1.0) -> list[float]:
    chance = random.Random(seed)
    return [min(300.0, chance.lognormvariate(math.log(median_s), sigma)) for _ in range(count)]


def _capacity(during: tuple[float, float] = (0.0, 0.0), reduced: float = CAPACITY) -> Callable[[float], float]:
    return lambda at_s: reduced if during[0] <= at_s < during[1] else CAPACITY
