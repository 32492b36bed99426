"""`precast exec TARGETS -- COMMAND ARGS…`: runs a command on many nodes without a shell, and prints its output while it runs."""

import argparse
from urllib.parse import urlencode

from precast.cli import issues
from precast.cli.console.client import connect, segment
from precast.cli.console.files import write_content
from precast.cli.console.parser import collect_rest, declare_exits, set_default_command
from precast.cli.jobs.control import add_control, follow, start_commands
from precast.cli.jobs.options import EXEC_EXITS, add_limits, limits_of
from precast.cli.query.targets import add_targets, targets_of
from precast.wire.jobs.views import JobView, NewExecJob

COMMANDS = "/v1/commands"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "`precast exec TARGET … -- COMMAND` is short for `precast exec start TARGET … -- COMMAND`. "
        "You need a token with the role commands, and the agents need `allow_exec = true` in their settings."
    )
    add = start_commands(parser)
    set_default_command(parser, "start")
    start = add("start", _start, "run a command on nodes now")
    start.usage = "precast exec start [OPTIONS] TARGET … -- COMMAND [ARGUMENT …]"
    add_targets(start)
    collect_rest(start, "words")
    add_limits(start, deadline="60s")
    start.add_argument(
        "--output",
        metavar="BYTES",
        type=int,
        default=65_536,
        help="store at most BYTES of each node's output (default: 65536)",
    )
    declare_exits(start, EXEC_EXITS)
    _add_output(
        add("output", _output, "fetch the whole output of a node, or a file that a task of a plan has collected")
    )
    add_control(add, COMMANDS, EXEC_EXITS)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN")
    parser.add_argument("node", metavar="NODE")
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="write it to FILE (default: standard output)"
    )
    parser.add_argument("--task", metavar="N", type=int, default=1, help="of this task of a plan, by its number")
    parser.add_argument("--path", metavar="PATH", default="", help="the file that the task has collected from PATH")


def _output(args: argparse.Namespace) -> int:
    query = {"task": str(args.task), **({"path": args.path} if args.path else {})}
    path = f"{COMMANDS}/{segment(args.id)}/content/{segment(args.node)}?{urlencode(query)}"
    write_content(args.output, connect(args).fetch_content(path))
    return 0


def _start(args: argparse.Namespace) -> int:
    if not args.words:
        raise issues.USAGE.error(problem="no command", usage="put it behind `--`: precast exec web1 -- uptime")
    body = NewExecJob(targets_of(args), args.words, limits_of(args), args.output, args.why, args.override_window)
    client = connect(args)
    return follow(client, client.ask("POST", COMMANDS, JobView, body), args, COMMANDS)
