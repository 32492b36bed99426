"""Joins included plans with the plan around them: the tasks of its plan take the place of a run_plan task.

All of them wait for what the run_plan task waits for, on all nodes, and whatever waits for it waits for all of them. Their first and last
tasks alone would not be enough, because which are first can differ from node to node.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from precast.base.errors import PrecastError
from precast.plans import issues
from precast.plans.loading.problems import Problems
from precast.plans.model import Condition, CrossDependency, PlanGroup, PlanTask
from precast.plans.names import NameMatcher

MAX_ADDED: Final = 200_000  # dependencies that joining adds to one plan
_ALL_NODES: Final = ("*",)
Item = TypeVar("Item")


class IncludedPlan(NamedTuple):
    """The tasks and groups of a plan, under the names that they have in the plan around it."""

    tasks: tuple[PlanTask, ...] = ()
    groups: tuple[PlanGroup, ...] = ()


class _Links(NamedTuple):
    """Other tasks that come before a task, or after it: by name for its node and for stages, and across nodes."""

    local: tuple[str, ...] = ()
    cross: tuple[CrossDependency, ...] = ()


class PlanJoiner:
    """Joins one plan with those that its run_plan tasks include, by the id of these tasks."""

    def __init__(
        self, items: Sequence[PlanTask | PlanGroup], included: Mapping[str, IncludedPlan], problems: Problems
    ) -> None:
        self._items = items
        self._tasks = {item.id: item for item in items if isinstance(item, PlanTask)}
        self._included = included
        self._problems = problems
        self._matcher = NameMatcher()
        self._added = 0

    def join(self) -> tuple[PlanTask | PlanGroup, ...]:
        """The tasks and groups of all of them, in order. Problems are reported."""
        joined: list[PlanTask | PlanGroup] = []
        for item in self._items:
            try:
                joined += self._join_item(item)
            except PrecastError as error:
                self._problems.add_error(error, item.at)
        if self._added > MAX_ADDED:
            limit = f"{MAX_ADDED} dependencies between tasks of different plans"
            self._problems.error(issues.TOO_MUCH, None, what="the plan", limit=limit)
        return tuple(joined)

    def _join_item(self, item: PlanTask | PlanGroup) -> list[PlanTask | PlanGroup]:
        if isinstance(item, PlanGroup):
            return [msgspec.structs.replace(item, tasks=self._replace_names(item.tasks))]
        if item.id not in self._included:
            return [self._link_around(item)]
        return self._put_in(item, self._included[item.id])

    def _replace_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names of tasks, with those of included plans instead of the run_plan tasks among them."""
        found: dict[str, None] = {}
        for name in names:
            runners = self._matcher.find(name, self._included)
            if runners != [name]:
                found[name] = None
            found.update(dict.fromkeys(task.id for runner in runners for task in self._included[runner].tasks))
        return tuple(found)

    def _link_around(self, task: PlanTask) -> PlanTask:
        """A task of the plan itself: what it says of a run_plan task, it says of all tasks of that plan."""
        before = self._link_to_included(task.requires, task.cross_depends)
        after = self._link_to_included(task.required_for, task.cross_depended_by)
        kept = msgspec.structs.replace(
            task,
            requires=tuple(name for name in task.requires if name not in self._included),
            required_for=tuple(name for name in task.required_for if name not in self._included),
            cross_depends=tuple(item for item in task.cross_depends if item.name not in self._included),
            cross_depended_by=tuple(item for item in task.cross_depended_by if item.name not in self._included),
        )
        return self._add(kept, before, after)

    def _link_to_included(self, names: tuple[str, ...], cross: tuple[CrossDependency, ...]) -> _Links:
        def find(name: str) -> list[PlanTask]:
            return [
                task for runner in self._matcher.find(name, self._included) for task in self._included[runner].tasks
            ]

        return _link(find, names, cross)

    def _put_in(self, runner: PlanTask, plan: IncludedPlan) -> list[PlanTask | PlanGroup]:
        """The tasks and groups of an included plan, linked as the run_plan task is."""
        self._warn_of_unknown(runner)

        def find(name: str) -> list[PlanTask]:
            ids = [found for found in self._matcher.find(name, self._tasks) if found != runner.id]
            return [
                task
                for id_ in ids
                for task in (self._included[id_].tasks if id_ in self._included else [self._tasks[id_]])
            ]

        before = _link(find, runner.requires, runner.cross_depends)
        after = _link(find, runner.required_for, runner.cross_depended_by)
        tasks = [self._add(self._join_conditions(task, runner), before, after) for task in plan.tasks]
        return [*tasks, *plan.groups]

    def _warn_of_unknown(self, runner: PlanTask) -> None:
        cross = {"cross-depends": runner.cross_depends, "cross-depended-by": runner.cross_depended_by}
        fields = {"requires": runner.requires, "required_for": runner.required_for}
        named = {**fields, **{field: tuple(item.name for item in items) for field, items in cross.items()}}
        for field, names in named.items():
            for name in names:
                if not self._matcher.find(name, self._tasks):
                    near = self._problems.suggest(name, self._tasks)
                    values = {"task": runner.id, "name": name, "field": field, "guess": near}
                    self._problems.warn(issues.UNKNOWN_DEPENDENCY, runner.at, **values)

    def _join_conditions(self, task: PlanTask, runner: PlanTask) -> PlanTask:
        """The task, which also has the condition of the run_plan task."""
        computed = (*task.computed, *runner.computed)
        outer, inner = runner.condition, task.condition
        if outer is None or task.type == "stage":
            return msgspec.structs.replace(task, computed=computed)
        if inner is not None and inner.is_yaql != outer.is_yaql:
            self._problems.error(issues.MIXED_CONDITIONS, task.at, outer=runner.id, inner=task.id)
        both = outer if inner is None else Condition(f"({outer.text}) and ({inner.text})", outer.is_yaql)
        return msgspec.structs.replace(task, computed=computed, condition=both)

    def _add(self, task: PlanTask, before: _Links, after: _Links) -> PlanTask:
        self._added += sum(map(len, (*before, *after)))
        if self._added > MAX_ADDED:
            return task
        return msgspec.structs.replace(
            task,
            requires=_unite(task.requires, before.local),
            cross_depends=_unite(task.cross_depends, before.cross),
            required_for=_unite(task.required_for, after.local),
            cross_depended_by=_unite(task.cross_depended_by, after.cross),
        )


def _link(find: Callable[[str], list[PlanTask]], names: tuple[str, ...], cross: tuple[CrossDependency, ...]) -> _Links:
    """Links to all tasks that are found: to stages by name, to others on the nodes of the role.

    A run_plan task is on no node, so `role: null`, which else means stages alone, means all nodes here.
    """
    dependencies = [*(CrossDependency(name) for name in names), *cross]
    local: dict[str, None] = {}
    across: dict[CrossDependency, None] = {}
    for dependency in dependencies:
        for task in find(dependency.name):
            if task.type == "stage":
                local[task.id] = None
            else:
                role = dependency.role or _ALL_NODES
                across[msgspec.structs.replace(dependency, name=task.id, role=role)] = None
    return _Links(tuple(local), tuple(across))


def _unite(first: tuple[Item, ...], second: tuple[Item, ...]) -> tuple[Item, ...]:
    return tuple(dict.fromkeys((*first, *second)))
