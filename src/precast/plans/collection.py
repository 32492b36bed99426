"""Adds a task on the master before each `copy_files`: it sends the files to the server, from where the other nodes fetch them.

It waits for everything that the `copy_files` waits for, on the master or anywhere else, so it sends the files as they are when the copies
are due. It runs if some node gets copies: nobody names it, and a file that nobody gets may be missing.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import msgspec

from precast.plans.model import CrossDependency, Plan, PlanTask, TaskInput
from precast.plans.names import NameMatcher

# Follows the id of the `copy_files` task. No id of a plan's own has a space.
SUFFIX = " (collect)"
# The name of the copies' input.
COLLECTED = "collected"
_MASTER = ("master",)


def add_collections(plan: Plan) -> Plan:
    """The plan with these tasks; the same plan if it copies no files. Raises InputError PLAN-030 or PLAN-031 for a pattern."""
    copied = {task.id for task in plan.tasks if task.type == "copy_files"}
    if not copied:
        return plan
    matcher = NameMatcher()
    tasks: list[PlanTask] = []
    for task in plan.tasks:
        if task.id in copied:
            tasks.append(_collect(task))
            task = msgspec.structs.replace(
                task, inputs={**task.inputs, COLLECTED: TaskInput(task.id + SUFFIX, "", _MASTER)}
            )
        tasks.append(_let_collect(task, copied, matcher))
    return msgspec.structs.replace(plan, tasks=tuple(tasks))


def find_collections(tasks: Iterable[PlanTask], copying: AbstractSet[int]) -> set[int]:
    """The numbers of the tasks that send the files of these tasks. Numbers count from 1."""
    numbered = list(enumerate(tasks, start=1))
    numbers = {task.id: number for number, task in numbered}
    return {number for number, task in numbered if task.collects_for and numbers.get(task.collects_for) in copying}


def _collect(task: PlanTask) -> PlanTask:
    return PlanTask(
        task.id + SUFFIX,
        task.type,
        task.at,
        _MASTER,
        requires=task.requires,
        cross_depends=task.cross_depends,
        parameters=task.parameters,
        timeout_s=task.timeout_s,
        retries=task.retries,
        interval_s=task.interval_s,
        is_always=task.is_always,
        fail_on_error=task.fail_on_error,
        lost_after_s=task.lost_after_s,
        collects_for=task.id,
    )


def _let_collect(task: PlanTask, copied: set[str], matcher: NameMatcher) -> PlanTask:
    """A task that has to come before copies also comes before the files are collected."""
    added = [
        CrossDependency(name + SUFFIX, _MASTER, dependency.policy)
        for dependency in task.cross_depended_by
        for name in matcher.find(dependency.name, sorted(copied))
        if name != task.id
    ]
    if not added:
        return task
    return msgspec.structs.replace(task, cross_depended_by=(*task.cross_depended_by, *added))
