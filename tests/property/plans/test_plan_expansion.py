"""The expansion of a random plan agrees with one that asks, for each two instances, whether one has to wait for the other."""

import re
from collections import Counter
from collections.abc import Iterator

from hypothesis import given, settings

from precast.net.analysis.check import check
from precast.net.analysis.deadlock import Verdict
from precast.net.model.compiler import compile_net
from precast.net.model.structure import Net
from precast.plans import issues
from precast.plans.checks import check_expansion
from precast.plans.expansion import expand
from precast.plans.model import Expansion, Instance, InstanceKey, Plan, PlanNode, PlanTask
from precast.plans.plan_net import build_plan_net
from tests.property.plans.run_plans import AT, expand_or_none, random_plan, seeds

ROUNDS = 400
SELF = ("self",)


class PairwiseExpansion:
    """What each instance waits for, by the words of the format: instance by instance, name by name."""

    def __init__(self, plan: Plan, nodes: list[PlanNode]) -> None:
        self._plan, self._nodes = plan, nodes
        self._tasks = {task.id: number for number, task in enumerate(plan.tasks, 1)}
        self.keys = [key for number, task in enumerate(plan.tasks, 1) for key in self._instances(number, task)]
        self.waits: dict[InstanceKey, set[InstanceKey]] = {key: set() for key in self.keys}
        self.one_of: dict[InstanceKey, set[frozenset[InstanceKey]]] = {key: set() for key in self.keys}
        for key in self.keys:
            self._read(key)

    def _instances(self, number: int, task: PlanTask) -> Iterator[InstanceKey]:
        if task.type == "stage":
            yield InstanceKey(number, "")
            return
        groups = [group for group in self._plan.groups if any(matches(name, task.id) for name in group.tasks)]
        for node in self._nodes:
            if means(task.selectors, node) or any(means(group.selectors, node) for group in groups):
                yield InstanceKey(number, node.name)

    def _read(self, key: InstanceKey) -> None:
        task = self._plan.tasks[key.task - 1]
        for name in task.requires:
            self._wait(key, [other for other in self._named(name) if self._is_beside(key, other)])
        for name in task.required_for:
            for other in self._named(name):
                if self._is_beside(key, other):
                    self._wait(other, [key])
        for cross in task.cross_depends:
            self._wait_across(key, cross.name, cross.role, is_any=cross.policy == "any")
        for source in task.inputs.values():
            self._wait_across(key, source.task, source.role)
        for cross in task.cross_depended_by:
            for other in self._named(cross.name):
                own = [
                    mine
                    for mine in self._own(key)
                    if mine.task != other.task or not self._is_meant(cross.role, key, mine)
                ]
                if cross.role == SELF:
                    self._wait(other, [mine for mine in own if mine == key and mine.node == other.node])
                elif self._is_meant(cross.role, key, other):
                    self._wait(other, own, is_any=cross.policy == "any")

    def _wait_across(self, key: InstanceKey, name: str, role: tuple[str, ...] | None, *, is_any: bool = False) -> None:
        for task in {other.task for other in self._named(name)}:
            meant = [other for other in self._named(name) if other.task == task and self._is_meant(role, key, other)]
            if key not in meant:
                self._wait(key, meant, is_any=is_any)

    def _wait(self, key: InstanceKey, others: list[InstanceKey], *, is_any: bool = False) -> None:
        others = [other for other in others if other != key]
        if is_any and len(others) > 1:
            self.one_of[key].add(frozenset(others))
        else:
            self.waits[key].update(others)

    def _named(self, name: str) -> list[InstanceKey]:
        return [key for key in self.keys if matches(name, self._plan.tasks[key.task - 1].id)]

    def _own(self, key: InstanceKey) -> list[InstanceKey]:
        return [other for other in self.keys if other.task == key.task]

    @staticmethod
    def _is_beside(key: InstanceKey, other: InstanceKey) -> bool:
        """On the same node, or one of the two a stage."""
        return key.task != other.task and (key.node == other.node or not key.node or not other.node)

    def _is_meant(self, role: tuple[str, ...] | None, key: InstanceKey, other: InstanceKey) -> bool:
        if role is None or not other.node:
            return (role is None and not other.node) or (role == SELF and not key.node and not other.node)
        if role == SELF:
            return key.node == other.node
        return any(means(role, node) for node in self._nodes if node.name == other.node)


def matches(name: str, text: str) -> bool:
    is_pattern = len(name) > 2 and name[0] == name[-1] == "/"
    return re.match(name[1:-1], text) is not None if is_pattern else name == text


