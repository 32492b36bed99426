"""The check finds a deadlock exactly when brute force finds one, and a transition reported as dead never starts."""

import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from precast.net.analysis.check import check
from precast.net.analysis.deadlock import Verdict, only_fills_and_reads, search, terminates
from precast.net.analysis.reachability import Reachability
from precast.net.analysis.search import SearchLimits, StateSearch
from precast.net.analysis.stubborn import Stubborn
from precast.net.model.compiler import compile_net
from precast.net.model.declarations import NetDeclaration
from precast.net.model.plain_net import list_firings
from precast.net.model.structure import Net
from tests.property.net.nets import Reference, State, nets, value_nets

BRUTE_BOUND = 500
BOUND = 50_000
ROUNDS = 1_000


def stuck(reference: Reference, states: set[State]) -> list[State]:
    return [state for state in states if not any(reference.moves(state)) and not reference.is_proper_end(state)]


def compare(declared: NetDeclaration, counts: Counter[str]) -> None:
    reference = Reference(declared)
    states = reference.explore(BRUTE_BOUND)
    if states is None:
        counts["beyond brute force"] += 1
        return
    net = compile_net(declared)
    report = check(net, BOUND)
    is_stuck = bool(stuck(reference, states))
    counts["deadlock" if is_stuck else "free"] += 1
    counts["brute states"] += len(states)
    counts["largest brute"] = max(counts["largest brute"], len(states))
    counts["searched states"] += report.deadlock.states
    assert report.deadlock.verdict == (Verdict.FOUND if is_stuck else Verdict.FREE)
    # The search alone must agree with what structure alone has decided.
    assert search(net, SearchLimits(BOUND)).verdict == report.deadlock.verdict if declared.transitions else True
    if report.deadlock.tokens:
        ends = {tuple(count for _, count in state.tokens) for state in stuck(reference, states)}
        assert report.deadlock.tokens[: len(declared.places)] in ends
    # Stronger: the reduced search visits exactly the ends that brute force visits, proper or not.
    dead = {project(state) for state in states if not any(reference.moves(state))}
    for order in (StateSearch.nearest_first, StateSearch.deepest_first):
        reduced = state_search(net, SearchLimits(BOUND))
        steps = [place for place in net.to_do if place >= 0]
        visited = {
            (tuple(marking[: len(declared.places)]), tuple(not marking[place] for place in steps))
            for marking in order(reduced)
        }
        assert visited == dead
    counts["ends"] += len(dead)
    counts["reduced states"] += reduced.count


def state_search(net: Net, limits: SearchLimits) -> StateSearch:
    firings = list_firings(net)
    return StateSearch(firings, Stubborn(firings, net.place_count), net.initial, limits)


def project(state: State) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """The visible part of an end: the tokens, and which steps have ended."""
    return tuple(count for _, count in state.tokens), tuple(bool(end) for _, end in state.steps)


def run_rounds(rounds: int, most: int, most_steps: int) -> Counter[str]:
    counts: Counter[str] = Counter()

    @settings(max_examples=rounds, deadline=None, suppress_health_check=list(HealthCheck))
    @given(nets(most=most, most_steps=most_steps))
    def run(declared: NetDeclaration) -> None:
        compare(declared, counts)

    started = time.perf_counter()
    run()
    print(f"\ndeadlock against brute force: {dict(counts)} in {time.perf_counter() - started:.1f} s")
    return counts


def test_deadlock_of_steps_that_wait_for_values_is_found_exactly_when_brute_force_finds_one() -> None:
    counts: Counter[str] = Counter()

    @settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
    @given(value_nets())
    def run(declared: NetDeclaration) -> None:
        assert only_fills_and_reads(compile_net(declared))
        compare(declared, counts)

    run()
    assert counts["deadlock"] > 20
    assert counts["free"] > 20


def test_deadlock_of_a_random_net_is_found_exactly_when_brute_force_finds_one() -> None:
    counts = run_rounds(ROUNDS, 4, 3)
    assert counts["deadlock"] > ROUNDS // 20
    assert counts["free"] > ROUNDS // 20


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_deadlock_of_many_random_nets_is_found_exactly_when_brute_force_finds_one() -> None:
    counts = run_rounds(20_000, 5, 4)
    assert counts["deadlock"] > 1_000
    assert counts["free"] > 1_000


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(nets())
def test_transition_that_is_called_dead_starts_in_no_state(declared: NetDeclaration) -> None:
    reference = Reference(declared)
    net = compile_net(declared)
    dead = {net.transition_name(t) for t in Reachability(net).dead()}
    for state in reference.explore(BRUTE_BOUND) or ():
        assert not dead & {move.name for move in reference.moves(state) if move.kind == "start"}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(nets())
def test_net_that_is_said_to_terminate_has_no_cycle_of_states(declared: NetDeclaration) -> None:
    net = compile_net(declared)
    if not terminates(net):
        return
    seen: set[tuple[int, ...]] = set()
    plain = [(firing.takes, firing.effect()) for firing in list_firings(net)]
    path: list[tuple[tuple[int, ...], int]] = [(tuple(net.initial), 0)]
    on_path = {tuple(net.initial)}
    while path and len(seen) < BRUTE_BOUND:
        tokens, at = path.pop()
        if at == len(plain):
            on_path.discard(tokens)
            seen.add(tokens)
            continue
        path.append((tokens, at + 1))
        takes, effect = plain[at]
        if all(tokens[place] >= count for place, count in takes):
            following = tuple(count + effect.get(place, 0) for place, count in enumerate(tokens))
            assert following not in on_path, "a cycle of states in a net that is said to terminate"
            if following not in seen:
                path.append((following, 0))
                on_path.add(following)
