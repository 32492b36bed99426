"""Random nets, and a second, simple implementation of a net's semantics.

The reference works from the declarations alone, by name, with the states of steps as words instead of places. It shares no code with the
kernel: no numbers, no watchers, no room places, no atomic firings. It is slow, and that is fine.
"""

from collections import Counter, deque
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st

from precast.net.model.declarations import Arcs, NetDeclaration, Outcome, Place, Transition

NAMES = "abcdefgh"


class State(NamedTuple):
    """A marking, the running transitions (a sorted multiset), and the outcome of each step: '' before it ended."""

    tokens: tuple[tuple[str, int], ...]
    running: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]


class Move(NamedTuple):
    """A start, an end with an outcome, or the skipping of a step, which is both at once."""

    kind: str
    name: str
    outcome: Outcome | None = None


class Reference:
    """The moves that are possible in a state, and the state after each."""

    def __init__(self, declared: NetDeclaration) -> None:
        self.declared = declared
        self.transitions = {transition.name: transition for transition in declared.transitions}
        self.capacity = {place.name: place.capacity for place in declared.places if place.capacity is not None}
        self._puts = {(t.name, end): self._put(t, end) for t in declared.transitions for end in Outcome}
        self._takes = {t.name: total(t.takes, t.holds) for t in declared.transitions}
        self._wants = {t.name: total(t.takes, t.holds, t.reads) for t in declared.transitions}

    def first(self) -> State:
        tokens = tuple((place.name, place.tokens) for place in self.declared.places)
        return State(tokens, (), tuple((t.name, "") for t in self.declared.transitions if t.is_step))

    def moves(self, state: State) -> Iterator[Move]:
        for transition in self.declared.transitions:
            if self.can_start(state, transition):
                yield Move("start", transition.name)
            if self.can_skip(state, transition):
                yield Move("skip", transition.name)
        for name in dict.fromkeys(state.running):
            yield from (Move("end", name, outcome) for outcome in self.outcomes(self.transitions[name]))

    def outcomes(self, transition: Transition) -> list[Outcome]:
        if transition.is_step:
            return list(Outcome)
        possible = [Outcome.SUCCESS]
        if transition.on_failure is not None:
            possible.append(Outcome.FAILURE)
        if transition.on_skip is not None:
            possible.append(Outcome.SKIPPED)
        return possible

    def can_start(self, state: State, transition: Transition) -> bool:
        steps = dict(state.steps)
        if transition.is_step:
            if steps[transition.name] or transition.name in state.running:
                return False
            if any(steps[needed] != "SUCCESS" for needed in transition.needs):
                return False
        tokens = dict(state.tokens)
        if any(tokens[place] < count for place, count in self._wants[transition.name].items()):
            return False
        return self.has_room(state, self._takes[transition.name], [self._puts[transition.name, end] for end in Outcome])

    def can_skip(self, state: State, transition: Transition) -> bool:
        steps = dict(state.steps)
        if not transition.is_step or steps[transition.name] or transition.name in state.running:
            return False
        if all(steps[needed] in ("", "SUCCESS") for needed in transition.needs):
            return False
        return self.has_room(state, Counter(), [total(transition.on_skip or ())])

    def has_room(self, state: State, takes: Counter[str], puts: list[Counter[str]]) -> bool:
        """Whether there is room for the most tokens that each running transition, and this one, may put."""
        tokens = dict(state.tokens)
        for place, capacity in self.capacity.items():
            most = max(put[place] for put in puts)
            reserved = sum(max(self._puts[name, end][place] for end in Outcome) for name in state.running)
            if most > takes[place] and tokens[place] + reserved - takes[place] + most > capacity:
                return False
        return True

    def _put(self, transition: Transition, outcome: Outcome) -> Counter[str]:
        ends = (transition.gives, transition.on_failure, transition.on_skip)
        return total(ends[outcome] or (), transition.holds)

    def after(self, state: State, move: Move) -> State:
        transition = self.transitions[move.name]
        tokens, running, steps = Counter(dict(state.tokens)), list(state.running), dict(state.steps)
        if move.kind == "start":
            tokens.subtract(self._takes[move.name])
            running.append(move.name)
        elif move.kind == "end":
            assert move.outcome is not None
            tokens.update(self._puts[move.name, move.outcome])
            running.remove(move.name)
            if transition.is_step:
                steps[move.name] = move.outcome.name
        else:
            tokens.update(total(transition.on_skip or ()))
            steps[move.name] = "SKIPPED"
        return State(
            tuple((name, tokens[name]) for name, _ in state.tokens), tuple(sorted(running)), tuple(steps.items())
        )

    def is_proper_end(self, state: State) -> bool:
        if not self.declared.transitions:
            return True
        if not self.declared.goal and not state.steps:
            return False
        tokens = dict(state.tokens)
        wanted = total(self.declared.goal)
        return all(end for _, end in state.steps) and all(tokens[name] >= count for name, count in wanted.items())

    def explore(self, bound: int) -> set[State] | None:
        """Every reachable state, or None if there are more than the bound."""
        seen = {self.first()}
        work = deque(seen)
        while work:
            state = work.popleft()
            for move in self.moves(state):
                following = self.after(state, move)
                if following not in seen:
                    if len(seen) >= bound:
                        return None
                    seen.add(following)
                    work.append(following)
        return seen