def means(selectors: tuple[str, ...], node: PlanNode) -> bool:
    return any(
        selector == "*"
        or (node.is_master if selector == "master" else any(matches(selector, role) for role in node.roles))
        for selector in selectors
    )


def waits_of(
    expansion: Expansion,
) -> tuple[dict[InstanceKey, set[InstanceKey]], dict[InstanceKey, set[frozenset[InstanceKey]]]]:
    keys = [instance.key for instance in expansion.instances]
    waits, one_of = {}, {}
    for instance in expansion.instances:
        needed = {*instance.needs, *(member for joint in instance.joins for member in expansion.joints[joint])}
        waits[instance.key] = {keys[index] for index in needed}
        one_of[instance.key] = {frozenset(keys[index] for index in members) for members in instance.needs_any}
    return waits, one_of


def order_naively(pairs: PairwiseExpansion) -> list[InstanceKey]:
    """Again and again the first instance, by task and node, all of whose needs are placed."""
    placed: list[InstanceKey] = []
    left = sorted(pairs.keys)
    needs = {key: pairs.waits[key].union(*pairs.one_of[key]) for key in left}
    while ready := [key for key in left if needs[key] <= set(placed)]:
        placed.append(ready[0])
        left.remove(ready[0])
    return placed


def test_expansion_of_a_random_plan_agrees_with_asking_pair_by_pair() -> None:
    counts: Counter[str] = Counter()

    @settings(max_examples=ROUNDS)
    @given(seeds)
    def run(seed: int) -> None:
        plan, nodes = random_plan(seed)
        pairs = PairwiseExpansion(plan, nodes)
        order = order_naively(pairs)
        expansion = expand_or_none(plan, nodes)
        counts["cycles" if expansion is None else "expanded"] += 1
        assert (expansion is None) == (len(order) < len(pairs.keys))
        if expansion is not None:
            assert [instance.key for instance in expansion.instances] == order
            assert waits_of(expansion) == (pairs.waits, pairs.one_of)
            for task, node in expansion.canaries.items():
                assert node == next(key.node for key in order if key.task == task)
            assert expand(plan, nodes[::-1]) == expansion

    run()
    print(f"\nexpansions: {ROUNDS} random plans, {dict(counts)}")
    assert counts["cycles"] > ROUNDS // 100
    assert counts["expanded"] > ROUNDS // 2


def searchable_net(expansion: Expansion) -> Net:
    """The net of a run in which a person approves everything and nothing fails, with the goal that every instance has its turn."""
    net, places = build_plan_net(expansion)
    declared = net.declared
    approved = set(places.approved.values())
    marked = [
        place._replace(tokens=1 if number in approved else place.tokens) for number, place in enumerate(declared.places)
    ]
    turns = [
        transition._replace(gives=(*transition.gives, ("turns", 1)), on_failure=None)
        if number < len(expansion.instances)
        else transition
        for number, transition in enumerate(declared.transitions)
    ]
    goal = (("turns", len(turns[: len(expansion.instances)])),) if expansion.instances else ()
    turns_place = marked[0]._replace(name="turns", tokens=0)
    return compile_net(declared._replace(places=(*marked, turns_place), transitions=tuple(turns), goal=goal))


def test_expansion_without_errors_has_no_deadlock() -> None:
    """What the check proves from the order alone, the search of all markings finds too."""
    counts: Counter[Verdict] = Counter()

    @settings(max_examples=200)
    @given(seeds)
    def run(seed: int) -> None:
        expansion = expand_or_none(*random_plan(seed, most=4))
        if expansion is not None and 2 < len(expansion.instances) < 8:
            errors = {problem.code for problem in check_expansion(expansion) if problem.is_error}
            assert errors <= {issues.MISSING_INPUT.code}
            report = check(searchable_net(expansion), bound=20_000)
            assert [finding for finding in report.findings if finding.severity == "error"] == []
            counts[report.deadlock.verdict] += 1

    run()
    print(f"\ndeadlocks of plans: {dict(counts)}")
    assert counts[Verdict.FREE] > 30


def test_instances_that_wait_for_each_other_are_a_fault_of_the_net_too() -> None:
    plan = Plan("p", tuple(PlanTask(name, "shell", AT) for name in "abc"))
    waits = {0: (2,), 1: (0,), 2: (1,)}
    instances = [Instance(InstanceKey(index + 1, "n"), needs) for index, needs in waits.items()]
    expansion = Expansion(plan, [PlanNode("n")], instances, [], {}, {})
    assert [problem.code for problem in check_expansion(expansion)] == [issues.NEVER_STARTS.code]
    report = check(searchable_net(expansion))
    assert "a on n → b on n → c on n → a on n" in report.findings[0].message
    assert not report.is_sound
