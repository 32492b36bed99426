"""On which nodes each task of a plan runs.

A task runs on the nodes that its selectors mean and on those of the groups that name it. A stage is on the sync node alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from precast.plans import issues
from precast.plans.expanding.problems import make_problem
from precast.plans.model import SYNC_NODE, Plan, PlanGroup, PlanNode, PlanProblem, PlanTask
from precast.plans.names import NameMatcher
from precast.plans.roles import MASTER, NodeRoles

# Roles differ little by nature, and most that no node has are right: another is suggested only for a likely misspelling.
_SIMILARITY = 0.85

ON_SYNC_NODE = frozenset({SYNC_NODE})
NOWHERE: frozenset[str] = frozenset()


class Placement(NamedTuple):
    """Where the tasks of a plan run. Equal sets of nodes are the same object."""

    roles: NodeRoles
    names: NameMatcher
    numbers: dict[str, int]  # of tasks, from 1, by id
    task_nodes: Sequence[frozenset[str]]  # by the number of a task, less 1
    group_nodes: Sequence[frozenset[str]]  # in the order of the plan's groups
    all_nodes: frozenset[str]

    def nodes_of(self, number: int) -> frozenset[str]:
        return self.task_nodes[number - 1]


def place_tasks(plan: Plan, nodes: Sequence[PlanNode], warnings: list[PlanProblem]) -> Placement:
    """Where tasks run. Raises InputError PLAN-030 or PLAN-031 for a pattern."""
    names = NameMatcher()
    roles = NodeRoles(nodes, names)
    numbers = {task.id: number for number, task in enumerate(plan.tasks, 1)}
    group_nodes = [roles.resolve(group.selectors or (group.id,)) for group in plan.groups]
    added = _nodes_by_groups(plan.groups, group_nodes, names, numbers, warnings)
    task_nodes = [
        ON_SYNC_NODE if is_stage(task) else roles.share(roles.resolve(task.selectors).union(*added.get(task.id, ())))
        for task in plan.tasks
    ]
    warnings.extend(_warn_of_empty(plan, task_nodes, group_nodes, _Hints(roles, names)))
    return Placement(roles, names, numbers, task_nodes, group_nodes, frozenset(node.name for node in nodes))


def is_stage(task: PlanTask) -> bool:
    return task.type == "stage"


def _nodes_by_groups(
    groups: Iterable[PlanGroup],
    group_nodes: Iterable[frozenset[str]],
    names: NameMatcher,
    numbers: dict[str, int],
    warnings: list[PlanProblem],
) -> dict[str, list[frozenset[str]]]:
    """By the id of a task, the nodes of the groups that name it."""
    added: dict[str, list[frozenset[str]]] = {}
    for group, nodes in zip(groups, group_nodes, strict=True):
        for name in group.tasks:
            found = names.find(name, numbers)
            for task in found:
                added.setdefault(task, []).append(nodes)
            if not found:
                near = names.suggest(name, numbers)
                warnings.append(
                    make_problem(issues.UNKNOWN_GROUP_TASK, group.at, group=group.id, name=name, guess=near)
                )
    return added


class _Hints:
    """What to do about a task that no node has."""

    def __init__(self, roles: NodeRoles, names: NameMatcher) -> None:
        self._known, self._names = roles.roles, names

    def find(self, task: PlanTask) -> str:
        if task.selectors == (MASTER,):
            return "name the master when you start the plan"
        for selector in task.selectors:
            if near := self._names.suggest(selector, self._known, _SIMILARITY):
                return f"no node has the role {selector}{near}"
        return (
            "give nodes the role or tag (precast node set NODE role ROLE); without them the task is not part of the run"
        )


def _warn_of_empty(
    plan: Plan, task_nodes: Sequence[frozenset[str]], group_nodes: Sequence[frozenset[str]], hints: _Hints
) -> Iterator[PlanProblem]:
    for task, nodes in zip(plan.tasks, task_nodes, strict=True):
        if not nodes and task.selectors:  # the loader has warned of tasks without any
            what = ", ".join(task.selectors)
            yield make_problem(issues.TASK_WITHOUT_NODES, task.at, task=task.id, roles=what, hint=hints.find(task))
    for group, nodes in zip(plan.groups, group_nodes, strict=True):
        if not nodes:
            what = ", ".join(group.selectors or (group.id,))
            yield make_problem(issues.GROUP_WITHOUT_NODES, group.at, group=group.id, roles=what)
