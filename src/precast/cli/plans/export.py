"""`precast plan export`: a plan for other tools: its graph, its net, a drawing, or the steps of each node."""

import argparse
import sys
from collections.abc import Callable, Mapping

import msgspec

from precast.cli.console.files import write_text
from precast.cli.plans.local_commands import EXIT_BROKEN
from precast.cli.plans.local_plan import LocalPlan, open_sound_plan
from precast.cli.plans.local_values import find_values
from precast.cli.plans.problems import print_problems
from precast.plans.drawing.dot import write_dot
from precast.plans.drawing.picture import make_picture
from precast.plans.drawing.svg import write_svg
from precast.plans.export import export_graph, export_pnml
from precast.plans.views.problem_view import view_problem
from precast.plans.views.script import write_script
from precast.plans.views.steps import PlanSteps, StepValues, make_steps


def run(args: argparse.Namespace) -> int:
    local = open_sound_plan(args)
    if local is None:
        return EXIT_BROKEN
    if args.format not in ("steps", "script"):
        write_text(args.output, _WRITERS[args.format](local))
        return 0
    values = find_values(local, args)
    print_problems(map(view_problem, values.errors), (), sys.stderr)
    if values.errors:
        return EXIT_BROKEN
    given = StepValues(values.parameters, values.tasks, values.evaluated, values.skipped)
    steps = make_steps(local.expansion, given)
    write_text(args.output, _to_json(steps) if args.format == "steps" else write_script(steps))
    _note_gaps(steps)
    return 0


def _note_gaps(steps: PlanSteps) -> None:
    """Say how many steps have something that no command does."""
    gaps = sum(
        any(command.obstacle for command in (*step.before, *([step.work] if step.work else ()), *step.after))
        for step in steps.steps
    )
    if gaps:
        text = f"{gaps} of {len(steps.steps)} steps have no command; they say why, and fail when they are run"
        print(f"precast: note: {text}", file=sys.stderr)


def _to_json(value: msgspec.Struct) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


_WRITERS: Mapping[str, Callable[[LocalPlan], str]] = {
    "json": lambda local: _to_json(export_graph(local.expansion)),
    "pnml": lambda local: export_pnml(local.expansion),
    "dot": lambda local: write_dot(make_picture(local.plan, local.expansion.dependencies)),
    "svg": lambda local: write_svg(make_picture(local.plan, local.expansion.dependencies)),
}
