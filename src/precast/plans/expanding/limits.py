"""How many instances of a task run at a time, and which is first.

A percentage is of the nodes that have the task, rounded down, and at least one node. The canary of a task is its first instance in the
order of the expansion, so that nothing before it waits for another instance of the task.
"""

from collections.abc import Iterable, Iterator

from precast.plans import issues
from precast.plans.expanding.placement import Placement, is_stage
from precast.plans.expanding.problems import make_problem
from precast.plans.model import InstanceKey, Plan, PlanProblem, PlanTask


def find_limits(plan: Plan, placement: Placement) -> dict[int, int]:
    """By the number of a task, how many of its instances run at a time."""
    found: dict[int, int] = {}
    for number, task in enumerate(plan.tasks, 1):
        limit = _find_limit(task, len(placement.nodes_of(number)))
        if limit is not None and not is_stage(task):
            found[number] = limit
    return found


def _find_limit(task: PlanTask, nodes: int) -> int | None:
    limits = [] if task.at_once is None else [task.at_once]
    if task.at_once_percent is not None:
        limits.append(nodes * task.at_once_percent // 100)
    return max(1, min(limits)) if limits else None


def choose_canaries(plan: Plan, ordered: Iterable[InstanceKey]) -> dict[int, str]:
    """By the number of a task that has a canary, its first node."""
    canaries: dict[int, str] = {}
    for key in ordered:
        task = plan.tasks[key.task - 1]
        if task.has_canary and not is_stage(task):
            canaries.setdefault(key.task, key.node)
    return canaries


def warn_of_limits(plan: Plan, placement: Placement) -> Iterator[PlanProblem]:
    """Limits and canaries that change nothing, because the task is on too few nodes."""
    for number, task in enumerate(plan.tasks, 1):
        count = len(placement.nodes_of(number))
        if not count or is_stage(task):
            continue
        nodes = "one node" if count == 1 else f"{count} nodes"
        if task.at_once is not None and task.at_once > count:
            limit = f"is limited to {task.at_once} nodes at once"
            yield make_problem(issues.IDLE_LIMIT, task.at, task=task.id, limit=limit, nodes=nodes)
        if task.has_canary and count == 1:
            yield make_problem(issues.IDLE_LIMIT, task.at, task=task.id, limit="has a canary", nodes=nodes)
