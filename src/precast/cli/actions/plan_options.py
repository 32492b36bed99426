"""The options of `precast action create plan`: the plan, and how it spreads over the nodes. It says the rest itself."""

import argparse

from precast.cli.jobs.options import add_window_options
from precast.cli.plans.choices import add_choices, read_choices
from precast.cli.plans.plan_files import read_parameter
from precast.cli.plans.runs import START_S as START_S
from precast.cli.plans.runs import read_plan_source
from precast.wire.actions.bodies import ActionPlan


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the plan and what it gets."""
    plan_help = "a file or directory, may be repeated; or the name of a plan of the nodes' environment"
    parser.add_argument("--plan", metavar="PLAN", action="append", required=True, help=plan_help)
    parser.add_argument("--master", metavar="NODE", default="", help="the node that is meant by the role master")
    parser.add_argument("--param", metavar="NAME=VALUE", action="append", default=[], help="a parameter of the plan")
    parser.add_argument("--noop", action="store_true", help="change nothing: apply catalogs as no-op, run no commands")
    commands = "use the routes for the role commands: the plan runs commands"
    parser.add_argument("--commands", action="store_true", help=commands)
    add_choices(parser)


def add_plan_spread(parser: argparse.ArgumentParser) -> None:
    """Add the options that limit how a plan spreads over its nodes."""
    how = parser.add_argument_group("how")
    how.add_argument("--at-once", metavar="N|%", help="at most N nodes are at work at the same time")
    wait_help = "wait this long for nodes that are away (default: 10m)"
    how.add_argument("--wait-away", metavar="TIME", default="10m", dest="away_for", help=wait_help)
    add_window_options(how)
    unused = {"canary": None, "batch": None, "per_minute": None, "tolerate": None, "tries": None}
    parser.set_defaults(away="wait", begin="5m", deadline="1h", **unused)


def plan_of(args: argparse.Namespace) -> ActionPlan:
    """Raises what reading files raises, and InputError CLI-001."""
    parameters = dict(map(read_parameter, args.param))
    return ActionPlan(read_plan_source(args.plan), args.master, parameters, read_choices(args))
