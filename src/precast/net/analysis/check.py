"""Reports everything that is known about a net before it runs, in the names that its author gave."""

import math
from collections.abc import Callable
from typing import NamedTuple

from precast.base.errors import Issue
from precast.net import issues
from precast.net.analysis.cycles import shortest_cycles
from precast.net.analysis.deadlock import DeadlockAnswer, Verdict, default_bound, find_deadlock
from precast.net.analysis.reachability import GainedPlaces, Reachability, Shortage
from precast.net.analysis.search import SearchLimits
from precast.net.analysis.waits import WaitGraph
from precast.net.model.plain_net import firing_name
from precast.net.model.structure import Net

# The most names in one sentence, and the most transitions that are reported one by one as never starting.
NAMES, DEAD = 5, 20


class Finding(NamedTuple):
    """One fault of the net (`error`), or something that its author may not have meant (`warning`)."""

    severity: str
    code: str
    message: str
    hint: str


class Report(NamedTuple):
    """All findings, errors first, and the answer about deadlocks."""

    findings: tuple[Finding, ...]
    deadlock: DeadlockAnswer

    @property
    def is_sound(self) -> bool | None:
        """Whether the net has no fault and no deadlock; None if no fault was found and the absence of deadlocks is not proven."""
        if any(finding.severity == "error" for finding in self.findings):
            return False
        return None if self.deadlock.verdict == Verdict.NOT_PROVEN else True


def check(net: Net, bound: int | None = None, time_left_s: Callable[[], float] = lambda: math.inf) -> Report:
    """Check structure, then look for deadlocks in at most `bound` states, while `time_left_s` returns more than 0."""
    reachability = Reachability(net)
    findings = [*_dead_transitions(reachability), *_goal(reachability), *_unused_places(net)]
    limits = SearchLimits(default_bound(net) if bound is None else bound, time_left_s=time_left_s)
    answer = find_deadlock(net, reachability, limits)
    if answer.verdict == Verdict.FOUND:
        findings.append(_deadlock(net, answer))
    elif answer.verdict == Verdict.NOT_PROVEN:
        findings.append(_finding("warning", issues.NOT_PROVEN, states=answer.states, more=answer.states * 10))
    findings.sort(key=lambda finding: finding.severity != "error")
    return Report(tuple(findings), answer)


def _finding(severity: str, issue: Issue, **values: object) -> Finding:
    error = issue.error(**values)
    return Finding(severity, error.code, error.message, error.hint)


def _dead_transitions(reachability: Reachability) -> list[Finding]:
    """Report causes first: cycles and places that stay too empty; then one line for each transition that waits behind those."""
    dead = reachability.dead()
    if not dead:
        return []
    net = reachability.net
    lacks = {t: reachability.lacks(t) for t in dead}
    before = _dead_givers(reachability, dead)
    findings = []
    in_cycle = set()
    for cycle in shortest_cycles(_waits_of_dead(net, lacks, before)):
        transitions = [node for node in cycle if node < net.transition_count]
        in_cycle.update(transitions)
        names = " → ".join(net.transition_name(t) for t in [*transitions, transitions[0]])
        findings.append(_finding("error", issues.CYCLE, cycle=names))
    others = [t for t in dead if t not in in_cycle]
    findings += [_why_dead(reachability, lacks[t], before) for t in others[:DEAD]]
    if more := others[DEAD:]:
        findings.append(_finding("error", issues.MORE_DEAD, count=len(more), name=net.transition_name(more[0])))
    return findings


def _waits_of_dead(net: Net, lacks: dict[int, list[Shortage]], before: dict[int, list[int]]) -> dict[int, list[int]]:
    """From each dead transition to the places that it would give to, and from those to the transitions that lack their tokens.

    Places are nodes of their own, numbered behind the transitions: without them a place that many give to and many lack would make an edge
    for each pair.
    """
    graph: dict[int, list[int]] = {t: [] for t in lacks}
    for t, shortages in lacks.items():
        for place in dict.fromkeys(lack.place for lack in shortages):
            if givers := before.get(place):
                node = net.transition_count + place
                if node not in graph:
                    graph[node] = []
                    for giver in givers:
                        graph[giver].append(node)
                graph[node].append(t)
    return graph


def _dead_givers(reachability: Reachability, dead: list[int]) -> dict[int, list[int]]:
    """By place, the dead transitions that would give to it."""
    givers: dict[int, list[int]] = {}
    gains_of = GainedPlaces(reachability.net)
    for t in dead:
        for place in gains_of(t):
            givers.setdefault(place, []).append(t)
    return givers


def _why_dead(reachability: Reachability, lacks: list[Shortage], before: dict[int, list[int]]) -> Finding:
    net = reachability.net
    name = net.transition_name(lacks[0].transition)
    for t, place, wanted in lacks:
        if reachability.is_fillable[place]:
            most = reachability.most(place)
            return _finding("error", issues.TOO_SMALL, name=name, wanted=wanted, place=net.place_name(place), most=most)
        if not [giver for giver in before.get(place, ()) if giver != t]:
            return _finding(
                "error",
                issues.NEVER_FILLED,
                name=name,
                wanted=wanted,
                place=net.place_name(place),
                tokens=net.initial[place],
            )
    behind = dict.fromkeys(net.transition_name(giver) for lack in lacks for giver in before[lack.place])
    return _finding("error", issues.WAITS_FOR_DEAD, name=name, behind=_some(list(behind)))


def _goal(reachability: Reachability) -> list[Finding]:
    net = reachability.net
    return [
        _finding("error", issues.UNREACHABLE_GOAL, place=net.place_name(place), wanted=wanted)
        for place, wanted in net.goal
        if (most := reachability.most(place)) is not None and most < wanted
    ]


def _unused_places(net: Net) -> list[Finding]:
    used = {name for name, _ in net.declared.goal}
    for transition in map(net.declared.transitions.__getitem__, net.with_arcs):
        for arcs in (transition.takes, transition.reads, transition.holds, transition.gives):
            used.update(name for name, _ in arcs)
        for end in (transition.on_failure, transition.on_skip):
            used.update(name for name, _ in end or ())
    return [
        _finding("warning", issues.UNUSED_PLACE, place=place.name)
        for place in net.declared.places
        if place.name not in used
    ]


def _deadlock(net: Net, answer: DeadlockAnswer) -> Finding:
    if not answer.tokens:
        return _finding("error", issues.DEADLOCK, reason=answer.reason, waiting="see what can never start")
    steps = _some([firing_name(net, firing) for firing in answer.trace], " → ", 12) or "the start"
    waiting = WaitGraph(net, answer.tokens)
    first = [waiting.reasons(t)[0] for t in waiting.waiting_transitions()]
    waits = [waiting.sentence(wait) for wait in [wait for wait in first if wait.on] or first]
    return _finding(
        "error",
        issues.DEADLOCK,
        reason=f"after {steps} nothing can start and the goal is not met",
        waiting=_some(waits, "; ") or "declare a goal if the net is meant to end there",
    )


def _some(names: list[str], between: str = ", ", most: int = NAMES) -> str:
    more = f"{between}… ({len(names) - most} more)" if len(names) > most else ""
    return between.join(names[:most]) + more
