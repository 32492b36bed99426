"""Chooses which instances of an expansion run. The others are skipped: they keep their place in the order.

Each part of a choice narrows it:

- `start` keeps the tasks that come after one of those named, and those themselves; `end` those that come before. What comes after what is
  a question of tasks, as in Fuel: a task that follows another anywhere comes after it everywhere.
- `only` and `skip` keep and leave out tasks; `events` keeps those that name one of the events in `reexecute_on` or `refresh_on`.
- `nodes` keeps the instances on these nodes.

A task that sends the files of a `copy_files` is chosen with that, whatever the choice names.

Stages may be named as start and end alone: they do nothing that could be chosen. A name that matches nothing is an error, and so is a
choice of nothing to do: nothing but the absence of a choice means everything.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from precast.plans import issues
from precast.plans.collection import find_collections
from precast.plans.expanding.placement import is_stage
from precast.plans.model import Expansion, PlanTask, Subset
from precast.plans.names import NameMatcher, is_expression
from precast.plans.plan_net import task_of
from precast.wire.plans.bodies import SubsetBody

_EVERY_EVENT = "*"


def subset_of(body: SubsetBody) -> Subset:
    """The choice of a request."""
    return Subset(tuple(body.start), tuple(body.end), tuple(body.only), tuple(body.skip), (), tuple(body.events))


def choose_instances(expansion: Expansion, subset: Subset) -> set[int]:
    """The indexes of the instances that run, without stages; all if there is no choice.

    Raises InputError PLAN-035 to PLAN-038 for a name that matches nothing, PLAN-039 if nothing is left, PLAN-030 or PLAN-031 for a pattern.
    """
    chooser = _Chooser(expansion)
    tasks = chooser.choose_tasks(subset)
    nodes = chooser.choose_nodes(subset.nodes)
    chosen = {
        index
        for index, instance in enumerate(expansion.instances)
        if instance.key.task in tasks and instance.key.node in nodes
    }
    if subset != Subset() and all(_does_nothing(task_of(expansion, expansion.instances[index])) for index in chosen):
        raise issues.EMPTY_SUBSET.error(choice=_describe(subset))
    return chosen


class _Chooser:
    """Resolves the names of a choice."""

    def __init__(self, expansion: Expansion) -> None:
        self._expansion = expansion
        self._names = NameMatcher()
        self._numbers = {task.id: number for number, task in enumerate(expansion.plan.tasks, 1)}

    def choose_tasks(self, subset: Subset) -> set[int]:
        """The numbers of the tasks that run."""
        chosen = {number for number, task in enumerate(self._expansion.plan.tasks, 1) if not is_stage(task)}
        after, before = self._link_tasks()
        if subset.start:
            chosen &= _reach(self._find(subset.start), after)
        if subset.end:
            chosen &= _reach(self._find(subset.end), before)
        if subset.only:
            chosen &= self._find_with_work(subset.only)
        if subset.events:
            chosen &= self._find_by_event(subset.events)
        chosen -= self._find_with_work(subset.skip)
        tasks = self._expansion.plan.tasks
        return {number for number in chosen if not tasks[number - 1].collects_for} | find_collections(tasks, chosen)

    def choose_nodes(self, wanted: Collection[str]) -> set[str]:
        nodes = [node.name for node in self._expansion.nodes]
        if not wanted:
            return {*nodes}
        found = set()
        for name in wanted:
            matched = self._names.find(name, nodes)
            if not matched:
                raise issues.UNKNOWN_NODE.error(name=name, guess=self._names.suggest(name, nodes))
            found.update(matched)
        return found

    def _find(self, wanted: Iterable[str]) -> set[int]:
        """The numbers of the tasks and stages with these names."""
        found: set[int] = set()
        for name in wanted:
            matched = self._names.find(name, self._numbers)
            if not matched:
                self._refuse(name)
            found.update(self._numbers[task] for task in matched)
        return found

    def _refuse(self, name: str) -> None:
        if any(group.id == name for group in self._expansion.plan.groups):
            raise issues.NOT_A_TASK.error(name=name, what="group")
        raise issues.UNKNOWN_TASK.error(name=name, guess=self._names.suggest(name, self._numbers))

    def _find_with_work(self, wanted: Iterable[str]) -> set[int]:
        """The numbers of the tasks with these names; a name of nothing but stages is refused."""
        found: set[int] = set()
        for name in wanted:
            matched = {number for number in self._find([name]) if not is_stage(self._expansion.plan.tasks[number - 1])}
            if not matched:
                raise issues.NOT_A_TASK.error(name=name, what="pattern of stages" if is_expression(name) else "stage")
            found |= matched
        return found

    def _find_by_event(self, events: Iterable[str]) -> set[int]:
        tasks_of: dict[str, set[int]] = defaultdict(set)
        for number, task in enumerate(self._expansion.plan.tasks, 1):
            for name in (*task.reexecute_on, *task.refresh_on):
                tasks_of[name].add(number)
        found: set[int] = set()
        for event in events:
            names = [name for name in tasks_of if name == _EVERY_EVENT or self._names.find(name, [event])]
            if not names:
                raise issues.UNKNOWN_EVENT.error(name=event, guess=self._names.suggest(event, tasks_of))
            found.update(number for name in names for number in tasks_of[name])
        return found

    def _link_tasks(self) -> tuple[Mapping[int, set[int]], Mapping[int, set[int]]]:
        """By task, those that come directly after it, and those that come directly before it."""
        after: dict[int, set[int]] = defaultdict(set)
        before: dict[int, set[int]] = defaultdict(set)
        for dependency in self._expansion.dependencies:
            after[dependency.needed].add(dependency.task)
            before[dependency.task].add(dependency.needed)
        return after, before


def _does_nothing(task: PlanTask) -> bool:
    return task.type == "skipped" and not task.test_pre and not task.test_post


def _reach(start: set[int], links: Mapping[int, set[int]]) -> set[int]:
    """Everything that links lead to, from anywhere of the start, which is part of it."""
    reached, waiting = set(start), list(start)
    while waiting:
        for following in links.get(waiting.pop(), ()):
            if following not in reached:
                reached.add(following)
                waiting.append(following)
    return reached


def _describe(subset: Subset) -> str:
    parts = {
        "from": subset.start,
        "to": subset.end,
        "only": subset.only,
        "skip": subset.skip,
        "nodes": subset.nodes,
        "events": subset.events,
    }
    return "; ".join(f"{part} {', '.join(names)}" for part, names in parts.items() if names)
