"""The verdict of the check for families of the Model Checking Contest is the known one, and that of brute force for small sizes."""

import re

import pytest

from precast.net.analysis.check import check
from precast.net.analysis.deadlock import DeadlockAnswer, Verdict
from precast.net.analysis.search import SearchLimits, StateSearch
from precast.net.analysis.stubborn import Stubborn
from precast.net.exchange.pnml_reader import read_pnml
from precast.net.exchange.pnml_writer import write_pnml
from precast.net.model.compiler import compile_net
from precast.net.model.plain_net import list_firings
from precast.net.model.structure import Net
from tests.property.net.contest import Case, large_cases, philosophers, small_cases
from tests.property.net.nets import random_net

BRUTE_STATES = 5_000
SMALL, LARGE = list(small_cases()), list(large_cases())


def through_pnml(net: Net) -> Net:
    """The net as another tool would give it: without the notation that restores our own exports."""
    text = re.sub("<toolspecific.*?</toolspecific>", "", write_pnml(net), flags=re.DOTALL)
    return read_pnml("model.pnml", text.encode())


def dead_markings_by_brute_force(net: Net) -> set[tuple[int, ...]] | None:
    """Every reachable marking in which nothing is enabled; None if there are too many markings to list."""
    plain = [(firing.takes, sorted(firing.effect().items())) for firing in list_firings(net)]
    seen, dead = {tuple(net.initial)}, set()
    work = list(seen)
    while work:
        tokens = work.pop()
        enabled = [effect for takes, effect in plain if all(tokens[place] >= count for place, count in takes)]
        if not enabled:
            dead.add(tokens)
        for effect in enabled:
            following = list(tokens)
            for place, change in effect:
                following[place] += change
            if (key := tuple(following)) not in seen:
                if len(seen) >= BRUTE_STATES:
                    return None
                seen.add(key)
                work.append(key)
    return dead


def dead_markings_by_search(net: Net, order: str) -> set[tuple[int, ...]]:
    firings = list_firings(net)
    states = StateSearch(firings, Stubborn(firings, net.place_count), net.initial, SearchLimits(10 * BRUTE_STATES))
    return {tuple(state) for state in getattr(states, order)()}


def require_reached(net: Net, answer: DeadlockAnswer) -> None:
    """The trace of a found deadlock fires, one after the other, and ends in the marking that the answer names, which is dead."""
    marking = list(net.initial)
    for firing in answer.trace:
        assert all(marking[place] >= count for place, count in firing.takes)
        for place, change in firing.effect().items():
            marking[place] += change
    assert tuple(marking) == answer.tokens
    assert not any(all(marking[place] >= count for place, count in firing.takes) for firing in list_firings(net))


def expected(case: Case) -> Verdict:
    return Verdict.FOUND if case.has_deadlock else Verdict.FREE


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_small_net_of_a_family_has_the_known_verdict_and_the_ends_of_brute_force(case: Case) -> None:
    net = through_pnml(case.net)
    assert net.declared.places == case.net.declared.places
    dead = dead_markings_by_brute_force(net)
    assert dead is not None, "give the family a smaller size"
    assert bool(dead) == case.has_deadlock
    answer = check(net).deadlock
    assert answer.verdict == expected(case)
    assert dead_markings_by_search(net, "nearest_first") == dead
    assert dead_markings_by_search(net, "deepest_first") == dead
    if case.has_deadlock:
        assert answer.tokens in dead
        require_reached(net, answer)


@pytest.mark.parametrize("case", LARGE, ids=lambda case: case.name)
def test_large_net_of_a_family_has_the_known_verdict(case: Case) -> None:
    net = through_pnml(case.net)
    answer = check(net).deadlock
    assert answer.verdict == expected(case)
    if case.has_deadlock:
        require_reached(net, answer)


def test_random_nets_that_another_tool_wrote_have_the_ends_of_brute_force() -> None:
    compared = 0
    for seed in range(400):
        net = through_pnml(compile_net(random_net(seed, most=7, most_steps=0)))
        dead = dead_markings_by_brute_force(net)
        if dead is None:
            continue
        answer = check(net).deadlock
        assert answer.verdict == (Verdict.FOUND if dead else Verdict.FREE), f"seed {seed}"
        assert dead_markings_by_search(net, "nearest_first") == dead, f"seed {seed}"
        assert dead_markings_by_search(net, "deepest_first") == dead, f"seed {seed}"
        if dead:
            require_reached(net, answer)
        compared += 1
    assert compared > 300


@pytest.mark.parametrize("count", [50, 2_000])
def test_check_without_time_ends_at_once_and_claims_nothing(count: int) -> None:
    answer = check(philosophers(count).net, 10**9, lambda: -1.0).deadlock
    assert (answer.verdict, answer.states) == (Verdict.NOT_PROVEN, 1)
