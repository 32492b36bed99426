"""Which tasks a task waits for, and which wait for it: on which nodes, and which fields of which tasks say so."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from precast.plans.expanding.dependencies import SELF, list_references
from precast.plans.model import SYNC_NODE, Expansion, PlacedDependency, Plan, Position
from precast.plans.names import NameMatcher

COMPUTED = "(an expression)"  # in place of a name
WaitKind = Literal["same node", "all nodes", "any node", "stage"]


class Reason(msgspec.Struct, frozen=True):
    """A field that makes a task wait for another: that of `task`, whose text is at `at`. `name` is what it names."""

    field: str
    name: str
    task: str
    at: Position


class Wait(msgspec.Struct, frozen=True):
    """The other task of a dependency, how it is waited for, and between which nodes; a stage is on none."""

    task: str
    at: Position
    kind: WaitKind
    nodes: list[str]  # those of the task that waits
    needed_on: list[str]
    reasons: list[Reason]


def list_waits(expansion: Expansion, number: int) -> tuple[list[Wait], list[Wait]]:
    """What a task waits for, and what waits for it, each in the order of the plan. Raises InputError PLAN-030 for a pattern."""
    names = NameMatcher()

    def describe(dependencies: Iterable[PlacedDependency]) -> list[Wait]:
        return [_describe(expansion.plan, dependency, number, names) for dependency in dependencies]

    before = sorted((found for found in expansion.dependencies if found.task == number), key=lambda found: found.needed)
    after = sorted((found for found in expansion.dependencies if found.needed == number), key=lambda found: found.task)
    return describe(before), describe(after)


def list_reasons(plan: Plan, dependency: PlacedDependency, names: NameMatcher) -> list[Reason]:
    """All fields that say so; two tasks often say the same, each in its own field."""
    task, needed, is_stage = dependency.task, dependency.needed, _kind_of(dependency) == "stage"
    return [
        Reason(reference.field, reference.name, plan.tasks[declared_by - 1].id, plan.tasks[declared_by - 1].at)
        for declared_by, other, comes_before in ((task, needed, True), (needed, task, False))
        for reference in list_references(plan.tasks[declared_by - 1])
        if reference.comes_before is comes_before
        and (is_stage or (reference.role == SELF) is dependency.is_local)
        and names.find(reference.name, (plan.tasks[other - 1].id,))
    ]


def _describe(plan: Plan, dependency: PlacedDependency, number: int, names: NameMatcher) -> Wait:
    other = plan.tasks[(dependency.needed if dependency.task == number else dependency.task) - 1]
    reasons = list_reasons(plan, dependency, names) or [_find_computed(plan, dependency)]
    nodes, needed_on = _list_nodes(dependency.nodes), _list_nodes(dependency.needed_on)
    return Wait(other.id, other.at, _kind_of(dependency), nodes, needed_on, reasons)


def _find_computed(plan: Plan, dependency: PlacedDependency) -> Reason:
    """The field whose expression gave the dependency."""
    task = plan.tasks[dependency.declared_by - 1]
    return Reason(dependency.field, COMPUTED, task.id, task.at)


def _list_nodes(nodes: Iterable[str]) -> list[str]:
    return sorted(node for node in nodes if node != SYNC_NODE)


def _kind_of(dependency: PlacedDependency) -> WaitKind:
    if SYNC_NODE in dependency.nodes or SYNC_NODE in dependency.needed_on:
        return "stage"
    if dependency.is_local:
        return "same node"
    return "any node" if dependency.is_any else "all nodes"


def list_idle_references(expansion: Expansion, number: int) -> list[str]:
    """The fields of a task, with the names in them, that join it with no other task on these nodes."""
    names, tasks = NameMatcher(), expansion.plan.tasks
    before = {tasks[found.needed - 1].id for found in expansion.dependencies if found.task == number}
    after = {tasks[found.task - 1].id for found in expansion.dependencies if found.needed == number}
    return [
        f"{reference.field}: {reference.name}"
        for reference in list_references(tasks[number - 1])
        if not names.find(reference.name, before if reference.comes_before else after)
    ]
