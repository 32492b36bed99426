"""Evaluates the conditions and expressions of a plan over the data of listed nodes, as a server does at the start of a run.

There is no earlier run here, so everything has changed since then. Where a node has no data, its expressions are only read.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from precast.base.confinement.confine import Level
from precast.base.errors import Kind, PrecastError
from precast.cli.plans.local_plan import LocalNodes, LocalPlan
from precast.cli.plans.plan_files import read_parameter
from precast.plans.expressions import fill_in, find_expressions
from precast.plans.model import SYNC_NODE, ComputedResult, InstanceKey, Plan, PlanProblem, PlanTask
from precast.plans.parameters import check_parameters, read_parameters
from precast.plans.programs import find_givers
from precast.plans.values.works import TaskFile
from precast.plans.views.problem_view import problem_of
from precast.services.plans.evaluation.batches import Batch, Question, gather_problems
from precast.services.plans.evaluation.processes import EvaluationLimits, PlanEvaluation
from precast.services.plans.preparing.node_data import NodesOfPlan, make_common
from precast.services.plans.preparing.programs import BuiltPrograms, RunValues, build_programs
from precast.services.plans.preparing.values import EvaluatedPlan, compute_dependencies, evaluate_values

# The files are the caller's own: what the kernel cannot confine is evaluated all the same.
_LIMITS = EvaluationLimits(level=Level.BEST)


class LocalValues(NamedTuple):
    """What is known of the tasks on the nodes that have data."""

    parameters: dict[str, Any]
    evaluated: set[InstanceKey]
    skipped: set[InstanceKey]  # their conditions are false
    tasks: dict[InstanceKey, PlanTask]  # with the values of their expressions
    built: BuiltPrograms
    errors: list[PlanProblem]
    warnings: list[PlanProblem]


class _AnyTask(dict[str, TaskFile]):
    """Stands for the modules of an environment, which are not at hand: every task exists."""

    def __missing__(self, name: str) -> TaskFile:
        return TaskFile("")

    def get(self, name: str, default: Any = None) -> Any:
        return self[name]


def find_values(local: LocalPlan, args: argparse.Namespace) -> LocalValues:
    """Evaluate what there is data for. Problems are collected, also that the package for expressions is missing.

    Raises InputError CLI-001 for an option that is no parameter.
    """
    given = dict(map(read_parameter, args.param))
    keys = _list_known(local)
    warnings: list[PlanProblem] = []
    parameters: dict[str, Any] = {}
    evaluated = EvaluatedPlan([], {}, [])
    try:
        parameters = _choose_parameters(local.plan, local.nodes, given)
        evaluated = asyncio.run(_evaluate(local, parameters))
    except PrecastError as error:
        keys = []
        (warnings if error.kind is Kind.UNAVAILABLE else evaluated.errors).append(problem_of(error))
    skipped = {InstanceKey(row.task, node) for row in evaluated.skipped for node in row.nodes}
    plan = local.plan
    tasks = {key: fill_in(plan.tasks[key.task - 1], evaluated.values.get(key, {})) for key in keys}
    built = _build(local, evaluated, parameters, skipped | local.left_out)
    errors = [*evaluated.errors, *built.errors]
    return LocalValues(parameters, set(keys), skipped, tasks, built, errors, [*warnings, *built.warnings])


def compute_locally(
    plan: Plan, nodes: LocalNodes, given: Mapping[str, str]
) -> tuple[list[ComputedResult], list[PlanProblem]]:
    """The dependencies that expressions of a plan give on the nodes that have data, and what is wrong.

    Raises InputError PLAN-050 to PLAN-055 for parameters, UnavailableError PLAN-065 to PLAN-067.
    """
    parameters = _choose_parameters(plan, nodes, given)
    evaluation = PlanEvaluation(_LIMITS)
    return asyncio.run(compute_dependencies(evaluation, plan, _gather_data(nodes), parameters))


def _choose_parameters(plan: Plan, nodes: LocalNodes, given: Mapping[str, str]) -> dict[str, Any]:
    """The values of the plan's parameters. Without data and without --param, those that have no default may be missing.

    Raises InputError PLAN-050 to PLAN-055.
    """
    if given or nodes.data:
        return check_parameters(plan, given)
    return {found.name: found.default for found in read_parameters(plan) if found.has_default}


async def _evaluate(local: LocalPlan, parameters: Mapping[str, Any]) -> EvaluatedPlan:
    evaluation = PlanEvaluation(_LIMITS)
    known = _list_known(local)
    evaluated = await evaluate_values(evaluation, local.plan, known, _gather_data(local.nodes), parameters)
    questions = list(_list_unread(local, {key.task for key in known}))
    problems = gather_problems(questions, await evaluation.evaluate(Batch(questions)))
    return evaluated._replace(errors=[*evaluated.errors, *problems])


def _list_known(local: LocalPlan) -> list[InstanceKey]:
    """The tasks on nodes with data, but for those that are left out."""
    keys = [instance.key for instance in local.expansion.instances if instance.key.node in local.nodes.data]
    return [key for key in keys if key not in local.left_out]


def _list_unread(local: LocalPlan, known: set[int]) -> Sequence[Question]:
    """The expressions of tasks that are on no node with data: they are only read."""
    questions = []
    for number, task in enumerate(local.plan.tasks, 1):
        if number in known:
            continue
        if task.condition is not None and task.condition.is_yaql:
            questions.append(Question(task.id, "condition", task.condition.text, is_condition=True, at=task.at))
        questions += [Question(task.id, found.name, found.text, at=task.at) for found in find_expressions(task)]
        questions += [Question(task.id, found.field, found.expression, at=task.at) for found in task.computed]
    return questions


def _gather_data(nodes: LocalNodes) -> NodesOfPlan:
    """The data of the nodes, with what a server adds."""
    data = {
        node.name: {
            **nodes.data[node.name],
            "uid": node.name,
            "name": node.name,
            "roles": list(node.roles),
            "tags": list(node.tags),
        }
        for node in nodes.nodes
        if node.name in nodes.data
    }
    return NodesOfPlan(nodes.nodes, data, make_common(nodes.nodes))


def _build(
    local: LocalPlan, evaluated: EvaluatedPlan, parameters: Mapping[str, Any], skipped: set[InstanceKey]
) -> BuiltPrograms:
    """The programs of the tasks whose values are known, which checks their parameters."""
    placed: dict[int, list[str]] = {number: [] for number in range(1, len(local.plan.tasks) + 1)}
    for instance in local.expansion.instances:
        task, node = instance.key
        is_known = node in local.nodes.data or not find_expressions(local.plan.tasks[task - 1])
        if node != SYNC_NODE and is_known:
            placed[task].append(node)
    values = RunValues("enforce", parameters, _AnyTask(), find_givers(local.plan.tasks))
    return build_programs(local.plan, local.nodes.nodes, list(placed.items()), evaluated, skipped, values)
