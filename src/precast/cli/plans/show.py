"""`precast plan show`: the tasks of a plan in an order in which they can run, with where they run and what they wait for."""

import argparse
from collections.abc import Iterator

import msgspec

from precast.cli.console.output import print_json, print_table
from precast.cli.plans.local_commands import EXIT_BROKEN
from precast.cli.plans.local_plan import LocalPlan, describe_nodes, open_sound_plan, require_node
from precast.plans.export import export_graph
from precast.plans.model import PlanTask
from precast.plans.views.descriptions import count, list_names

MOST_NAMES = 4
_Row = tuple[str, str, str, str, str]


def run(args: argparse.Namespace) -> int:
    local = open_sound_plan(args)
    if local is None:
        return EXIT_BROKEN
    node = None if args.node is None else require_node(local.nodes, args.node)
    if args.json:
        print_json(msgspec.to_builtins(export_graph(local.expansion)))
        return 0
    rows = list(_list_rows(local, node))
    print_table(("TASK", "TYPE", "ON", "WAITS FOR", "GATES"), rows)
    where = f"on {node}" if node is not None else f"over {describe_nodes(local.nodes)}"
    print(f"\n{local.plan.name}: {count(len(rows), 'task')} {where}")
    return 0


def _list_rows(local: LocalPlan, node: str | None) -> Iterator[_Row]:
    """A row for each task, at the place of its first instance, and at the end those that no node has."""
    expansion = local.expansion
    placed: dict[int, list[str]] = {}
    for instance in expansion.instances:
        if instance.key not in local.left_out and (node is None or instance.key.node in (node, "")):
            placed.setdefault(instance.key.task, []).append(instance.key.node)
    needed: dict[int, list[int]] = {}
    for dependency in expansion.dependencies:
        needed.setdefault(dependency.task, []).append(dependency.needed)
    everything = range(1, len(local.plan.tasks) + 1)
    rest = [] if node is not None or local.left_out else [number for number in everything if number not in placed]
    for number in [*placed, *rest]:
        task = local.plan.tasks[number - 1]
        names = [local.plan.tasks[other - 1].id for other in dict.fromkeys(needed.get(number, ()))]
        on = "" if task.type == "stage" else list_names(sorted(placed.get(number, [])), MOST_NAMES) or "no node"
        yield task.id, task.type, on, list_names(names, MOST_NAMES), ", ".join(_list_gates(task))


def _list_gates(task: PlanTask) -> Iterator[str]:
    """What must be so before the task begins, and what is tested after it."""
    if task.condition is not None:
        yield "condition"
    if task.approval:
        yield "approval"
    if task.test_pre:
        yield f"{count(len(task.test_pre), 'test')} before"
    if task.test_post:
        yield f"{count(len(task.test_post), 'test')} after"
