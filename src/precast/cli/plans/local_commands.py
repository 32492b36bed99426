"""The commands of `precast plan` that look at files and need no server; two of them can also look at a run."""

import argparse
import importlib
from collections.abc import Callable
from typing import Any

from precast.cli.console.parser import declare_exits
from precast.cli.console.settings import ClientSettings, add_settings
from precast.cli.plans.choices import add_choices

EXIT_BROKEN, EXIT_DIFFERENT = 1, 2
BROKEN = {EXIT_BROKEN: "the plan has errors"}
FORMATS = {
    "json": "the graph: tasks, edges with their reasons, nodes, an order",
    "pnml": "the net, for other tools for Petri nets",
    "dot": "a drawing for Graphviz",
    "svg": "a drawing",
    "steps": "the steps of each node, as JSON",
    "script": "the steps of each node, as a shell script of plain commands (puppet apply)",
}


def add_local_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add these commands to the group. Each is in a module of its own, which is imported when it is run: loading plans imports much."""

    def add(name: str, summary: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
        parser.set_defaults(run=_run_module(name))
        return parser

    check = _add_plan(add("check", "find errors and mistakes in a plan, and expand it over nodes"))
    _add_choices(check)
    _add_json(check)
    show = _add_plan(add("show", "show the tasks of a plan in their order"))
    show.add_argument("--node", metavar="NAME", help="only those of this node")
    _add_choices(show)
    _add_json(show)
    draw = _add_plan_or_run(add("draw", "draw a plan as SVG or DOT; a run of a plan by the states of its tasks"))
    draw.add_argument("--format", choices=("svg", "dot"), default="svg", help="svg (default) or dot")
    draw.add_argument("--node", metavar="NAME", help="the tasks of this node, and what they wait for elsewhere")
    draw.add_argument("--all-arrows", action="store_true", help="also those that longer ways imply")
    _add_output(draw)
    _add_diff(add("diff", "compare two versions of a plan: tasks, order, nodes"))
    explain = add("explain", "explain why a task is where it is, what it waits for, and what became of it in a run")
    explain.add_argument("task", metavar="TASK", help="the id of the task")
    _add_json(_add_plan_or_run(explain))
    export = _add_plan(add("export", "write a plan for another tool"))
    export.add_argument("--as", dest="format", choices=tuple(FORMATS), required=True, help=_list_formats())
    _add_output(export)
    schema = add("schema", "print the JSON schema of plans, for editors")
    schema.add_argument("--json", action="store_true", help="print one JSON document, as always")


def _run_module(name: str) -> Callable[[argparse.Namespace], int]:
    def run(args: argparse.Namespace) -> int:
        code: int = importlib.import_module(f"precast.cli.plans.{name}").run(args)
        return code

    return run


def _add_plan(parser: argparse.ArgumentParser, how_many: str = "+") -> argparse.ArgumentParser:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs=how_many,
        help="files, or directories with all YAML files below; tasks of later directories replace those of earlier",
    )
    _add_nodes(parser)
    _add_parameters(parser)
    declare_exits(parser, BROKEN)
    return parser


def _add_plan_or_run(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--run", dest="of_run", metavar="RUN", help="instead of files: a run, of which a server knows")
    add_settings(parser, ClientSettings)
    return _add_plan(parser, "*")


def _add_nodes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--nodes-file",
        metavar="FILE",
        help="a YAML list of nodes: name, roles, tags, is_master, data (default: a made-up node for each role)",
    )


def _add_choices(parser: argparse.ArgumentParser) -> None:
    add_choices(parser)
    parser.add_argument(
        "--nodes",
        metavar="NODE",
        action="append",
        default=[],
        help="only on these nodes: names, or patterns such as /web.*/",
    )


def _add_parameters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--param", metavar="NAME=VALUE", action="append", default=[], help="a parameter of the plan")


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", default="-", help="write to FILE instead of standard output")


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="a file or directory: the version before")
    parser.add_argument("new", metavar="NEW", help="a file or directory: the version after")
    _add_nodes(parser)
    _add_parameters(parser)
    _add_json(parser)
    declare_exits(parser, {EXIT_BROKEN: "a version has errors", EXIT_DIFFERENT: "the versions differ"})


def _list_formats() -> str:
    return "; ".join(f"{name}: {meaning}" for name, meaning in FORMATS.items())
