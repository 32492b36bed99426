"""The net as it runs: places and transitions are numbers, arcs are lists of numbers.

Nearly every arc moves one token, so those arcs are bare lists of places. Heavier arcs are in small dictionaries (`heavy_…`), which a run
without heavy arcs never reads. Each transition knows how many of its conditions are unmet, and each place knows the transitions that watch
it, so moving a token costs the same in a net of ten and of a hundred thousand. Executions share these lists and never change them.

Numbers are given in this order. Places: declared ones; the *to do* of each step; the *blocked* of each step that needs others; one for each
need; one *room* for each place with a capacity. Transitions: declared ones, then the *skip* of each step that needs others.
"""

import functools
from collections import Counter
from collections.abc import Sequence

import msgspec

from precast.base import digests
from precast.net.model.declarations import NetDeclaration, Outcome

NumberedArcs = list[tuple[int, int]]
Numbers = Sequence[int]
ByOutcome = tuple[list[Numbers], list[Numbers], list[Numbers]]
HeavyByOutcome = tuple[dict[int, NumberedArcs], dict[int, NumberedArcs], dict[int, NumberedArcs]]

# `watcher` has for each place a transition, NOBODY, or, counting down from GROUP, the index of several transitions in `groups`.
NOBODY = -1
GROUP = -2


