"""Decides whether a run can get stuck: a reachable marking in which nothing is enabled and the goal is not met.

Structure first. (1) A net whose transitions are all steps, with limits and locks that give back what they took, cannot get stuck unless a
step can never end at all: a start takes everything at once, so no step holds one limit while it waits for another; when nothing runs, all
limits are full, and the first step in order whose needs have all ended can start or be skipped. Steps may also wait for values: places that
steps fill at their end, whatever their outcome, and that are only read. In such a net nothing that happens ever disables anything, so one
run in which all work succeeds decides (`only_fills_and_reads`). (2) A net that surely terminates gets
stuck if its goal is out of reach, or if a step can never start: when all work succeeds nothing is ever skipped, so in the end that step is
still to do. (3) A net in which one transition can always start is never stuck. Only if none of these applies are markings searched,
reduced by stubborn sets (see `stubborn`), up to limits of states, memory and time (see `search`). Beyond them the answer is "not proven".
"""

import enum
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from precast.net.analysis.reachability import GainedPlaces, Reachability
from precast.net.analysis.search import SearchLimits, State, StateSearch, Walks
from precast.net.analysis.stubborn import Stubborn
from precast.net.execution.execution import Execution
from precast.net.model.plain_net import Firing, list_firings, meets_goal
from precast.net.model.structure import NOBODY, Net

# How many states are searched in a net of ordinary size; in larger nets fewer, so that a check stays within seconds.
DEFAULT_BOUND = 100_000
_WORK = 200_000_000
# How many of them in the order of their distance from the start.
NEAR = 5_000

_CAN_STOP = "a run can reach a marking in which nothing can start"


class Verdict(enum.Enum):
    """What is known about deadlocks."""

    FREE = "free"
    FOUND = "found"
    NOT_PROVEN = "not proven"


class DeadlockAnswer(NamedTuple):
    """The verdict and its reason; for a deadlock found by search also the firings that lead to it and its marking."""

    verdict: Verdict
    reason: str
    states: int = 0
    trace: tuple[Firing, ...] = ()
    tokens: tuple[int, ...] = ()


def find_deadlock(net: Net, reachability: Reachability, limits: SearchLimits) -> DeadlockAnswer:
    """Whether a run of this net can get stuck, as far as a search within the limits can tell."""
    if not net.transition_count:
        return DeadlockAnswer(Verdict.FREE, "the net has no transitions that could wait")
    dead = reachability.dead()
    endless = [t for t in dead if net.to_do[t] != NOBODY]
    goal_is_open = all(_is_within(reachability, place, wanted) for place, wanted in net.goal)
    if is_only_steps(net) and not dead and goal_is_open:
        return DeadlockAnswer(
            Verdict.FREE, "all work is steps in an order without cycles, and every limit gets back what it gave"
        )
    if only_fills_and_reads(net):
        return _run_once(net)
    if (endless or not goal_is_open) and terminates(net):
        names = ", ".join(net.transition_name(t) for t in endless[:3])
        reason = f"even if all else succeeds, {names} can never end" if endless else "the goal can never be met"
        return DeadlockAnswer(Verdict.FOUND, reason)
    if (t := _find_always_enabled(net)) is not None:
        return DeadlockAnswer(Verdict.FREE, f"{net.transition_name(t)} can always start")
    return search(net, limits)


