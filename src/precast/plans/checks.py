"""Errors of an expansion: what would keep a run of it from its end. Most warnings are found while it is made (`Expansion.warnings`).

That a run never gets stuck needs no search. (1) Every instance waits only for earlier ones: this module checks each arc. (2) A turn takes
its node and its slot together when it starts and gives them back when it ends, whatever the outcome, so nothing holds one while it waits
for another; when nothing runs, all are free. (3) Whatever else a turn needs it only reads, and nothing but *go* is ever taken away. Now
take the first instance in order that has not ended when nothing runs. All before it have ended. If it waits for one that has not
succeeded, the run drops it (`execution`); stages, and tasks that run always, wait only for ends. Otherwise it can start. So a run stops
before its end only because too many nodes have failed, or because it waits for a person, a node or a window. Tests compare this with the
search for deadlocks of `net.analysis`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from precast.plans import issues
from precast.plans.expanding.dependencies import SELF
from precast.plans.expanding.problems import make_problem
from precast.plans.model import SYNC_NODE, Expansion, Instance, PlanProblem, PlanTask, TaskInput
from precast.plans.names import NameMatcher
from precast.plans.plan_net import task_of
from precast.plans.roles import NodeRoles

# The types of tasks that return something.
_WITH_RESULT = ("shell", "task", "catalog", "manifest")
# How many nodes a message names.
_NAMED = 3


def check_expansion(expansion: Expansion) -> list[PlanProblem]:
    """The errors of an expansion, and its inputs that are always null, which are no errors.

    Raises InputError PLAN-030 or PLAN-031 for a pattern in the role of an input.
    """
    return [*_check_order(expansion), *_InputCheck(expansion).check()]


def _check_order(expansion: Expansion) -> Iterator[PlanProblem]:
    """Instances that wait for themselves, for later ones or for one of none. `expand` makes no such expansion."""
    latest = [max(members, default=-1) for members in expansion.joints]
    for index, instance in enumerate(expansion.instances):
        needed = [*instance.needs, *(latest[joint] for joint in instance.joins)]
        if any(not members for members in instance.needs_any):
            yield _never_starts(expansion, instance, "it waits for one of no tasks")
        elif max(needed, default=-1) >= index or any(max(members) >= index for members in instance.needs_any):
            yield _never_starts(expansion, instance, "it waits for itself, or for a task that comes later")


def _never_starts(expansion: Expansion, instance: Instance, reason: str) -> PlanProblem:
    task, node = task_of(expansion, instance), instance.key.node
    where = "any node" if node == SYNC_NODE else node
    return make_problem(issues.NEVER_STARTS, task.at, task=task.id, node=where, reason=reason)


class _InputCheck:
    """Finds inputs that no task gives."""

    def __init__(self, expansion: Expansion) -> None:
        self._tasks = expansion.plan.tasks
        self._numbers = {task.id: number for number, task in enumerate(self._tasks, 1)}
        self._names = NameMatcher()
        self._roles = NodeRoles(expansion.nodes, self._names)
        self._nodes: Mapping[int, list[str]] = defaultdict(list)
        for instance in expansion.instances:
            if instance.key.node != SYNC_NODE:
                self._nodes[instance.key.task].append(instance.key.node)

    def check(self) -> Iterator[PlanProblem]:
        for number, task in enumerate(self._tasks, 1):
            if number in self._nodes:
                for name, given in task.inputs.items():
                    yield from self._check_input(number, task, name, given)

    def _check_input(self, number: int, task: PlanTask, name: str, given: TaskInput) -> Iterator[PlanProblem]:
        problem = self._find_problem(number, given)
        values = {"task": task.id, "input": name, "name": given.task}
        if problem:
            yield make_problem(issues.MISSING_INPUT, task.at, **values, problem=problem)
        elif not _has_result(giver := self._tasks[self._numbers[given.task] - 1]):
            warning = make_problem(issues.INPUT_OF_NOTHING, task.at, **values, type=giver.type)
            yield msgspec.structs.replace(warning, is_error=False)

    def _find_problem(self, number: int, given: TaskInput) -> str:
        """Why an input has no value; empty if it has one on each node of the task."""
        other = self._numbers.get(given.task)
        if other is None:
            return f"is no task of the plan{self._names.suggest(given.task, self._numbers)}"
        if other == number:
            return "is the task itself"
        placed = self._nodes.get(other, [])
        if self._tasks[other - 1].collects_for and not placed:
            return ""  # no node was named as master, which is told for all such tasks at once
        if given.role != SELF:
            is_there = not self._roles.resolve(given.role).isdisjoint(placed)
            return "" if is_there else f"runs on no node of the role {' or '.join(given.role)}"
        missing = sorted(set(self._nodes[number]).difference(placed))
        return f"does not run on {_some(missing)}" if missing else ""


def _has_result(task: PlanTask) -> bool:
    return task.type in _WITH_RESULT or bool(task.collects_for)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
