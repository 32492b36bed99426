"""`precast exec TARGETS -- COMMAND ARGS…`: runs a command on many nodes without a shell, and prints its output while it runs."""

import argparse

from precast.cli import issues
from precast.cli.console.client import add_connection, connect
from precast.cli.console.parser import collect_rest, declare_exits
from precast.cli.jobs.options import EXEC_EXITS, add_limits, duration_s, exit_code, limits_of
from precast.cli.jobs.progress import Progress
from precast.cli.jobs.watch import watch
from precast.cli.query.targets import add_targets, targets_of
from precast.wire.jobs.views import JobView, NewExecJob

COMMANDS = "/v1/commands"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = "precast exec [OPTIONS] TARGET … -- COMMAND [ARGUMENT …]"
    parser.epilog = (
        "You need a token with the role commands, and the agents need `allow_exec = true` in their settings."
    )
    add_connection(parser)
    add_targets(parser)
    collect_rest(parser, "words")
    add_limits(parser, deadline="60s")
    parser.add_argument(
        "--output",
        metavar="BYTES",
        type=int,
        default=65_536,
        help="store at most BYTES of each node's output (default: 65536)",
    )
    declare_exits(parser, EXEC_EXITS)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    if not args.words:
        raise issues.USAGE.error(problem="no command", usage="put it behind `--`: precast exec web1 -- uptime")
    body = NewExecJob(targets_of(args), args.words, limits_of(args), args.output, args.why)
    client = connect(args)
    job = client.ask("POST", COMMANDS, JobView, body)
    progress = Progress(args.json)
    if args.detach:
        progress.show_detached(job)
        return 0
    wait_s = None if args.wait is None else duration_s(args.wait)
    return exit_code(watch(client, COMMANDS, job, progress, wait_s), progress)
