"""Explains a task: why it is where it is in the order, on which nodes it runs and why, what may stop it, and what became of it in a run.

The explanation is for the nodes of an expansion. Every dependency is shown with all fields that say so, because a person who wants to
remove it has to change all of them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from precast.plans import issues
from precast.plans.model import SYNC_NODE, Expansion, PlanGroup, PlanTask, Position
from precast.plans.names import NameMatcher, is_expression
from precast.plans.roles import ALL, MASTER, NodeRoles
from precast.plans.views.descriptions import describe_test
from precast.plans.views.reach import Reach, count_after, count_before
from precast.plans.views.seen_values import SeenData, SeenInputs, SeenRun, find_paths, read_values
from precast.plans.views.waits import Wait, list_idle_references, list_waits


class Place(msgspec.Struct, frozen=True):
    """Nodes on which a task runs, and the selector or group that says so."""

    because: str
    nodes: list[str]


class GroupLimit(msgspec.Struct, frozen=True):
    """A group that has nodes of the task: how many of its nodes may fail before the plan stops; None for any number."""

    group: str  # empty: the nodes in no group
    nodes: int
    tolerate: int | None


class Limits(msgspec.Struct, frozen=True):
    """What bounds the task: nodes at once, the node that is first, times and repetitions."""

    at_once: int | None
    canary: str | None
    timeout_s: float
    retries: int
    interval_s: float
    lost_after_s: float
    groups: list[GroupLimit]


class NodeRun(msgspec.Struct, frozen=True):
    """What became of the task on a node, the values of data and parameters that it saw there by their paths, and its inputs.

    `earlier` are the values at the last success of the task, if it was compared with that.
    """

    node: str
    state: str
    reason: str | None
    message: str | None
    cause: str | None
    attempt: int
    data: dict[str, Any]
    earlier: dict[str, Any] | None
    inputs: dict[str, Any]


class Explanation(msgspec.Struct, frozen=True):
    """Everything that explains a task. `position` is that of its first instance in the order, from 1, of `instances`."""

    id: str
    type: str
    at: Position
    position: int | None
    instances: int
    places: list[Place]
    waits_for: list[Wait]
    waited_for_by: list[Wait]
    before: Reach
    after: Reach
    idle: list[str]  # fields that name tasks with which it shares no node, or that do not exist
    computed: list[str]  # dependencies that expressions give on each node
    condition: str
    tests_before: list[str]
    tests_after: list[str]
    approval: str
    is_always: bool
    ignores_failure: bool
    inputs: dict[str, str]
    produces: list[str]
    consumes: list[str]
    limits: Limits
    run: list[NodeRun]


def explain_task(
    expansion: Expansion,
    task_id: str,
    run: SeenRun = SeenRun(),  # noqa: B008 - it never changes
) -> Explanation:
    """Explain a task; with a run also what became of it.

    Raises InputError PLAN-035 for a task that the plan does not have.
    """
    number = _find_task(expansion, task_id)
    task = expansion.plan.tasks[number - 1]
    keys = [instance.key for instance in expansion.instances]
    nodes = {key.node for key in keys if key.task == number}
    waits_for, waited_for_by = list_waits(expansion, number)
    return Explanation(
        id=task.id,
        type=task.type,
        at=task.at,
        position=next((index for index, key in enumerate(keys, 1) if key.task == number), None),
        instances=len(keys),
        places=_list_places(expansion, task, nodes),
        waits_for=waits_for,
        waited_for_by=waited_for_by,
        before=count_before(expansion, number),
        after=count_after(expansion, number),
        idle=list_idle_references(expansion, number),
        computed=[f"{computed.field}: {computed.expression}" for computed in task.computed],
        condition="" if task.condition is None else task.condition.text.strip(),
        tests_before=[describe_test(test) for test in task.test_pre],
        tests_after=[describe_test(test) for test in task.test_post],
        approval=task.approval,
        is_always=task.is_always,
        ignores_failure=not task.fail_on_error,
        inputs={name: _describe_input(given.task, given.key, given.role) for name, given in task.inputs.items()},
        produces=list(task.produces),
        consumes=list(task.consumes),
        limits=_find_limits(expansion, number, nodes),
        run=list(_explain_run(expansion, task, run)),
    )


def _find_task(expansion: Expansion, task_id: str) -> int:
    ids = [task.id for task in expansion.plan.tasks]
    if task_id not in ids:
        raise issues.UNKNOWN_TASK.error(name=task_id, guess=NameMatcher().suggest(task_id, ids))
    return ids.index(task_id) + 1


def _list_places(expansion: Expansion, task: PlanTask, nodes: set[str]) -> list[Place]:
    """Each selector and group that brings the task to nodes, in the order of the plan."""
    if SYNC_NODE in nodes:
        return [Place("a stage is on no node: it begins when all that it waits for has ended, on all nodes", [])]
    roles = NodeRoles(expansion.nodes, NameMatcher())
    places = [Place(_describe_selector(selector), sorted(roles.resolve((selector,)))) for selector in task.selectors]
    members = {group.name: group.nodes for group in expansion.groups}
    places += [
        Place(f"group {group.id}, which adds the task", sorted(members.get(group.id, ())))
        for group in expansion.plan.groups
        if _adds(group, task.id)
    ]
    return places


def _adds(group: PlanGroup, task_id: str) -> bool:
    return bool(NameMatcher().find_any(group.tasks, (task_id,)))


def _describe_selector(selector: str) -> str:
    if selector == ALL:
        return "all nodes (*)"
    if selector == MASTER:
        return "the master"
    return f"roles that match {selector}" if is_expression(selector) else f"role {selector}"


def _describe_input(task: str, key: str, role: Sequence[str]) -> str:
    where = "" if tuple(role) == ("self",) else f" on {', '.join(role)}"
    return f"{key or 'the result'} of {task}{where}"


def _find_limits(expansion: Expansion, number: int, nodes: set[str]) -> Limits:
    task = expansion.plan.tasks[number - 1]
    return Limits(
        expansion.at_once.get(number),
        expansion.canaries.get(number),
        task.timeout_s,
        task.retries,
        task.interval_s,
        task.lost_after_s,
        [GroupLimit(group.name, len(group.nodes), group.tolerate) for group in expansion.groups if nodes & group.nodes],
    )


def _explain_run(expansion: Expansion, task: PlanTask, run: SeenRun) -> Iterator[NodeRun]:
    instances = list(run.instances)
    inputs, paths = SeenInputs(expansion, instances), find_paths(task)
    for view in instances:
        if view.task == task.id:
            seen = run.data.get(view.node, SeenData())
            data = read_values(paths, seen.now, run.parameters)
            earlier = None if seen.earlier is None else read_values(paths, seen.earlier, {})
            given = inputs.find(task, view)
            yield NodeRun(
                view.node, view.state, view.reason, view.message, view.cause, view.attempt, data, earlier, given
            )
