"""Checks that the nodes of a job do not wait for each other for ever, before the job starts.

First each need by itself: somebody promises the key, not too few, and exactly one where one value is asked for. Then the joint net of all
catalogs: if a run in which everything succeeds comes to its end, every run does (`net.analysis.deadlock`). A run in which promises fail can
come to a standstill only where values of several nodes are awaited and some of these wait in turn; servers then end it and say why.
What is left otherwise contains a cycle, which is named with its resources and where they are declared.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from precast.catalog import issues
from precast.catalog.futures import FuturePromise, Need
from precast.catalog.joint_net import JointNet, JointPart, build_joint_net
from precast.catalog.problems import CatalogProblem
from precast.net.analysis.cycles import shortest_cycles
from precast.net.analysis.deadlock import list_unended

# Findings of each kind that are told; and names that one finding tells.
MOST, NAMES = 20, 5


class JointReport(NamedTuple):
    """What a check has found. `transitions` and `waits` tell the size of the net, which is 0 if no resource waits."""

    problems: tuple[CatalogProblem, ...]
    transitions: int = 0
    waits: int = 0

    @property
    def is_sound(self) -> bool:
        return not self.problems


def check_joint(parts: Sequence[JointPart], standing: Collection[str] = ()) -> JointReport:
    """The problems of a job whose nodes apply these parts. `standing` are the keys that have a value in the environment."""
    promises: dict[str, list[tuple[JointPart, FuturePromise]]] = {}
    for part in parts:
        for promise in part.promises:
            promises.setdefault(promise.key, []).append((part, promise))
    problems = list(_check_needs(parts, promises, standing))
    counts = _count_needs(parts, promises)
    if not any(counts.values()):
        return JointReport(tuple(problems))
    joint = build_joint_net(parts, counts)
    if left := list_unended(joint.net):
        problems += _Explanation(joint, parts, left).problems()
    return JointReport(tuple(problems), len(joint.points), len(joint.waits))


def _check_needs(
    parts: Sequence[JointPart],
    promises: Mapping[str, Sequence[tuple[JointPart, FuturePromise]]],
    standing: Collection[str],
) -> Iterator[CatalogProblem]:
    """The problems of each need by itself, each once for all nodes that share it."""
    found: dict[Need, tuple[JointPart, str]] = {}
    for part in parts:
        for needed in part.needs:
            found.setdefault(needed.need, (part, needed.ref))
    for need, (part, ref) in found.items():
        given = promises.get(need.key, ())
        who = describe(part, ref)
        if not given:
            if need.key not in standing:
                yield CatalogProblem.of_error(issues.NOBODY_PROMISES.error(who=who, key=need.key))
        elif not need.many and len(given) > 1:
            names = join_names([describe(other, promise.ref) for other, promise in given])
            yield CatalogProblem.of_error(
                issues.PROMISED_TWICE.error(who=who, key=need.key, count=len(given), promises=names)
            )
        elif need.count(len(given)) > len(given):
            yield CatalogProblem.of_error(
                issues.TOO_FEW_PROMISES.error(who=who, key=need.key, wanted=need.at_least, count=len(given))
            )


def _count_needs(
    parts: Sequence[JointPart], promises: Mapping[str, Sequence[tuple[JointPart, FuturePromise]]]
) -> dict[Need, int]:
    """How many values are enough for each need; what can never be enough is a problem of its own, and does not wait here."""
    counts: dict[Need, int] = {}
    for need in {needed.need for part in parts for needed in part.needs}:
        given = len(promises.get(need.key, ()))
        wanted = need.count(given)
        counts[need] = wanted if wanted <= given else 0
    return counts


class _Explanation:
    """Explains why transitions of a joint net never start.

    The graph leads from each of them to those that wait for it. A value is a node of its own, numbered behind the transitions.
    """

    def __init__(self, joint: JointNet, parts: Sequence[JointPart], left: Sequence[int]) -> None:
        self._joint, self._parts, self._left = joint, parts, left
        self._values: list[str] = []
        self._graph = self._make_graph()

    def _make_graph(self) -> dict[int, list[int]]:
        net, remaining = self._joint.net, set(self._left)
        graph: dict[int, list[int]] = {t: [] for t in self._left}
        numbers: dict[str, int] = {}
        for t in self._left:
            transition = net.declared.transitions[t]
            for name in transition.needs:
                if (before := net.transitions_by_name[name]) in remaining:
                    graph[before].append(t)
            for place, _ in (*transition.gives, *transition.reads):
                if place not in numbers:
                    numbers[place] = len(self._joint.points) + len(self._values)
                    self._values.append(place)
                    graph[numbers[place]] = []
            for place, _ in transition.gives:
                graph[t].append(numbers[place])
            for place, _ in transition.reads:
                graph[numbers[place]].append(t)
        return graph

    def problems(self) -> Iterator[CatalogProblem]:
        """The cycles, and how many resources only wait behind them."""
        in_cycles = set[int]()
        for cycle in shortest_cycles(self._graph)[:MOST]:
            in_cycles.update(cycle)
            yield self._describe_cycle(cycle)
        behind = [t for t in self._left if t not in in_cycles and self._is_applied(t)]
        if behind:
            refs = join_names([self._describe(t) for t in behind])
            yield CatalogProblem.of_error(issues.NEVER_APPLIED.error(count=len(behind), refs=refs))

    def _describe_cycle(self, cycle: Sequence[int]) -> CatalogProblem:
        """Who waits for which value of whom, and what follows what on one node."""
        sentences, refs = [], []
        shown = [node for node in cycle if self._is_value(node) or self._is_applied(node)]
        for at, node in enumerate(shown):
            if self._is_value(node):
                continue
            before = shown[at - 1]
            if self._is_value(before):
                value = self._values[before - len(self._joint.points)]
                sentences.append(
                    f"{self._describe(node)} waits for the {value}, promised by {self._describe(shown[at - 2])}"
                )
            elif (name := self._describe(node)) != self._describe(before):
                sentences.append(f"{name} follows {self._describe(before)}")
            refs.append(self._joint.points[node])
        declared = ", ".join(dict.fromkeys(place for part, point in refs if (place := self._place(part, point[1]))))
        error = issues.JOINT_CYCLE.error(cycle="; ".join(sentences), places=f": {declared}" if declared else "")
        return CatalogProblem.of_error(error)

    def _is_value(self, node: int) -> bool:
        return node >= len(self._joint.points)

    def _is_applied(self, t: int) -> bool:
        """Whether it is a resource, or waits for one, and not the beginning or the end of a container."""
        return self._joint.points[t][1][0] == "do"

    def _describe(self, t: int) -> str:
        part, point = self._joint.points[t]
        return describe(self._parts[part], point[1])

    def _place(self, part: int, ref: str) -> str:
        places = self._parts[part].places
        place = places.places.get(ref) if places is not None else None
        return f"{ref} at {place.file}:{place.line}" if place is not None else ""


def describe(part: JointPart, ref: str) -> str:
    return f"{ref} of {part.name}"


def join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return ", ".join(names[:NAMES]) + more