def default_bound(net: Net) -> int:
    """How many states a search visits if nothing else is asked for."""
    return max(100, min(DEFAULT_BOUND, _WORK // max(1, net.place_count + net.transition_count)))


def _is_within(reachability: Reachability, place: int, wanted: int) -> bool:
    most = reachability.most(place)
    return most is None or wanted <= most


def is_only_steps(net: Net) -> bool:
    """Whether all transitions are steps and no firing as a whole changes a declared place."""
    if not all(transition.is_step for transition in net.declared.transitions):
        return False
    for transition in net.declared.transitions:
        if transition.takes or transition.gives or transition.on_failure or transition.on_skip:
            return False
    return True


def only_fills_and_reads(net: Net) -> bool:
    """Whether all transitions are steps that beside limits only fill places, by every outcome alike, and read places.

    No limit is filled or read, and no such place has a capacity, so an end is never delayed and no start prevents another for good.
    """
    limits, values = set[str](), set[str]()
    for transition in net.declared.transitions:
        given = Counter(dict(transition.gives))
        if not transition.is_step or transition.takes or len(given) < len(transition.gives):
            return False
        if any(Counter(dict(end or ())) != given for end in (transition.on_failure, transition.on_skip)):
            return False
        limits.update(name for name, _ in transition.holds)
        values.update(given)
        values.update(name for name, _ in transition.reads)
    return not limits & values and not net.room


def _run_once(net: Net) -> DeadlockAnswer:
    """The answer for a net that only fills and reads.

    If this run, in which all work succeeds, ends every step, then every run does: of the steps that another run has left, the first one in
    the order of this run has all it waits for. The final tokens are the same in all runs.
    """
    tokens = _run_successfully(net)
    if meets_goal(net, tokens):
        reason = "values are only filled and read, and a run in which all work succeeds comes to its end"
        return DeadlockAnswer(Verdict.FREE, reason)
    left = [net.transition_name(t) for t, to_do in enumerate(net.to_do) if tokens[to_do]]
    reason = f"even if all else succeeds, {', '.join(left[:3])} can never end" if left else "the goal can never be met"
    return DeadlockAnswer(Verdict.FOUND, reason)


def list_unended(net: Net) -> list[int]:
    """The steps that no run ends, of a net that only fills and reads."""
    assert only_fills_and_reads(net), "other nets need more than one run"
    tokens = _run_successfully(net)
    return [t for t, to_do in enumerate(net.to_do) if tokens[to_do]]


def _run_successfully(net: Net) -> list[int]:
    """The tokens when nothing can start any more, after a run in which all work succeeds."""
    execution = Execution(net)
    while (t := execution.start_next()) is not None:
        execution.finish(t)
    return execution.tokens


def terminates(net: Net) -> bool:
    """Whether every run surely ends; False means that this is not proven.

    A place that gets tokens only finitely often lets the transitions that draw on it fire only finitely often. Those are struck out, and
    the places that only they fill are such places in turn. If every transition is struck out in the end, no run goes on for ever.
    """
    with_arcs = set(net.with_arcs)
    draws = [_draws(net, t) if net.step_of(t) in with_arcs else net.takes[t] for t in range(net.transition_count)]
    fillers = [0] * net.place_count
    filled = list(map(GainedPlaces(net), range(net.transition_count)))
    for places in filled:
        for p in places:
            fillers[p] += 1
    drawn_by: dict[int, list[int]] = {}
    for t, drawn in enumerate(draws):
        for p in drawn:
            drawn_by.setdefault(p, []).append(t)
    dry = deque(p for p in drawn_by if not fillers[p])
    struck = bytearray(net.transition_count)
    while dry:
        for t in drawn_by.get(dry.popleft(), ()):
            if not struck[t]:
                struck[t] = 1
                for p in filled[t]:
                    fillers[p] -= 1
                    if not fillers[p]:
                        dry.append(p)
    return all(struck)


def _draws(net: Net, t: int) -> Iterable[int]:
    """The places that have fewer tokens after t, however it ends."""
    left = [
        {p for p, count in net.taken(t) if dict(net.given(t, outcome)).get(p, 0) < count} for outcome in net.outcomes(t)
    ]
    return set.intersection(*left)


def _find_always_enabled(net: Net) -> int | None:
    """A transition that can always start: nothing ever drains what it tests."""
    firings = list_firings(net)
    drained = {place for firing in firings for place, change in firing.effect().items() if change < 0}
    for firing in firings:
        if all(place not in drained and net.initial[place] >= count for place, count in firing.takes):
            return firing.transition
    return None


def search(net: Net, limits: SearchLimits) -> DeadlockAnswer:
    """Search the reduced state space until a deadlock, its end, or a limit.

    The nearest states come first, because a short way to a deadlock explains it best. If they are too many, the search goes deep; and if
    that meets a limit too, single runs use the rest of the time.
    """
    firings = list_firings(net)
    stubborn = Stubborn(firings, net.place_count)
    time_s = limits.time_left_s()
    reserve_s = time_s / 4 if time_s < math.inf else 0

    def prepare(limits: SearchLimits) -> StateSearch:
        return StateSearch(firings, stubborn, net.initial, limits)

    near = limits._replace(states=min(limits.states, NEAR))
    answer = _examine(net, prepare(near), lambda states: states.nearest_first(3 * reserve_s))
    if answer.verdict == Verdict.NOT_PROVEN:
        answer = _examine(net, prepare(limits), lambda states: states.deepest_first(reserve_s))
    if answer.verdict == Verdict.NOT_PROVEN:
        for walk in Walks(firings, stubborn, net.initial, limits).dead_ends():
            if not meets_goal(net, list(walk.tokens)):
                return DeadlockAnswer(Verdict.FOUND, _CAN_STOP, answer.states, *walk)
    return answer


def _examine(net: Net, states: StateSearch, visit: Callable[[StateSearch], Iterable[State]]) -> DeadlockAnswer:
    for state in visit(states):
        if not meets_goal(net, list(state)):
            return DeadlockAnswer(Verdict.FOUND, _CAN_STOP, states.count, states.path_to(state), tuple(state))
    if states.is_cut:
        return DeadlockAnswer(Verdict.NOT_PROVEN, "the search reached its bound", states.count)
    return DeadlockAnswer(Verdict.FREE, "the search visited every marking that matters", states.count)
