"""What a task does on one node: makes its program from the parameters of its type.

Values reach a command as data, never as text that a shell reads: the parameters of the plan are environment variables `PT_name` of a
command (JSON, unless they are texts), and what a task of a module gets is stated by the plan. Results of other tasks travel beside the
program. Fuel pastes `{CLUSTER_ID}` and the like into commands; here they stay as they are, with a warning.

A no-op run applies catalogs without changing anything, and executes nothing else: the other tasks have no work then, and only those tests
before it that look without a command.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from precast.base import canonical
from precast.plans import issues
from precast.plans.expanding.problems import make_problem
from precast.plans.model import PlanNode, PlanProblem, PlanTask
from precast.plans.values.works import PlanValues, build_work, read_files
from precast.wire.jobs.programs import (
    AnyTest,
    AnyWork,
    CatalogWork,
    CollectWork,
    ManifestWork,
    NoWork,
    TaskProgram,
    only_looks,
)

_PLACEHOLDER: Final = re.compile(r"(?<!\$)\{[A-Z][A-Z0-9_]*\}")
_CATALOGS: Final = ("catalog", "manifest")
_WITHOUT_WORK: Final = ("stage", "group", "skipped", "run_plan")


def build_program(task: PlanTask, node: PlanNode, values: PlanValues) -> TaskProgram:
    """What a task does on a node; expressions must have been replaced by their values.

    Raises InputError PLAN-056 for a parameter that cannot be used, and PLAN-057 for a task that no module has.
    """
    if values.mode == "enforce":
        return _check(task, node.name, build_work(task, node.name, values), task.test_pre, task.test_post)
    work: AnyWork = build_work(task, node.name, values) if task.type in _CATALOGS else NoWork()
    if isinstance(work, CatalogWork | ManifestWork):
        work = msgspec.structs.replace(work, mode="noop")
    return _check(task, node.name, work, [test for test in task.test_pre if only_looks(test)], [])


def find_givers(tasks: Iterable[PlanTask]) -> frozenset[str]:
    """The ids of the tasks from whose results others take inputs."""
    return frozenset(given.task for task in tasks for given in task.inputs.values())


def describe_noop(task: PlanTask) -> str:
    """What a no-op run does not do of a task; empty if it does its work as a no-op, or has none."""
    return "" if task.type in (*_CATALOGS, *_WITHOUT_WORK) else f"a no-op run executes no tasks of the type {task.type}"


def build_collect_program(task: PlanTask, copies: Iterable[PlanTask], master: PlanNode) -> TaskProgram:
    """What the master does before a `copy_files`: it sends the files of all these forms of it. Raises InputError PLAN-056."""
    sources = dict.fromkeys(file.source for copy in copies for file in read_files(copy, master.name))
    return _check(task, master.name, CollectWork(list(sources)), [], [])


def find_program_problems(task: PlanTask) -> list[PlanProblem]:
    """Warnings of what is probably not meant in the parameters and tests of a task."""
    parameters = {name: value for name, value in task.parameters.items() if name != "data"}
    texts = {"parameters": parameters, "test_pre": task.test_pre, "test_post": task.test_post}
    return [
        make_problem(issues.PLACEHOLDER, task.at, task=task.id, field=field, name=name)
        for field, value in texts.items()
        for name in dict.fromkeys(_PLACEHOLDER.findall(canonical.encode(msgspec.to_builtins(value)).decode()))
    ]


def _check(
    task: PlanTask, node: str, work: AnyWork, before: Sequence[AnyTest], after: Sequence[AnyTest]
) -> TaskProgram:
    """The program, whose values are within the limits that nodes enforce."""
    program = TaskProgram(task.id, work, list(before), list(after), task.retries, task.interval_s)
    try:
        return msgspec.convert(msgspec.to_builtins(program), TaskProgram)
    except msgspec.ValidationError as error:
        raise issues.BAD_TASK_VALUE.error(task=task.id, node=node, reason=str(error)) from None