def total(*arcs: Arcs) -> Counter[str]:
    sums: Counter[str] = Counter()
    for part in arcs:
        for name, count in part:
            sums[name] += count
    return sums


def random_net(seed: int, most: int = 4, most_steps: int = 3, is_acyclic: bool = False) -> NetDeclaration:
    """A net of a few places, transitions and steps, often stuck, often in conflict, sometimes without an end."""
    random = Random(seed)
    places = [_place(random, name) for name in NAMES[: random.randint(1, most)]]
    names = [place.name for place in places]
    steps = [f"S{n}" for n in range(random.randint(0, most_steps))]
    work = steps + [f"t{n}" for n in range(random.randint(0 if steps else 1, most))]
    random.shuffle(work)
    transitions: list[Transition] = []
    for n, name in enumerate(work):
        cut = len(names) * (n + 1) // (len(work) + 1)
        before, behind = (names[:cut], names[cut:]) if is_acyclic else (names, names)
        earlier = [t.name for t in transitions if t.is_step] if is_acyclic else steps
        transitions.append(_transition(random, name, before, behind, earlier, is_acyclic))
    goal = _arcs(random, names, 1) if random.random() < 0.6 else ()
    return NetDeclaration(f"random {seed}", tuple(places), tuple(transitions), goal)


def _place(random: Random, name: str) -> Place:
    tokens = random.choice((0, 0, 1, 1, 2, 3))
    capacity = random.choice((None, None, tokens + 1, max(tokens, 1), tokens + 3))
    return Place(name, tokens, capacity, is_limit=capacity is None and random.random() < 0.5)


def _transition(
    random: Random, name: str, before: list[str], behind: list[str], earlier: list[str], is_acyclic: bool
) -> Transition:
    is_step = name in earlier or name.startswith("S")
    needs = random.sample(earlier, min(len(earlier), random.choice((0, 1, 1, 2)))) if is_step else []
    fewest = 0 if is_step or is_acyclic or random.random() < 0.05 else 1
    return Transition(
        name,
        is_step,
        tuple(needs),
        takes=_arcs(random, before, 2, fewest) if not is_step or random.random() < 0.4 else (),
        reads=_arcs(random, before, 1) if random.random() < 0.3 else (),
        holds=_arcs(random, before, 1) if random.random() < 0.4 and not is_acyclic else (),
        gives=_arcs(random, behind, 2) if not is_step or random.random() < 0.4 else (),
        on_failure=_arcs(random, behind, 2) if random.random() < 0.3 else None,
        on_skip=_arcs(random, behind, 1) if random.random() < 0.2 else None,
        duration_ms=random.randint(0, 4) * 500,
        priority=random.choice((0, 0, 0, 1, -1)),
        is_auto=not is_step and random.random() < 0.2,
    )


def _arcs(random: Random, places: list[str], most: int, fewest: int = 0) -> Arcs:
    count = min(len(places), random.randint(fewest, most))
    return tuple((name, random.choice((1, 1, 1, 1, 2, 3))) for name in random.sample(places, count))


def nets(most: int = 4, most_steps: int = 3, is_acyclic: bool = False) -> st.SearchStrategy[NetDeclaration]:
    """Random nets by seed: a thousand times quicker to make than arc by arc, and a failure prints the whole net."""
    return st.builds(random_net, st.integers(0, 2**48), st.just(most), st.just(most_steps), st.just(is_acyclic))


def random_value_net(seed: int, most: int = 3, most_steps: int = 5) -> NetDeclaration:
    """A net of steps that hold limits, fill values at their end and read values: often a circle, or too few who fill."""
    random = Random(seed)
    values = list(NAMES[: random.randint(1, most)])
    limits = ["x", "y"][: random.randint(0, 2)]
    steps = [f"S{n}" for n in range(random.randint(1, most_steps))]
    places = [Place(name, random.choice((0, 0, 0, 1))) for name in values]
    places += [Place(name, random.choice((1, 1, 2)), is_limit=True) for name in limits]
    transitions = []
    for n, name in enumerate(steps):
        gives = _arcs(random, values, 2)
        needs = random.sample(steps[:n], min(n, random.choice((0, 0, 1, 1, 2))))
        reads = _arcs(random, values, 2) if random.random() < 0.6 else ()
        holds = tuple((limit, 1) for limit in random.sample(limits, random.randint(0, len(limits))))
        transitions.append(Transition(name, True, tuple(needs), (), reads, holds, gives, gives, gives))
    goal = _arcs(random, values, 1) if random.random() < 0.3 else ()
    return NetDeclaration(f"values {seed}", tuple(places), tuple(transitions), goal)


def value_nets() -> st.SearchStrategy[NetDeclaration]:
    return st.builds(random_value_net, st.integers(0, 2**48))
