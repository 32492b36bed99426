"""`precast plan check`: all errors and warnings of a plan, with their places."""

import argparse

from precast.base import digests
from precast.base.errors import PrecastError
from precast.cli.plans.local_commands import EXIT_BROKEN
from precast.cli.plans.local_plan import LocalPlan, OpenedPlan, describe_nodes, open_plan
from precast.cli.plans.local_values import find_values
from precast.cli.plans.problems import show_check
from precast.plans import issues
from precast.plans.expanding.problems import make_problem
from precast.plans.expansion import expand
from precast.plans.expressions import find_expressions
from precast.plans.model import SYNC_NODE, Plan, PlanProblem, PlanTask
from precast.plans.views.dependencies import make_up_whole_node
from precast.plans.views.problem_view import view_problem
from precast.wire.jobs.programs import AnyWork, NoWork, RebootWork, TaskProgram
from precast.wire.plans.bodies import PlanCheck

_WITHOUT_COMMANDS = ("catalog", "manifest", "stage", "skipped", "run_plan")


def run(args: argparse.Namespace) -> int:
    """Print what is wrong with a plan, and how large it is."""
    opened = open_plan(args)
    check = _refuse(opened) if opened.local is None else _check(opened, opened.local, args)
    show_check(check, args, "" if opened.local is None else _describe(opened.local))
    return EXIT_BROKEN if check.errors else 0


def _refuse(opened: OpenedPlan) -> PlanCheck:
    plan = opened.plan or Plan("", ())
    digest = "" if opened.plan is None else digests.of_value(plan)
    errors, warnings = list(map(view_problem, opened.errors)), list(map(view_problem, opened.warnings))
    return PlanCheck(plan.name, digest, errors, warnings, len(plan.tasks))


def _check(opened: OpenedPlan, local: LocalPlan, args: argparse.Namespace) -> PlanCheck:
    values = find_values(local, args)
    warnings = [*opened.warnings, *values.warnings, *(_check_whole_node(local.plan) if local.nodes.is_made_up else ())]
    return PlanCheck(
        local.plan.name,
        digests.of_value(local.plan),
        [view_problem(problem) for problem in values.errors],
        [view_problem(problem) for problem in warnings],
        len(local.plan.tasks),
        sum(instance.key.node != SYNC_NODE for instance in local.expansion.instances),
        len(values.skipped | local.left_out),
        len(local.nodes.nodes),
        _list_commands(local),
    )


def _list_commands(local: LocalPlan) -> list[str]:
    """The tasks that do more on some node than apply catalogs and look, by their type and tests."""
    placed = {instance.key.task for instance in local.expansion.instances if instance.key not in local.left_out}
    return sorted(local.plan.tasks[number - 1].id for number in placed if _needs_commands(local.plan.tasks[number - 1]))


def _needs_commands(task: PlanTask) -> bool:
    work: AnyWork = NoWork() if task.type in _WITHOUT_COMMANDS else RebootWork()
    return TaskProgram(task.id, work, list(task.test_pre), list(task.test_post)).needs_command_right


def _check_whole_node(plan: Plan) -> list[PlanProblem]:
    """Made-up nodes have one role each, so they do not show that tasks of different roles wait for each other on one node."""
    try:
        expand(plan, [make_up_whole_node(plan)])
    except PrecastError as error:
        if not issues.CYCLE.matches(error):
            raise
        return [make_problem(issues.CYCLE_WITH_ALL_ROLES, None, problem=error.message)]
    return []


def _describe(local: LocalPlan) -> str:
    """What was not checked, for want of nodes or data."""
    if local.nodes.is_made_up:
        return f"checked over {describe_nodes(local.nodes)}; list yours with --nodes-file"
    tasks = {instance.key.task for instance in local.expansion.instances if instance.key.node not in local.nodes.data}
    has_expressions = any(
        task.condition is not None or find_expressions(task)
        for number, task in enumerate(local.plan.tasks, 1)
        if number in tasks
    )
    return "conditions and expressions of nodes without data were only read" if has_expressions else ""
