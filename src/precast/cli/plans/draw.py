"""`precast plan draw`: a picture of the graph of tasks, or of one node."""

import argparse

from precast.cli.console.files import write_text
from precast.cli.plans.local_commands import EXIT_BROKEN
from precast.cli.plans.local_plan import LocalPlan, open_sound_plan, require_node
from precast.plans.drawing.dot import write_dot
from precast.plans.drawing.node_picture import make_node_picture
from precast.plans.drawing.picture import PlanPicture, make_picture
from precast.plans.drawing.svg import write_svg
from precast.plans.views.dependencies import list_dependencies


def run(args: argparse.Namespace) -> int:
    local = open_sound_plan(args)
    if local is None:
        return EXIT_BROKEN
    picture = choose_picture(local, args)
    write_text(args.output, write_svg(picture) if args.format == "svg" else write_dot(picture))
    return 0


def choose_picture(local: LocalPlan, args: argparse.Namespace) -> PlanPicture:
    """The picture of a node, or of all tasks: on listed nodes as they are there, otherwise as the plan is written.

    Raises InputError PLAN-037 for a node that does not exist.
    """
    if args.node is not None:
        node = require_node(local.nodes, args.node)
        return make_node_picture(local.expansion, node, shows_all=args.all_arrows)
    dependencies = list_dependencies(local.plan) if local.nodes.is_made_up else local.expansion.dependencies
    return make_picture(local.plan, dependencies, shows_all=args.all_arrows)
