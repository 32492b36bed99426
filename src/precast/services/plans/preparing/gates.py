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
    needs: set[tuple[int, bool]] = set()
    seen, waiting = {number}, [number]
    while waiting:
        for dependency in by_task.get(waiting.pop(), ()):
            if not is_stage(expansion.plan.tasks[dependency.needed - 1]):
                one_is_enough = dependency.task == number and (dependency.is_local or dependency.is_any)
                needs.add((dependency.needed, not one_is_enough))
            elif dependency.needed not in seen:
                seen.add(dependency.needed)
                waiting.append(dependency.needed)
    return [GateNeed(task, is_everywhere) for task, is_everywhere in sorted(needs)]
