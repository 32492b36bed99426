"""What has to end before a person is asked about a task: found at the start, so that showing a run needs no expansion."""

from collections import defaultdict
from collections.abc import Mapping

from precast.plans.expanding.placement import is_stage
from precast.plans.model import Expansion, PlacedDependency
from precast.services.plans.pinned import GateNeed


def find_gates(expansion: Expansion) -> dict[int, list[GateNeed]]:
    """By the number of each task with an approval, the tasks before it. A stage stands for what is before it."""
    by_task: dict[int, list[PlacedDependency]] = defaultdict(list)
    for dependency in expansion.dependencies:
        by_task[dependency.task].append(dependency)
    tasks = enumerate(expansion.plan.tasks, start=1)
    return {number: _find_needs(expansion, by_task, number) for number, task in tasks if task.approval}


def _find_needs(expansion: Expansion, by_task: Mapping[int, list[PlacedDependency]], number: int) -> list[GateNeed]:
    tasks, needs = expansion.plan.tasks, set[tuple[int, bool, bool]]()
    seen, waiting = {number}, [number]
    while waiting:
        for dependency in by_task.get(waiting.pop(), ()):
            needed, is_direct = tasks[dependency.needed - 1], dependency.task == number
            if not is_stage(needed):
                one_is_enough = is_direct and (dependency.is_local or dependency.is_any)
                may_fail = not is_direct or tasks[number - 1].is_always or not needed.fail_on_error
                needs.add((dependency.needed, not one_is_enough, may_fail))
            elif dependency.needed not in seen:
                seen.add(dependency.needed)
                waiting.append(dependency.needed)
    return [GateNeed(*need) for need in sorted(needs)]
