"""Simulates a net: each transition takes the duration it declares, and everything else is as in a real execution.

The order is that of a real execution with as many workers as it can use: every enabled transition starts, by precedence; transitions that
end at the same time end in the order in which they started, before anything else starts. So the same net always gives the same plan.

The *critical path* goes back from the last end: each run on it is preceded by the run whose end let it start. The *slack* of a run is how
much longer it could take without delaying the whole, as long as the order does not change.
"""

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from precast.net.analysis.waits import WaitGraph
from precast.net.execution.execution import Execution
from precast.net.model.declarations import Outcome
from precast.net.model.plain_net import meets_goal
from precast.net.model.structure import NOBODY, Net

# The simulation of a net that loops would never end. In a net without loops few transitions run more than once.
MOST_RUNS_EACH = 4
LEAST_LIMIT = 20_000
# Enough to see why the net is stuck.
MOST_REASONS = 5


class Run(NamedTuple):
    """One run of a declared transition, or the skipping of a step. `before` are the runs, by index, whose tokens it used."""

    transition: int
    start_ms: int
    end_ms: int
    outcome: Outcome
    before: tuple[int, ...]


class LimitUse(NamedTuple):
    """How busy a limit was: the most tokens in use at once, and the share of all its token time."""

    place: int
    tokens: int
    most: int
    share: float


class Plan(NamedTuple):
    """The result of a simulation. `stuck` says which transitions wait for which if the net did not end properly; `is_cut` that it loops."""

    runs: tuple[Run, ...]
    makespan_ms: int
    slack_ms: tuple[int, ...]
    critical: tuple[int, ...]
    uses: tuple[LimitUse, ...]
    stuck: tuple[str, ...]
    is_cut: bool


def simulate(net: Net, outcomes: Mapping[int, Outcome] | None = None) -> Plan:
    """Simulate the net. Every transition succeeds, except those whose outcome is given."""
    return _Simulation(net, outcomes or {}).plan()


class _Simulation:
    def __init__(self, net: Net, outcomes: Mapping[int, Outcome]) -> None:
        self._net = net
        self._outcomes = outcomes
        self._now_ms = 0
        self._runs: list[Run] = []
        self._running: list[tuple[int, int]] = []  # (end, run)
        self._filled_by: dict[int, int] = {}  # place → the run that put a token there last
        self._limits = [p for p, place in enumerate(net.declared.places) if place.is_limit]
        self._most_runs = max(MOST_RUNS_EACH * len(net.declared.transitions), LEAST_LIMIT)
        self._busy_ms = dict.fromkeys(self._limits, 0)
        self._most = dict.fromkeys(self._limits, 0)
        self._is_ending = False
        self._execution = Execution(net, self._note_auto)

    def plan(self) -> Plan:
        self._start_all()
        while self._running and len(self._runs) < self._most_runs:
            self._advance(self._running[0][0])
            while self._running and self._running[0][0] == self._now_ms:
                self._end(heappop(self._running)[1])
            self._start_all()
        makespan_ms = max((run.end_ms for run in self._runs), default=0)
        return Plan(
            tuple(self._runs),
            makespan_ms,
            tuple(_slack(self._runs, makespan_ms)),
            tuple(_critical(self._runs)),
            tuple(self._use(place, makespan_ms) for place in self._limits),
            self._stuck(),
            bool(self._running),
        )

    def _start_all(self) -> None:
        while (t := self._execution.start_next()) is not None:
            end_ms = self._now_ms + self._net.declared.transitions[t].duration_ms
            heappush(self._running, (end_ms, len(self._runs)))
            self._record(t, t, end_ms, self._outcomes.get(t, Outcome.SUCCESS))
            self._measure_limits()

    def _record(self, t: int, declared: int, end_ms: int, outcome: Outcome) -> None:
        used = (self._filled_by.get(place) for place in self._net.tested(t))
        before = tuple(dict.fromkeys(run for run in used if run is not None))
        self._runs.append(Run(declared, self._now_ms, end_ms, outcome, before))

    def _end(self, number: int) -> None:
        run = self._runs[number]
        self._is_ending = True
        self._execution.finish(run.transition, run.outcome)
        self._is_ending = False
        self._fill(run.transition, run.outcome, number)

    def _fill(self, t: int, outcome: Outcome, number: int) -> None:
        for place, _ in self._net.given(t, outcome):
            self._filled_by[place] = number

    def _note_auto(self, declared: int, outcome: Outcome) -> None:
        """Record an automatic transition or a skip that ended within `start_next`, as a run without duration."""
        if self._is_ending:
            return
        t = self._net.skip[declared] if outcome == Outcome.SKIPPED else declared
        self._record(t, declared, self._now_ms, outcome)
        self._fill(t, outcome, len(self._runs) - 1)

    def _advance(self, time_ms: int) -> None:
        for place in self._limits:
            self._busy_ms[place] += self._in_use(place) * (time_ms - self._now_ms)
        self._now_ms = time_ms

    def _measure_limits(self) -> None:
        for place in self._limits:
            self._most[place] = max(self._most[place], self._in_use(place))

    def _in_use(self, place: int) -> int:
        return max(0, self._net.initial[place] - self._execution.tokens[place])

    def _use(self, place: int, makespan_ms: int) -> LimitUse:
        tokens = self._net.initial[place]
        share = self._busy_ms[place] / (tokens * makespan_ms) if tokens and makespan_ms else 0.0
        return LimitUse(place, tokens, self._most[place], share)

    def _stuck(self) -> tuple[str, ...]:
        """Which transitions wait for which, if the net is meant to end and stopped before its end."""
        net, tokens = self._net, self._execution.tokens
        is_meant_to_end = bool(net.goal) or any(place != NOBODY for place in net.to_do)
        if self._running or not is_meant_to_end or meets_goal(net, tokens):
            return ()
        waiting = WaitGraph(self._execution.net, self._execution.tokens, self._execution.running)
        waits = [waiting.sentence(waiting.reasons(t)[0]) for t in waiting.waiting_transitions()]
        return tuple(waits[:MOST_REASONS]) or ("the goal is not met",)


def _slack(runs: list[Run], makespan_ms: int) -> list[int]:
    """Go from the last run to the first: a run may end as late as the latest start of the runs that used its tokens."""
    latest_end_ms = [makespan_ms] * len(runs)
    for number in range(len(runs) - 1, -1, -1):
        run = runs[number]
        latest_start_ms = latest_end_ms[number] - (run.end_ms - run.start_ms)
        for before in run.before:
            latest_end_ms[before] = min(latest_end_ms[before], latest_start_ms)
    return [latest - run.end_ms for latest, run in zip(latest_end_ms, runs, strict=True)]


def _critical(runs: list[Run]) -> list[int]:
    """The chain of runs that ends last, in order; each run starts when the one before it ends."""
    if not runs:
        return []
    number: int | None = max(range(len(runs)), key=lambda n: (runs[n].end_ms, -n))
    chain: list[int] = []
    while number is not None:
        chain.append(number)
        start_ms = runs[number].start_ms
        number = next((before for before in runs[number].before if runs[before].end_ms == start_ms), None)
    return chain[::-1]
