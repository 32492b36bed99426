"""`precast exec TARGETS -- COMMAND ARGS…`: runs a command on many nodes without a shell, and prints its output while it runs."""

import argparse

from precast.cli import issues
from precast.cli.console.client import connect
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
    add_control(add, COMMANDS, EXEC_EXITS)


def _start(args: argparse.Namespace) -> int:
    if not args.words:
        raise issues.USAGE.error(problem="no command", usage="put it behind `--`: precast exec web1 -- uptime")
    body = NewExecJob(targets_of(args), args.words, limits_of(args), args.output, args.why, args.override_window)
    client = connect(args)
    return follow(client, client.ask("POST", COMMANDS, JobView, body), args, COMMANDS)
