"""`precast plan draw`: a picture of the graph of tasks, or of one node."""

import argparse

from precast.cli.console.files import write_text
from precast.cli.plans.local_commands import EXIT_BROKEN
from precast.cli.plans.local_plan import require_node
from precast.cli.plans.seen_plan import SeenPlan, look_at
from precast.plans.drawing.dot import write_dot
from precast.plans.drawing.node_picture import make_node_picture
from precast.plans.drawing.picture import PlanPicture, make_picture
from precast.plans.drawing.svg import write_svg
from precast.plans.views.dependencies import list_dependencies


def run(args: argparse.Namespace) -> int:
    """Draw a plan, or a run with the states of its tasks. Raises InputError PLAN-037 for a node that does not exist."""
    seen = look_at(args)
    if seen is None:
        return EXIT_BROKEN
    picture = _choose_picture(seen, args)
    write_text(args.output, write_svg(picture) if args.format == "svg" else write_dot(picture))
    return 0


def _choose_picture(seen: SeenPlan, args: argparse.Namespace) -> PlanPicture:
    """The picture of a node, or of all tasks: as they are on the nodes, or without nodes as the plan is written."""
    local = seen.local
    if args.node is not None:
        node = require_node(local.nodes, args.node)
        states = {instance.task: instance.state for instance in seen.list_instances() if instance.node == node}
        return make_node_picture(local.expansion, node, states, shows_all=args.all_arrows)
    dependencies = list_dependencies(local.plan) if local.nodes.is_made_up else local.expansion.dependencies
    return make_picture(local.plan, dependencies, seen.counts, shows_all=args.all_arrows)