class Net(msgspec.Struct, eq=False, dict=True):
    """A compiled net. `compiler.compile_net` makes it; everything else only reads it."""

    declared: NetDeclaration
    initial: list[int]
    takes: list[Numbers]
    # By outcome and transition. The tokens that block dependents are not here: they follow from the places a success fills, see `put_on`.
    puts: ByOutcome
    # By place: the transitions to update when it gets its first token or loses its last.
    watcher: list[int]
    groups: list[list[int]]
    # By transition: how many of its conditions the initial marking leaves unmet.
    unmet: list[int]
    # By transition: whether it has no work of its own and ends when it starts.
    is_auto: bytearray
    # Transitions by precedence, and the position of each there.
    order: list[int]
    rank: list[int]
    # By declared transition: the places and the skip transition of a step, NOBODY where there is none.
    to_do: list[int]
    blocked: list[int]
    skip: list[int]
    # The step that each skip transition ends, and the two ends of each need.
    skipped_step: list[int]
    need_from: list[int]
    need_to: list[int]
    # The declared transitions that have arcs of their own, beside those of a step.
    with_arcs: list[int] = msgspec.field(default_factory=list)
    goal: NumberedArcs = msgspec.field(default_factory=list)
    reads: dict[int, Sequence[tuple[int, int]]] = msgspec.field(default_factory=dict)
    heavy_takes: dict[int, NumberedArcs] = msgspec.field(default_factory=dict)
    heavy_puts: HeavyByOutcome = msgspec.field(default_factory=lambda: ({}, {}, {}))
    # By transition: room that its start frees at once, because it takes more from a bounded place than it can give back.
    frees: dict[int, NumberedArcs] = msgspec.field(default_factory=dict)
    # By place: conditions that ask for more than one token, as (threshold, transition).
    heavy_watch: dict[int, NumberedArcs] = msgspec.field(default_factory=dict)
    # By place with a capacity: the place that holds its free room.
    room: dict[int, int] = msgspec.field(default_factory=dict)

    @property
    def place_count(self) -> int:
        return len(self.initial)

    @property
    def transition_count(self) -> int:
        return len(self.takes)

    @functools.cached_property
    def places_by_name(self) -> dict[str, int]:
        return {place.name: p for p, place in enumerate(self.declared.places)}

    @functools.cached_property
    def transitions_by_name(self) -> dict[str, int]:
        return {transition.name: t for t, transition in enumerate(self.declared.transitions)}

    @functools.cached_property
    def digest(self) -> digests.Digest:
        """The identity of the net. A snapshot records it and can only be restored with the same net."""
        return digests.of_value(self.declared)

    def step_of(self, t: int) -> int:
        """The declared transition that t belongs to: itself, or the step that it skips."""
        declared = len(self.declared.transitions)
        return t if t < declared else self.skipped_step[t - declared]

    def is_skip(self, t: int) -> bool:
        return t >= len(self.declared.transitions)

    def outcomes(self, t: int) -> tuple[Outcome, ...]:
        """The outcomes of t that are part of the model; a check explores all of them."""
        if self.is_skip(t):
            return (Outcome.SKIPPED,)
        declared = self.declared.transitions[t]
        if declared.is_step:
            return (Outcome.SUCCESS, Outcome.FAILURE, Outcome.SKIPPED)
        failure = () if declared.on_failure is None else (Outcome.FAILURE,)
        skip = () if declared.on_skip is None else (Outcome.SKIPPED,)
        return (Outcome.SUCCESS, *failure, *skip)

    def transition_name(self, t: int) -> str:
        name = self.declared.transitions[self.step_of(t)].name
        return f"skip {name}" if self.is_skip(t) else name

    def place_name(self, p: int) -> str:
        """The name that messages show for a place, also for the places of steps and capacities."""
        declared = len(self.declared.places)
        if p < declared:
            return self.declared.places[p].name
        if (need := p - self.first_need) >= 0:
            if need < len(self.need_from):
                before, after = self.need_from[need], self.need_to[need]
                return f"{self.transition_name(before)} → {self.transition_name(after)}"
            return f"room in {self.place_name(self._bounded[need - len(self.need_from)])}"
        steps = self.first_need - declared - len(self.skipped_step)
        if (blocked := p - declared - steps) >= 0:
            return f"{self.transition_name(self.skipped_step[blocked])}: blocked"
        return f"{self.transition_name(self._steps[p - declared])}: to do"

    @functools.cached_property
    def first_need(self) -> int:
        """The number of the first place that stands for a need."""
        return len(self.initial) - len(self.room) - len(self.need_from)

    @functools.cached_property
    def _steps(self) -> list[int]:
        return [t for t, place in enumerate(self.to_do) if place != NOBODY]

    @functools.cached_property
    def _bounded(self) -> list[int]:
        return list(self.room)

    def watchers(self, p: int) -> Sequence[int]:
        """The transitions that one token in p concerns."""
        watcher = self.watcher[p]
        if watcher >= 0:
            return (watcher,)
        return () if watcher == NOBODY else self.groups[GROUP - watcher]

    def put_on(self, t: int, outcome: Outcome) -> Numbers:
        """The places that get one token each when t ends; without success also the *blocked* of every step that needs it."""
        if outcome == Outcome.SUCCESS:
            return self.puts[outcome][t]
        first, needs = self.first_need, len(self.need_to)
        filled = self.puts[Outcome.SUCCESS][self.step_of(t)]
        blocks = [self.blocked[self.need_to[p - first]] for p in filled if first <= p < first + needs]
        return [*blocks, *self.puts[outcome][t]]

    def taken(self, t: int) -> NumberedArcs:
        """The tokens that t takes when it starts, including those of room places."""
        return [*((p, 1) for p in self.takes[t]), *self.heavy_takes.get(t, ())]

    def tested(self, t: int) -> Counter[int]:
        """How many tokens each place must have for t to start: those that t takes and those that it reads."""
        return _sum(self.taken(t), self.reads.get(t, ()))

    def given(self, t: int, outcome: Outcome) -> NumberedArcs:
        """The tokens that the end of t puts, including those of room places; one entry for each place."""
        units = [(p, 1) for p in self.put_on(t, outcome)]
        return list(_sum(units, self.heavy_puts[outcome].get(t, [])).items())


def _sum(*arcs: Sequence[tuple[int, int]]) -> Counter[int]:
    total: Counter[int] = Counter()
    for part in arcs:
        for place, weight in part:
            total[place] += weight
    return total
