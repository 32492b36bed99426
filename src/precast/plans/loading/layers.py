"""Merges the files of a plan: ids are unique within a layer, and a task of a later layer replaces that of an earlier one as a whole.

In Fuel, a release, its plugins and a cluster each have a graph; a later graph overrides tasks of an earlier one by their ids.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from precast.plans import issues
from precast.plans.loading.nodes import shorten
from precast.plans.loading.plan_files import FileContent, Named
from precast.plans.loading.problems import Problems, show_place
from precast.plans.model import PlanGroup, PlanTask


class MergedPlan(NamedTuple):
    """The content of all files; tasks and groups are in their order."""

    tasks: tuple[PlanTask | PlanGroup, ...]
    name: str
    parameters: dict[str, Any]
    unknown: dict[str, Any]


def merge_files(files: Sequence[FileContent], name: str, problems: Problems) -> MergedPlan:
    """Merge files in the order of their layers. What a layer has twice is reported."""
    tasks: dict[str, tuple[int, PlanTask | PlanGroup]] = {}
    parameters: dict[str, tuple[int, Named]] = {}
    named: tuple[int, Named] | None = None
    unknown: dict[str, Any] = {}
    for file in sorted(files, key=lambda file: file.layer):
        for task in file.tasks:
            _merge_task(tasks, task, file.layer, problems)
        for parameter, declared in file.parameters.items():
            if (earlier := parameters.get(parameter)) is not None and earlier[0] == file.layer:
                _report_twice(f"parameter {parameter}", declared, earlier[1], problems)
            parameters[parameter] = (file.layer, declared)
        if file.name is not None:
            if named is not None and named[0] == file.layer and named[1].value != file.name.value:
                _report_twice("the name of the plan", file.name, named[1], problems)
            named = (file.layer, file.name)
        unknown.update(file.unknown)
    return MergedPlan(
        tuple(task for _, task in tasks.values()),
        name if named is None else named[1].value,
        {parameter: declared.value for parameter, (_, declared) in parameters.items()},
        unknown,
    )


def _merge_task(
    tasks: dict[str, tuple[int, PlanTask | PlanGroup]], task: PlanTask | PlanGroup, layer: int, problems: Problems
) -> None:
    """Add a task, or put it in the place of the one with its id. The first of two in one layer counts for further checks."""
    earlier = tasks.get(task.id)
    if earlier is not None and earlier[0] == layer:
        first = show_place(earlier[1].at, task.at.file)
        problems.error(issues.ID_TWICE, task.at, id=task.id, first=first)
        return
    tasks[task.id] = (layer, task)


def _report_twice(what: str, later: Named, earlier: Named, problems: Problems) -> None:
    first = show_place(earlier.at, later.at.file)
    problems.error(issues.DECLARED_TWICE, later.at, what=shorten(what), first=first)
