"""Includes the plans that run_plan tasks name, and the values that these give to their parameters.

A parameter of an included plan has the value that `with` gives. Without one it has that of the parameter of the same name in the plan
around it, if there is one, and else its default. What is fixed so is stored with each of its tasks, as `arguments`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from precast.base.errors import PrecastError
from precast.plans import issues
from precast.plans.loading.documents import PlanText
from precast.plans.loading.joining import IncludedPlan, PlanJoiner
from precast.plans.loading.layers import MergedPlan
from precast.plans.loading.nodes import shorten
from precast.plans.loading.problems import Problems
from precast.plans.loading.scopes import scope_group, scope_task
from precast.plans.model import Plan, PlanGroup, PlanTask
from precast.plans.parameters import check_parameters

FindPlan = Callable[[str], Sequence[PlanText] | None]
MAX_DEPTH: Final = 10
MAX_TASKS: Final = 20_000  # of all included plans, each as often as it is included


class PlanInclusion:
    """Includes plans, each of which is read once. `read` reads and merges the files of a plan."""

    def __init__(
        self, find_plan: FindPlan, read: Callable[[Sequence[PlanText], str], MergedPlan], problems: Problems
    ) -> None:
        self._find_plan = find_plan
        self._read = read
        self._problems = problems
        self._plans: dict[str, MergedPlan | None] = {}
        self._tasks_left = MAX_TASKS

    def include(self, plan: MergedPlan, chain: tuple[str, ...]) -> MergedPlan:
        """The plan with the tasks of those that it includes. `chain` has the names of the plans that include this one, and its own."""
        runners = [item for item in plan.tasks if isinstance(item, PlanTask) and item.type == "run_plan"]
        included = {runner.id: self._include_one(runner, plan, chain) for runner in runners}
        if not included or self._problems.errors:
            return plan
        return plan._replace(tasks=PlanJoiner(plan.tasks, included, self._problems).join())

    def _include_one(self, runner: PlanTask, around: MergedPlan, chain: tuple[str, ...]) -> IncludedPlan:
        name = runner.parameters.get("plan")
        plan = self._find(runner, name, chain) if isinstance(name, str) else None
        if plan is None or not self._has_room(runner, plan):
            return IncludedPlan()
        arguments = self._read_arguments(runner, plan, around)
        tasks = [scope_task(item, runner.id) for item in plan.tasks if isinstance(item, PlanTask)]
        return IncludedPlan(
            tuple(msgspec.structs.replace(task, arguments={**arguments, **task.arguments}) for task in tasks),
            tuple(scope_group(item, runner.id) for item in plan.tasks if isinstance(item, PlanGroup)),
        )

    def _find(self, runner: PlanTask, name: str, chain: tuple[str, ...]) -> MergedPlan | None:
        if name in chain:
            path = " → ".join(map(shorten, (*chain[chain.index(name) :], name)))
            self._problems.error(issues.INCLUDE_CYCLE, runner.at, chain=path)
            return None
        if len(chain) > MAX_DEPTH:
            limit = f"{MAX_DEPTH} levels"
            self._problems.error(issues.TOO_MUCH, runner.at, what="the inclusion of plans in plans", limit=limit)
            return None
        if name not in self._plans:
            files = self._find_plan(name)
            self._plans[name] = None if files is None else self.include(self._read(files, name), (*chain, name))
        if self._plans[name] is None:
            self._problems.error(issues.NO_SUCH_PLAN, runner.at, task=runner.id, plan=shorten(name))
        return self._plans[name]

    def _has_room(self, runner: PlanTask, plan: MergedPlan) -> bool:
        self._tasks_left -= len(plan.tasks)
        if self._tasks_left < 0:
            limit = f"{MAX_TASKS} tasks of included plans"
            self._problems.error(issues.TOO_MUCH, runner.at, what="the plan", limit=limit)
        return self._tasks_left >= 0

    def _read_arguments(self, runner: PlanTask, plan: MergedPlan, around: MergedPlan) -> dict[str, Any]:
        """The values that parameters of the included plan have in every run."""
        given: dict[str, Any] = runner.parameters.get("with") or {}
        found: dict[str, Any] = {}
        for name in given:
            if name not in plan.parameters:
                known = ", ".join(plan.parameters) or "none"
                near = self._problems.suggest(name, plan.parameters)
                self._problems.error(issues.UNKNOWN_PARAMETER, runner.at, name=shorten(name), guess=near, known=known)
        for name, declared in plan.parameters.items():
            if name in given or not self._is_inherited(runner, name, declared, around):
                found |= self._check(runner, name, declared, {name: given[name]} if name in given else {})
        return found

    def _is_inherited(self, runner: PlanTask, name: str, declared: Any, around: MergedPlan) -> bool:
        """Whether the plan around has this parameter. It must have the same type then."""
        if name not in around.parameters:
            return False
        types = [declared.get("type", "Any"), around.parameters[name].get("type", "Any")]
        if types[0] != types[1]:
            reason = (
                f"the plan around it has a parameter of this name with the type {types[1]}, and `with` gives no value"
            )
            self._problems.error(issues.BAD_DECLARATION, runner.at, name=name, reason=reason)
        return True

    def _check(self, runner: PlanTask, name: str, declared: Any, given: dict[str, Any]) -> dict[str, Any]:
        if not given and "default" not in declared:
            what, advice = f"with of task {runner.id}", f"write `with: {{{name}: VALUE}}` below its parameters"
            self._problems.error(issues.MISSING_FIELD, runner.at, what=what, field=name, advice=advice)
            return {}
        try:
            return check_parameters(Plan("", (), parameters={name: declared}), given)
        except PrecastError as error:
            self._problems.add_error(error, runner.at)
            return {}
