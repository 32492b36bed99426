"""Plans for other tools: the net as PNML, the graph as JSON, and steps of plain commands for another deployment system."""

from typing import Any

import msgspec

from precast.base import digests
from precast.net.exchange.pnml_writer import write_pnml
from precast.plans.model import SYNC_NODE, Expansion, PlanNode, Position
from precast.plans.plan_net import build_plan_net
from precast.plans.views.descriptions import describe_test
from precast.plans.views.steps import Tolerance
from precast.plans.views.waits import Reason, WaitKind, list_waits


class GraphTask(msgspec.Struct, frozen=True):
    """A task of a graph, with the nodes on which it runs; a stage runs on none."""

    id: str
    type: str
    at: Position
    roles: list[str]
    nodes: list[str]
    at_once: int | None
    canary: str | None
    condition: str
    tests_before: list[str]
    tests_after: list[str]
    approval: str
    is_always: bool
    parameters: dict[str, Any]


class GraphEdge(msgspec.Struct, frozen=True):
    """A task that waits for another: how, on which nodes, for which, and the fields that say so."""

    task: str
    waits_for: str
    kind: WaitKind
    nodes: list[str]
    needed_on: list[str]
    reasons: list[Reason]


class PlanGraph(msgspec.Struct, frozen=True):
    """A plan over nodes. `order` is one in which all tasks can run on their nodes; a stage is on the node ""."""

    plan: str
    digest: str
    nodes: list[PlanNode]
    tasks: list[GraphTask]
    edges: list[GraphEdge]
    groups: list[Tolerance]
    order: list[tuple[str, str]]


def export_graph(expansion: Expansion) -> PlanGraph:
    """The graph of an expansion, as a value for JSON."""
    plan = expansion.plan
    ids = [task.id for task in plan.tasks]
    order = [(ids[instance.key.task - 1], instance.key.node) for instance in expansion.instances]
    placed: dict[str, list[str]] = {name: [] for name in ids}
    for name, node in order:
        if node != SYNC_NODE:
            placed[name].append(node)
    tasks = [
        GraphTask(
            task.id,
            task.type,
            task.at,
            list(task.selectors),
            sorted(placed[task.id]),
            expansion.at_once.get(number),
            expansion.canaries.get(number),
            "" if task.condition is None else task.condition.text.strip(),
            [describe_test(test) for test in task.test_pre],
            [describe_test(test) for test in task.test_post],
            task.approval,
            task.is_always,
            task.parameters,
        )
        for number, task in enumerate(plan.tasks, 1)
    ]
    edges = [
        GraphEdge(task, wait.task, wait.kind, wait.nodes, wait.needed_on, wait.reasons)
        for number, task in enumerate(ids, 1)
        for wait in list_waits(expansion, number)[0]
    ]
    groups = [Tolerance(group.name, sorted(group.nodes), group.tolerate) for group in expansion.groups]
    return PlanGraph(plan.name, digests.of_value(plan), list(expansion.nodes), tasks, edges, groups, order)


def export_pnml(expansion: Expansion) -> str:
    """The net of an expansion as PNML, which other tools for Petri nets read."""
    return write_pnml(build_plan_net(expansion).net)
