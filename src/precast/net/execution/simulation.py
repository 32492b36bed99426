"""Runs a net on paper: each transition takes the duration it declares, and everything else is as in a real run.

The order is that of a real run with as many workers as it can use: whatever may start does, by precedence; what ends at the same moment
ends first, in the order in which it started. So the same net always gives the same plan.

The *critical path* goes back from the last end: before each run on it stands the one whose end let it start. The *slack* of a run is how
much longer it could take without the whole taking longer, as long as nothing changes its order.
"""

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from precast.net.analysis.waiting import Waiting
from precast.net.execution.execution import Execution
from precast.net.model.declarations import Outcome
from precast.net.model.plain import meets_goal
from precast.net.model.structure import NOBODY, Net

# A net that loops would go on for ever on paper.
MOST_RUNS = 500_000
# Enough to see why a run is stuck.
MOST_REASONS = 5


class Run(NamedTuple):
    """One run of a declared transition, or the skipping of a step. `before` are the runs, by index, whose tokens it used."""

    transition: int
    start_ms: int
    end_ms: int
    outcome: Outcome
    before: tuple[int, ...]


class Use(NamedTuple):
    """How busy a limit was: the most tokens away at once, and the share of all its token time."""

    place: int
    tokens: int
    most: int
    share: float


class Plan(NamedTuple):
    """What a run on paper looks like. `stuck` says who waits for whom if it did not end properly, `is_cut` that it has no end."""

    runs: tuple[Run, ...]
    makespan_ms: int
    slack_ms: tuple[int, ...]
    critical: tuple[int, ...]
    uses: tuple[Use, ...]
    stuck: tuple[str, ...]
    is_cut: bool


def simulate(net: Net, outcomes: Mapping[int, Outcome] | None = None) -> Plan:
    """Run the net on paper. Everything ends well, but for the transitions whose outcome is given."""
    return _Simulation(net, outcomes or {}).plan()


class _Simulation:
    def __init__(self, net: Net, outcomes: Mapping[int, Outcome]) -> None:
        self._net = net
        self._outcomes = outcomes
        self._now_ms = 0
        self._runs: list[Run] = []
        self._going: list[tuple[int, int]] = []  # (end, run)
        self._filled_by: dict[int, int] = {}  # place → the run that put a token there last
        self._limits = [p for p, place in enumerate(net.declared.places) if place.is_limit]
        self._busy_ms = dict.fromkeys(self._limits, 0)
        self._most = dict.fromkeys(self._limits, 0)
        self._is_ending = False
        self._execution = Execution(net, self._note_auto)

    def plan(self) -> Plan:
        self._start_all()
        while self._going and len(self._runs) < MOST_RUNS:
            self._go_to(self._going[0][0])
            while self._going and self._going[0][0] == self._now_ms:
                self._end(heappop(self._going)[1])
            self._start_all()
        makespan_ms = max((run.end_ms for run in self._runs), default=0)
        return Plan(
            tuple(self._runs),
            makespan_ms,
            tuple(_slack(self._runs, makespan_ms)),
            tuple(_critical(self._runs)),
            tuple(self._use(place, makespan_ms) for place in self._limits),
            self._stuck(),
            bool(self._going),
        )

    def _start_all(self) -> None:
        while (t := self._execution.start_next()) is not None:
            end_ms = self._now_ms + self._net.declared.transitions[t].duration_ms
            heappush(self._going, (end_ms, len(self._runs)))
            self._record(t, t, end_ms, self._outcomes.get(t, Outcome.SUCCESS))
            self._look_at_limits()

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
        """An automatic transition or a skip ended within `start_next`: a run without duration."""
        if self._is_ending:
            return
        t = self._net.skip[declared] if outcome == Outcome.SKIPPED else declared
        self._record(t, declared, self._now_ms, outcome)
        self._fill(t, outcome, len(self._runs) - 1)

    def _go_to(self, moment_ms: int) -> None:
        for place in self._limits:
            self._busy_ms[place] += self._away(place) * (moment_ms - self._now_ms)
        self._now_ms = moment_ms

    def _look_at_limits(self) -> None:
        for place in self._limits:
            self._most[place] = max(self._most[place], self._away(place))

    def _away(self, place: int) -> int:
        return max(0, self._net.initial[place] - self._execution.tokens[place])

    def _use(self, place: int, makespan_ms: int) -> Use:
        tokens = self._net.initial[place]
        share = self._busy_ms[place] / (tokens * makespan_ms) if tokens and makespan_ms else 0.0
        return Use(place, tokens, self._most[place], share)

    def _stuck(self) -> tuple[str, ...]:
        """Who waits for whom, if the net is meant to end and has come to rest without."""
        net, tokens = self._net, self._execution.tokens
        is_meant_to_end = bool(net.goal) or any(place != NOBODY for place in net.to_do)
        if self._going or not is_meant_to_end or meets_goal(net, tokens):
            return ()
        waiting = Waiting.of(self._execution)
        waits = [waiting.sentence(waiting.reasons(t)[0]) for t in waiting.waiting()]
        return tuple(waits[:MOST_REASONS]) or ("the goal is not met",)


def _slack(runs: list[Run], makespan_ms: int) -> list[int]:
    """From the last run to the first: a run may end as late as the latest start of those that used its tokens."""
    latest_end_ms = [makespan_ms] * len(runs)
    for number in range(len(runs) - 1, -1, -1):
        run = runs[number]
        latest_start_ms = latest_end_ms[number] - (run.end_ms - run.start_ms)
        for before in run.before:
            latest_end_ms[before] = min(latest_end_ms[before], latest_start_ms)
    return [latest - run.end_ms for latest, run in zip(latest_end_ms, runs, strict=True)]


def _critical(runs: list[Run]) -> list[int]:
    """The chain of runs that ends last, first run first; each starts when the one before it ends."""
    if not runs:
        return []
    number: int | None = max(range(len(runs)), key=lambda n: (runs[n].end_ms, -n))
    chain: list[int] = []
    while number is not None:
        chain.append(number)
        start_ms = runs[number].start_ms
        number = next((before for before in runs[number].before if runs[before].end_ms == start_ms), None)
    return chain[::-1]
