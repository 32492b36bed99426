"""A plan from its files, expanded over listed or made-up nodes: what all commands that need no server look at."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from precast.base.errors import PrecastError
from precast.cli.console.files import read_source
from precast.cli.plans.choices import read_choices
from precast.cli.plans.plan_files import SUFFIXES, name_plan, read_parameter, read_plan_files
from precast.cli.plans.problems import print_problems
from precast.plans import issues
from precast.plans.checks import check_expansion
from precast.plans.expansion import expand
from precast.plans.loading.documents import PlanText
from precast.plans.loading.loader import load_plan
from precast.plans.model import SYNC_NODE, ComputedResult, Expansion, InstanceKey, Plan, PlanNode, PlanProblem
from precast.plans.names import NameMatcher
from precast.plans.parameters import check_parameters
from precast.plans.subsets import choose_instances, subset_of
from precast.plans.views.dependencies import make_up_nodes
from precast.plans.views.descriptions import count, list_names
from precast.plans.views.node_file import read_nodes
from precast.plans.views.problem_view import problem_of, view_problem


class LocalNodes(NamedTuple):
    """The nodes, and the data of those that have some. Without a file they are made up: one for each role."""

    nodes: list[PlanNode]
    data: dict[str, dict[str, Any]]
    is_made_up: bool


class LocalPlan(NamedTuple):
    """A plan over nodes, and what its options leave out."""

    plan: Plan
    nodes: LocalNodes
    expansion: Expansion
    left_out: AbstractSet[InstanceKey] = frozenset()


class OpenedPlan(NamedTuple):
    """What opening a plan has found. With errors there is no local plan."""

    plan: Plan | None
    local: LocalPlan | None
    errors: list[PlanProblem]
    warnings: list[PlanProblem]


def open_plan(args: argparse.Namespace) -> OpenedPlan:
    """Load and expand the plan of a command line. Raises what reading files raises; problems of the plan are collected."""
    loaded = load_files(args.files)
    if loaded.plan is None:
        return loaded
    nodes = read_local_nodes([loaded.plan], args.nodes_file)
    if nodes.errors:
        return OpenedPlan(loaded.plan, None, nodes.errors, [*loaded.warnings, *nodes.warnings])
    return _expand(loaded.plan, nodes.nodes, [*loaded.warnings, *nodes.warnings], args)


def load_files(arguments: Sequence[str]) -> OpenedPlan:
    """Load a plan, without nodes."""
    loaded = load_plan(_read_texts(arguments), name_plan(arguments), _find_beside(arguments))
    return OpenedPlan(None if loaded.errors else loaded.plan, None, loaded.errors, loaded.warnings)


def _read_texts(arguments: Sequence[str]) -> list[PlanText]:
    return [PlanText(file.path, file.text, file.layer) for file in read_plan_files(arguments)]


def _find_beside(arguments: Sequence[str]) -> Callable[[str], list[PlanText] | None]:
    """Finds the plans that a plan includes: the file or the directory of that name beside the first argument."""
    directory = Path(arguments[0]).resolve().parent

    def find(name: str) -> list[PlanText] | None:
        if not name or "/" in name or name.startswith("."):
            return None
        places = [directory / f"{name}{suffix}" for suffix in SUFFIXES]
        found = next((str(place) for place in [*places, directory / name] if place.exists()), None)
        return None if found is None else _read_texts([found])

    return find


class ReadNodes(NamedTuple):
    """Nodes, and what is wrong with their file."""

    nodes: LocalNodes
    errors: list[PlanProblem]
    warnings: list[PlanProblem]


def read_local_nodes(plans: Sequence[Plan], path: str | None) -> ReadNodes:
    """The nodes of a file; without one, made-up nodes with the roles of these plans."""
    if path is None:
        made_up = {node.name: node for plan in plans for node in make_up_nodes(plan)}
        return ReadNodes(LocalNodes(list(made_up.values()), {}, True), [], [])
    found = read_nodes(PlanText(path, read_source(path).text))
    return ReadNodes(LocalNodes(found.nodes, found.data, False), found.errors, found.warnings)


def _expand(plan: Plan, nodes: LocalNodes, warnings: list[PlanProblem], args: argparse.Namespace) -> OpenedPlan:
    given = dict(map(read_parameter, args.param))
    try:
        computed, problems = compute_dependencies(plan, nodes, given)
        expansion = expand(plan, nodes.nodes, computed)
        problems += check_expansion(expansion)
        subset = msgspec.structs.replace(subset_of(read_choices(args)), nodes=_list_nodes(args))
        chosen = choose_instances(expansion, subset)
    except PrecastError as error:
        return OpenedPlan(plan, None, [problem_of(error)], warnings)
    errors = [problem for problem in problems if problem.is_error]
    remarks = [*warnings, *expansion.warnings, *(problem for problem in problems if not problem.is_error)]
    if nodes.is_made_up:  # of each role there is one node, so they say nothing about limits
        remarks = [problem for problem in remarks if problem.code != issues.IDLE_LIMIT.code]
    keys = [instance.key for instance in expansion.instances]
    left_out = {key for index, key in enumerate(keys) if index not in chosen and key.node != SYNC_NODE}
    return OpenedPlan(plan, None if errors else LocalPlan(plan, nodes, expansion, left_out), errors, remarks)


def _list_nodes(args: argparse.Namespace) -> tuple[str, ...]:
    return tuple(name for word in getattr(args, "nodes", []) for name in word.split(","))


def compute_dependencies(
    plan: Plan, nodes: LocalNodes, given: Mapping[str, str]
) -> tuple[list[ComputedResult], list[PlanProblem]]:
    """The dependencies that expressions give on the nodes that have data. Raises as `local_values.compute_locally` does."""
    if given:
        check_parameters(plan, given)  # also those that no expression reads
    if not nodes.data or not any(task.computed for task in plan.tasks):
        return [], []
    from precast.cli.plans.local_values import compute_locally  # few plans need it, and it imports much

    return compute_locally(plan, nodes, given)


def open_sound_plan(args: argparse.Namespace) -> LocalPlan | None:
    """The plan of a command line; None if it has errors, which are printed then."""
    opened = open_plan(args)
    print_problems(map(view_problem, opened.errors), (), sys.stderr)
    return opened.local


def describe_nodes(nodes: LocalNodes) -> str:
    """How many nodes there are, or which were made up."""
    if not nodes.is_made_up:
        return count(len(nodes.nodes), "node")
    return f"made-up nodes, one for each role ({list_names([node.name for node in nodes.nodes])})"


def require_node(nodes: LocalNodes, name: str) -> str:
    """The name of a node that exists. Raises InputError PLAN-037."""
    names = [node.name for node in nodes.nodes]
    if name not in names:
        raise issues.UNKNOWN_NODE.error(name=name, guess=NameMatcher().suggest(name, names))
    return name
