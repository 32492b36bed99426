"""Every execution of a random net obeys the reference implementation, and a restored execution continues without a difference."""

import json
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precast.base import canonical
from precast.base.errors import ConflictError
from precast.net.execution.execution import Execution
from precast.net.model.compiler import compile_net
from precast.net.model.declarations import NetDeclaration, Outcome, Transition
from precast.net.model.structure import Net
from tests.property.net.nets import Move, Reference, State, nets

ROUNDS = 400
QUICK = settings(max_examples=ROUNDS, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))


def do(net: Net, execution: Execution, move: Move) -> None:
    t = net.transitions_by_name[move.name]
    if move.kind == "skip":
        execution.start(net.skip[t])
        execution.finish(net.skip[t], Outcome.SKIPPED)
    elif move.kind == "start":
        execution.start(t)
    else:
        assert move.outcome is not None
        execution.finish(t, move.outcome)


def starts(reference: Reference, state: State) -> set[tuple[str, str]]:
    return {(move.kind, move.name) for move in reference.moves(state) if move.kind != "end"}


def seen_starts(net: Net, execution: Execution) -> set[tuple[str, str]]:
    transitions = net.declared.transitions
    return {("skip" if net.is_skip(t) else "start", transitions[net.step_of(t)].name) for t in execution.enabled()}


def follow_the_rule(declared: NetDeclaration, seed: int, counts: Counter[str]) -> None:
    """Go through a random run side by side with the reference; store and restore on the way."""
    net, reference = compile_net(declared), Reference(declared)
    execution, state = Execution(net), reference.first()
    random = Random(seed)
    for _ in range(30):
        moves = list(reference.moves(state))
        assert starts(reference, state) == seen_starts(net, execution)
        assert tuple(execution.tokens[: len(declared.places)]) == tuple(count for _, count in state.tokens)
        assert execution.is_over == (not moves)
        if not moves:
            counts["ended"] += 1
            return
        move = random.choice(moves)
        do(net, execution, move)
        state = reference.after(state, move)
        counts["moves"] += 1
        if random.random() < 0.3:
            execution = Execution.restore(net, json.loads(canonical.encode(execution.snapshot())))
            counts["restored"] += 1


def test_execution_of_a_random_net_follows_the_rule_also_when_restored() -> None:
    counts: Counter[str] = Counter()

    @QUICK
    @given(nets(), st.integers(0, 2**48))
    def run(declared: NetDeclaration, seed: int) -> None:
        follow_the_rule(declared, seed, counts)

    run()
    print(f"\nfiring rule: {ROUNDS} random nets, {dict(counts)}")
    assert counts["moves"] > ROUNDS
    assert counts["restored"] > ROUNDS // 2


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_execution_of_many_random_nets_follows_the_rule() -> None:
    counts: Counter[str] = Counter()

    @LONG
    @given(nets(most=6, most_steps=5), st.integers(0, 2**48))
    def run(declared: NetDeclaration, seed: int) -> None:
        follow_the_rule(declared, seed, counts)

    run()
    print(f"\nfiring rule, long: {dict(counts)}")
    assert counts["moves"] > 20_000


def run_to_the_end(
    net: Net, ends: list[Outcome], store: bool, most: int
) -> tuple[list[tuple[int, Outcome]], Execution]:
    """Start all that can start, end the oldest; outcomes as given, then success."""
    log: list[tuple[int, Outcome]] = []
    execution = Execution(net, lambda t, outcome: log.append((t, outcome)))
    going: list[int] = []
    outcomes = iter(ends)
    for _ in range(most):
        while len(going) < 3 and (t := execution.start_next()) is not None:
            going.append(t)
        if not going:
            return log, execution
        if store:
            execution = Execution.restore(net, execution.snapshot(), lambda t, outcome: log.append((t, outcome)))
        t = going.pop(0)
        possible = net.outcomes(t)
        wanted = next(outcomes, Outcome.SUCCESS)
        execution.finish(t, wanted if wanted in possible else Outcome.SUCCESS)
    raise AssertionError(f"still running after {most} ends")


@QUICK
@given(nets(is_acyclic=True, most=6, most_steps=6), st.lists(st.sampled_from(Outcome), max_size=10))
def test_execution_of_an_acyclic_net_terminates_and_storing_it_changes_nothing(
    declared: NetDeclaration, ends: list[Outcome]
) -> None:
    takers = tuple(t for t in declared.transitions if t.is_step or t.takes)
    net = compile_net(declared._replace(transitions=takers))
    log, execution = run_to_the_end(net, ends, store=False, most=2_000)
    again, restored = run_to_the_end(net, ends, store=True, most=2_000)
    assert execution.is_over
    assert log == again
    assert execution.snapshot() == restored.snapshot()


def beginning(declared: NetDeclaration, random: Random) -> NetDeclaration:
    """A random first part of a net that is a net itself: no step of it needs a later one."""
    cuts = [
        count
        for count in range(len(declared.transitions) + 1)
        if {name for t in declared.transitions[:count] for name in t.needs}
        <= {t.name for t in declared.transitions[:count]}
    ]
    return declared._replace(transitions=declared.transitions[: random.choice(cuts)])


def test_execution_that_grows_goes_on_as_if_the_larger_net_had_been_there() -> None:
    counts: Counter[str] = Counter()

    @QUICK
    @given(nets(most=6, most_steps=5), st.integers(0, 2**48))
    def run(declared: NetDeclaration, seed: int) -> None:
        random = Random(seed)
        small, net, reference = compile_net(beginning(declared, random)), compile_net(declared), Reference(declared)
        execution, state = Execution(small), reference.first()
        for _ in range(random.randrange(8)):
            known = [m for m in reference.moves(state) if m.name in small.transitions_by_name]
            if not known:
                break
            move = random.choice(known)
            do(small, execution, move)
            state = reference.after(state, move)
            counts["before"] += 1
        execution.grow(net)
        for _ in range(20):
            moves = list(reference.moves(state))
            assert starts(reference, state) == seen_starts(net, execution)
            assert tuple(execution.tokens[: len(declared.places)]) == tuple(count for _, count in state.tokens)
            if not moves:
                return
            move = random.choice(moves)
            do(net, execution, move)
            state = reference.after(state, move)
            counts["after"] += 1

    run()
    assert counts["before"] > ROUNDS // 2
    assert counts["after"] > ROUNDS


def test_execution_asked_to_grow_into_another_net_refuses_and_goes_on() -> None:
    first = compile_net(NetDeclaration("one", (), (Transition("a", is_step=True),)))
    other = compile_net(NetDeclaration("other", (), (Transition("b", is_step=True), Transition("a", is_step=True))))
    execution = Execution(first)
    with pytest.raises(ConflictError, match="does not extend"):
        execution.grow(other)
    assert execution.start_next() == 0
