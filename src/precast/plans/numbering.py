"""Keeps the numbers of tasks when a run gets another version of its plan: its attempts name tasks by their numbers."""

from collections.abc import Sequence

import msgspec

from precast.plans.model import Plan, PlanTask


def keep_numbers(plan: Plan, before: Sequence[PlanTask]) -> Plan:
    """The plan with its tasks at the numbers that they had before, by their ids; new tasks follow.

    A task that the plan no longer has keeps its number, and runs nowhere.
    """
    if not before:
        return plan
    tasks = {task.id: task for task in plan.tasks}
    kept = [tasks.pop(task.id) if task.id in tasks else _remove(task) for task in before]
    return msgspec.structs.replace(plan, tasks=(*kept, *tasks.values()))


def find_removed(plan: Plan, before: Sequence[PlanTask]) -> set[str]:
    """The ids of the tasks that the plan no longer has; not of those that were removed earlier, and only keep their numbers."""
    ids = {task.id for task in plan.tasks}
    return {task.id for task in before if task.id not in ids and task != _remove(task)}


def _remove(task: PlanTask) -> PlanTask:
    return PlanTask(task.id, "skipped", task.at)
