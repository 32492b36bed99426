"""Loads a plan from its files: the one entrance to this package.

A load reports all errors and all warnings, each with its place, and never raises because of what the files say. What it costs is bounded:
values, depth, expansion of aliases, included plans and the dependencies that those add.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.plans import issues
from precast.plans.loading.documents import PlanText, ValueBudget
from precast.plans.loading.inclusion import FindPlan, PlanInclusion
from precast.plans.loading.layers import MergedPlan, merge_files
from precast.plans.loading.plan_files import read_file
from precast.plans.loading.problems import Problems
from precast.plans.model import Plan, PlanGroup, PlanProblem, PlanTask, Position
from precast.plans.names import NameMatcher


class LoadedPlan(NamedTuple):
    """What a load has found. Without errors there is a plan, whatever the warnings."""

    plan: Plan | None
    errors: list[PlanProblem]
    warnings: list[PlanProblem]


def load_plan(files: Sequence[PlanText], name: str, find_plan: FindPlan | None = None) -> LoadedPlan:
    """Load the plan of these files. `name` is that of the plan, unless a file says another.

    `find_plan` gives the files of a plan that a run_plan task includes, or None if there is no such plan; without it there is none.
    """
    return _Load(find_plan).load(files, name)


class _Load:
    def __init__(self, find_plan: FindPlan | None) -> None:
        self._problems = Problems()
        self._budget = ValueBudget()
        self._order: dict[str, int] = {}
        self._inclusion = PlanInclusion(find_plan or _find_none, self._read, self._problems)

    def load(self, files: Sequence[PlanText], name: str) -> LoadedPlan:
        merged = self._inclusion.include(self._read(files, name), (name,))
        tasks = tuple(item for item in merged.tasks if isinstance(item, PlanTask))
        groups = tuple(item for item in merged.tasks if isinstance(item, PlanGroup))
        problems = self._problems
        if (
            not tasks
            and not problems.errors
            and not any(issues.NOTHING_HERE.code == one.code for one in problems.warnings)
        ):
            at = Position(files[0].path, 1, 1) if files else None
            problems.warn(issues.NOTHING_HERE, at, what="the plan")
        if not problems.errors:
            self._warn_of_idle_tasks(tasks, groups)
        problems.sort(self._order)
        plan = None if problems.errors else Plan(merged.name, tasks, groups, merged.parameters, merged.unknown)
        return LoadedPlan(plan, problems.errors, problems.warnings)

    def _read(self, files: Sequence[PlanText], name: str) -> MergedPlan:
        contents = []
        for file in files:
            self._order.setdefault(file.path, len(self._order))
            contents.append(read_file(file, self._budget, self._problems))
        return merge_files(contents, name, self._problems)

    def _warn_of_idle_tasks(self, tasks: Iterable[PlanTask], groups: Iterable[PlanGroup]) -> None:
        """Warn of tasks that name no nodes and that no group names."""
        idle = {task.id: task for task in tasks if task.type != "stage" and not task.selectors}
        try:
            named = NameMatcher().find_any({name for group in groups for name in group.tasks}, idle)
        except PrecastError as error:
            self._problems.add_error(error, None)
            return
        for id_ in idle.keys() - named:
            self._problems.warn(issues.RUNS_NOWHERE, idle[id_].at, task=id_)


def _find_none(name: str) -> None:
    return None
