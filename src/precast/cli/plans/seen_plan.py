"""The plan that a command looks at: that of files, or that of a run, which has the states of its tasks."""

import argparse
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from precast.cli import issues
from precast.cli.console.client import Client, connect, segment
from precast.cli.plans.local_plan import LocalNodes, LocalPlan, open_sound_plan
from precast.cli.plans.run_watch import PLANS
from precast.plans.expansion import expand
from precast.plans.model import ComputedResult, Plan, PlanNode
from precast.plans.views.seen_values import SeenData
from precast.wire.plans.bodies import InstanceView, PlanDocument, PlanRunView


class SeenPlan(NamedTuple):
    """A plan over nodes; of a run also how many nodes of each task are in each state, and the way to ask for more."""

    local: LocalPlan
    counts: Mapping[str, Mapping[str, int]] = {}
    client: Client | None = None
    run: str = ""
    parameters: Mapping[str, Any] = {}

    def list_instances(self) -> list[InstanceView]:
        """The tasks of the run on their nodes; none without a run."""
        if self.client is None:
            return []
        return self.client.list_pages(f"{PLANS}/{segment(self.run)}/instances", InstanceView, "key")

    def read_data(self, node: str, task: str) -> SeenData:
        """The data of a node as the condition of a task saw it in the run; empty if it had none."""
        assert self.client is not None, "only a run has data"
        path = f"{PLANS}/{segment(self.run)}/data/{segment(node)}?task={quote(task, safe='')}"
        found = self.client.find("GET", path, dict[str, Any]) or {}
        return SeenData(_join(found), _join(found["earlier"]) if "earlier" in found else None)


def _join(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {**parts.get("common", {}), **parts.get("node", {})}


def look_at(args: argparse.Namespace) -> SeenPlan | None:
    """What the command line names; None if its plan has errors, which are printed then. Raises InputError CLI-001, PLAN-115."""
    if bool(args.files) is (args.of_run is not None):
        raise issues.USAGE.error(problem="name the files of a plan, or a run", usage="write FILE …, or --run RUN")
    if args.of_run is None:
        local = open_sound_plan(args)
        return None if local is None else SeenPlan(local)
    if args.param or args.nodes_file is not None:
        raise issues.USAGE.error(problem="a run has its own nodes and parameters", usage="leave these options out")
    client, path = connect(args), f"{PLANS}/{segment(args.of_run)}"
    document = client.ask("GET", f"{path}/document", PlanDocument)
    plan = msgspec.json.decode(document.plan, type=Plan)
    nodes = [PlanNode(node.name, tuple(node.roles), tuple(node.tags), node.is_master) for node in document.nodes]
    computed = msgspec.json.decode(document.computed, type=list[ComputedResult])
    local = LocalPlan(plan, LocalNodes(nodes, {}, False), expand(plan, nodes, computed))
    view = client.ask("GET", path, PlanRunView)
    return SeenPlan(local, {task.id: task.counts for task in view.tasks}, client, args.of_run, view.parameters)
