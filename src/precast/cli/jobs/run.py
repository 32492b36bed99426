"""`precast run TARGETS`: nodes apply what was released to them, now, and one sees how it goes; `run list|show|stop` for what runs."""

import argparse
from collections.abc import Callable

import msgspec

from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import moment, print_json, print_table
from precast.cli.console.parser import says, usually
from precast.cli.jobs.options import EXITS, add_limits, duration_s, exit_code, limits_of
from precast.cli.jobs.progress import Progress, told
from precast.cli.jobs.watching import watch
from precast.cli.query.targets import add_targets, targets_of
from precast.wire.jobs.views import NewRun, RunView, StepView

Command = Callable[[argparse.Namespace], int]
RUNS = "/v1/runs"
LISTED = 50


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "`precast run TARGET …` is short for `precast run start TARGET …`."
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    usually(parser, "start")

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.set_defaults(run=command)
        return added

    start = add("start", _start, "have nodes apply what was released to them, now")
    add_targets(start)
    mode = start.add_mutually_exclusive_group()
    mode.add_argument("--noop", action="store_true", help="only look")
    mode.add_argument(
        "--enforce", action="store_true", help="change things, where the node's policy allows it (default)"
    )
    start.add_argument("--tags", metavar="TAG", action="append", default=[], help="only resources with this tag")
    add_limits(start, take="1h")
    detailed = "also say by the exit code whether something changed"
    start.add_argument("--detailed-exitcodes", action="store_true", help=detailed)
    says(start, EXITS)
    listing = add("list", _list, "show the newest runs")
    listing.add_argument("--limit", metavar="N", type=int, default=20, help="so many (default: 20)")
    show = add("show", _show, "show a run and its nodes")
    show.add_argument("id", metavar="RUN")
    stop = add("stop", _stop, "let no other node begin; who has begun goes on")
    stop.add_argument("id", metavar="RUN")


def _start(args: argparse.Namespace) -> int:
    tags = [tag for given in args.tags for tag in given.split(",") if tag]
    body = NewRun(targets_of(args), "noop" if args.noop else "enforce", tags, limits_of(args), args.why)
    client = connect(args)
    run = client.ask("POST", RUNS, RunView, body)
    progress = Progress(args.json)
    if args.detach:
        progress.detached(run)
        return 0
    wait_s = None if args.wait is None else duration_s(args.wait)
    return exit_code(watch(client, RUNS, run, progress, wait_s), progress, detailed=args.detailed_exitcodes)


def _list(args: argparse.Namespace) -> int:
    found = connect(args).pages(RUNS, RunView, "id", "before", most=args.limit)
    if args.json:
        print_json(msgspec.to_builtins(found))
        return 0
    columns = ["RUN", "WHAT", "STATE", "BY", "BEGAN", "NODES"]
    print_table(
        columns, [(one.id, _what(one), one.state, one.made_by, moment(one.made_at), told(one)) for one in found]
    )
    return 0


def _show(args: argparse.Namespace) -> int:
    client = connect(args)
    run = client.ask("GET", f"{RUNS}/{segment(args.id)}", RunView)
    steps = _steps(client, run.id)
    if args.json:
        print_json({"run": msgspec.to_builtins(run), "steps": msgspec.to_builtins(steps)})
        return 0
    why = f", {run.why}" if run.why else ""
    print(f"{run.id}: {_what(run)}, by {run.made_by}{why}, {run.state}")
    print(f"{moment(run.made_at)} to {moment(run.ended_at) or 'now'}: {told(run)}")
    progress = Progress(is_json=False).of(run)
    for step in steps:
        progress.line(step)
    return 0


def _stop(args: argparse.Namespace) -> int:
    run = connect(args).ask("POST", f"{RUNS}/{segment(args.id)}/stop", RunView)
    if args.json:
        print_json(msgspec.to_builtins(run))
    else:
        print(f"{run.id} is {run.state}: {told(run)}")
    return 0


def _steps(client: Client, run: str) -> list[StepView]:
    return client.pages(f"{RUNS}/{segment(run)}/steps", StepView, "node")


def _what(run: RunView) -> str:
    return " ".join(run.argv) if run.argv else f"{run.mode}{' ' + ','.join(run.tags) if run.tags else ''}"
