"""Plans for other tools: the net as PNML, the graph as JSON, and steps of plain commands for another deployment system."""

from typing import Any

import msgspec

from precast.base import digests
from precast.net.exchange.pnml_writer import write_pnml
from precast.net.model.compiler import compile_net
from precast.net.model.declarations import NetDeclaration, Place
from precast.net.model.structure import Net
from precast.plans.model import SYNC_NODE, Expansion, PlanNode, Position
from precast.plans.plan_net import build_plan_net
from precast.plans.views.descriptions import describe_test
from precast.plans.views.steps import Tolerance
from precast.plans.views.waits import Reason, WaitKind, list_waits

_FINISHED = "finished"  # a task has ended: no other place of a plan's net has a name without a task, a node or a count


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
    """The undisturbed course of an expansion as PNML, which other tools for Petri nets read."""
    return write_pnml(build_course(expansion))


def build_course(expansion: Expansion) -> Net:
    """The net of a run in which every task succeeds and is approved; its goal is that all have ended.

    What follows from a failure is not in the net of a run (`plan_net`), so a tool that lets tasks fail would find that it gets stuck.
    """
    net, places = build_plan_net(expansion)
    approved = {net.place_name(place) for place in places.approved.values()}
    marked = [place._replace(tokens=1) if place.name in approved else place for place in net.declared.places]
    transitions = [
        transition._replace(gives=(*transition.gives, (_FINISHED, 1)), on_failure=None)
        for transition in net.declared.transitions
    ]
    goal = ((_FINISHED, len(transitions)),) if transitions else ()
    return compile_net(NetDeclaration(net.declared.name, (*marked, Place(_FINISHED)), tuple(transitions), goal))
