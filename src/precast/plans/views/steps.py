"""The steps of a plan for another system: for each node, in numbered levels, what to run and what must be so before and after."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from precast.plans.model import SYNC_NODE, Expansion, InstanceKey, PlanTask, Position
from precast.plans.views.commands import StepCommand, make_test, make_work
from precast.plans.views.levels import find_levels
from precast.plans.views.waits import Wait, list_waits


class Step(msgspec.Struct, frozen=True):
    """A task on a node. Tests, work and tests are run in this order, each only if the one before has succeeded."""

    task: str
    node: str
    level: int
    at: Position
    before: list[StepCommand]
    work: StepCommand | None
    after: list[StepCommand]
    waits_for: list[str]
    retries: int
    interval_s: float
    condition: str  # of a condition that has not been evaluated
    approval: str
    is_always: bool
    ignores_failure: bool


class Tolerance(msgspec.Struct, frozen=True):
    """How many nodes of a group may fail before nothing else is started; None for any number. The nodes in no group have no name."""

    group: str
    nodes: list[str]
    tolerate: int | None


class PlanSteps(msgspec.Struct, frozen=True):
    """All steps, by level, then node, then order on the node. A level begins when all steps of the one before have ended."""

    plan: str
    levels: int
    steps: list[Step]
    tolerances: list[Tolerance]


class StepValues(NamedTuple):
    """What a plan alone does not have: values of its parameters, tasks whose expressions have values, and instances that are left out."""

    parameters: Mapping[str, Any] = {}
    tasks: Mapping[InstanceKey, PlanTask] = {}
    evaluated: Collection[InstanceKey] = ()  # their conditions are true
    left_out: Collection[InstanceKey] = ()


def make_steps(expansion: Expansion, values: StepValues | None = None) -> PlanSteps:
    """The steps of an expansion. What is left out keeps its place in the order, and has no step."""
    values = values or StepValues()
    levels = find_levels(expansion)
    waits = [describe_waits(list_waits(expansion, number)[0]) for number in range(1, len(expansion.plan.tasks) + 1)]
    found: list[Step] = []
    for (key, *_), level in zip(expansion.instances, levels, strict=True):
        if key.node != SYNC_NODE and key not in values.left_out:
            step = _make_step(expansion, key, level, values, waits[key.task - 1])
            found += [step] if step.before or step.work or step.after else []
    numbers = {level: number for number, level in enumerate(sorted({step.level for step in found}), 1)}
    found = [msgspec.structs.replace(step, level=numbers[step.level]) for step in found]
    found.sort(key=lambda step: (step.level, step.node))  # it keeps the order on each node
    tolerances = [Tolerance(group.name, sorted(group.nodes), group.tolerate) for group in expansion.groups]
    return PlanSteps(expansion.plan.name, len(numbers), found, tolerances)


def describe_waits(waits: list[Wait]) -> list[str]:
    """What a task waits for, in words, for a person who reads a script."""
    return [f"{wait.task} ({wait.kind})" for wait in waits]


def _make_step(expansion: Expansion, key: InstanceKey, level: int, values: StepValues, waits_for: list[str]) -> Step:
    task = values.tasks.get(key, expansion.plan.tasks[key.task - 1])
    condition = "" if task.condition is None or key in values.evaluated else " ".join(task.condition.text.split())
    return Step(
        task.id,
        key.node,
        level,
        task.at,
        [make_test(test) for test in task.test_pre],
        make_work(task, key.node, dict(values.parameters)),
        [make_test(test) for test in task.test_post],
        waits_for,
        task.retries,
        task.interval_s,
        condition,
        task.approval,
        task.is_always,
        not task.fail_on_error,
    )
