"""`precast exec TARGETS -- COMMAND ARGS…`: a command on many nodes, with what it says while it runs. There is no shell in between."""

import argparse

from precast.cli import issues
from precast.cli.console.client import add_connection, connect
from precast.cli.console.parser import says, takes_rest
from precast.cli.jobs.options import EXEC_EXITS, add_limits, duration_s, exit_code, limits_of
from precast.cli.jobs.progress import Progress
from precast.cli.jobs.watching import watch
from precast.cli.query.targets import add_targets, targets_of
from precast.wire.jobs.views import NewCommand, RunView

COMMANDS = "/v1/commands"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = "precast exec [OPTIONS] TARGET … -- COMMAND [ARGUMENT …]"
    parser.epilog = "It needs a token with the role commands, and `allow_exec = true` in the agent's own settings."
    add_connection(parser)
    add_targets(parser)
    takes_rest(parser, "words")
    add_limits(parser, take="60s")
    parser.add_argument(
        "--output",
        metavar="BYTES",
        type=int,
        default=65_536,
        help="what is kept of each node's output (default: 65536)",
    )
    says(parser, EXEC_EXITS)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    if not args.words:
        raise issues.USAGE.error(problem="no command", usage="put it behind `--`: precast exec web1 -- uptime")
    body = NewCommand(targets_of(args), args.words, limits_of(args), args.output, args.why)
    client = connect(args)
    run = client.ask("POST", COMMANDS, RunView, body)
    progress = Progress(args.json)
    if args.detach:
        progress.detached(run)
        return 0
    wait_s = None if args.wait is None else duration_s(args.wait)
    return exit_code(watch(client, COMMANDS, run, progress, wait_s), progress)
