"""`precast plan diff`: what a new version of a plan changes, before anything runs."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from precast.base.errors import PrecastError
from precast.base.spans import visible
from precast.cli.console.output import print_json
from precast.cli.plans.local_commands import EXIT_BROKEN, EXIT_DIFFERENT
from precast.cli.plans.local_plan import (
    LocalNodes,
    compute_dependencies,
    describe_nodes,
    load_files,
    read_local_nodes,
)
from precast.cli.plans.plan_files import read_parameter
from precast.cli.plans.problems import print_problems
from precast.plans.comparison import FieldChange, NodeChange, PlanComparison, TaskChange, compare_expansions
from precast.plans.expansion import expand
from precast.plans.model import Expansion, Plan, PlanProblem
from precast.plans.views.descriptions import count, list_names
from precast.plans.views.order_changes import OrderChange
from precast.plans.views.problem_view import problem_of, view_problem

MOST_ROWS, MOST_CHARS = 50, 100
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_ORDERS = {
    "ordered": "{first} is now before {second}",
    "unordered": "{first} is no longer before {second}",
    "reversed": "{first} is now before {second}; it was behind it",
    "elsewhere": "{first} is before {second} between other nodes than before",
}


def run(args: argparse.Namespace) -> int:
    """Compare two versions over the same nodes."""
    old, new = load_files([args.old]), load_files([args.new])
    if old.plan is None or new.plan is None:
        return _refuse([*old.errors, *new.errors])
    nodes = read_local_nodes([old.plan, new.plan], args.nodes_file)
    if nodes.errors:
        return _refuse(nodes.errors)
    given = dict(map(read_parameter, args.param))
    versions = (old.plan, new.plan)
    try:
        expansions = [_expand(plan, nodes.nodes, _choose(given, plan, versions)) for plan in versions]
    except PrecastError as error:
        return _refuse([problem_of(error)])
    errors = [problem for _, problems in expansions for problem in problems if problem.is_error]
    if errors:
        return _refuse(errors)
    found = compare_expansions(expansions[0][0], expansions[1][0])
    if args.json:
        print_json(msgspec.to_builtins(found))
    else:
        for line in describe_comparison(found):
            print(visible(line))
        print(visible(f"over {describe_nodes(nodes.nodes)}"))
    return 0 if found.is_equal else EXIT_DIFFERENT


def _choose(given: Mapping[str, str], plan: Plan, versions: Sequence[Plan]) -> dict[str, str]:
    """The values of parameters that a version has; one that no version has is left to be refused."""
    others = {name for version in versions for name in version.parameters} - plan.parameters.keys()
    return {name: value for name, value in given.items() if name not in others}


def _expand(plan: Plan, nodes: LocalNodes, given: Mapping[str, str]) -> tuple[Expansion, list[PlanProblem]]:
    computed, problems = compute_dependencies(plan, nodes, given)
    return expand(plan, nodes.nodes, computed), problems


def _refuse(errors: Sequence[PlanProblem]) -> int:
    print_problems(map(view_problem, errors), (), sys.stderr)
    return EXIT_BROKEN


def describe_comparison(found: PlanComparison) -> Iterator[str]:
    """The lines that say what differs."""
    if found.is_equal:
        yield "the versions do the same"
    yield from (line for change in found.tasks for line in _describe_change("task", change))
    yield from (line for change in found.groups for line in _describe_change("group", change))
    yield from (f"~ parameter {_describe_field(change)}" for change in found.parameters)
    yield from _describe_order(found.order.changes, found.order.followers)
    if found.nodes:
        yield "nodes affected:"
        yield from map(_describe_node, found.nodes[:MOST_ROWS])
        yield from _describe_rest(len(found.nodes) - MOST_ROWS, "node")


def _describe_change(what: str, change: TaskChange) -> Iterator[str]:
    place = f"{change.at.file}:{change.at.line}"
    nodes = f" on {list_names(change.nodes)}" if change.nodes else ""
    yield f"{_SIGNS[change.change]} {what} {change.id}{nodes}, {place}"
    yield from (f"    {_describe_field(field)}" for field in change.fields)
    if change.change == "changed":
        yield from [f"    now also on {list_names(change.gained)}"] if change.gained else []
        yield from [f"    no longer on {list_names(change.lost)}"] if change.lost else []


def _describe_field(change: FieldChange) -> str:
    return f"{change.field}: {_show(change.old)} → {_show(change.new)}"


def _show(value: Any) -> str:
    text = "nothing" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"


def _describe_order(changes: Sequence[OrderChange], followers: int) -> Iterator[str]:
    if not changes:
        return
    yield "order:"
    for change in changes[:MOST_ROWS]:
        yield "    " + _ORDERS[change.change].format(first=change.first, second=change.second)
    yield from _describe_rest(len(changes) - MOST_ROWS, "such pair")
    if followers:
        yield f"    {count(followers, 'other pair')} of tasks follow from these"


def _describe_node(node: NodeChange) -> str:
    lists = {"+": node.added, "-": node.removed, "~": node.changed}
    parts = [f"{sign} {list_names(names)}" for sign, names in lists.items() if names]
    parts += [f"{count(len(node.reordered), 'task')} in another order"] if node.reordered else []
    return f"    {node.node}: {'; '.join(parts)}"


def _describe_rest(more: int, what: str) -> Iterator[str]:
    if more > 0:
        yield f"    and {count(more, what)} more; --json has all"
