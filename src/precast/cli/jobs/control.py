"""What `precast run` and `precast exec` have in common besides starting: watching, ending and repeating a job."""

import argparse
from collections.abc import Callable

import msgspec

from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import print_json
from precast.cli.console.parser import declare_exits
from precast.cli.jobs.descriptions import describe_counts, describe_job_state
from precast.cli.jobs.options import add_wait, add_watching, duration_s, exit_code
from precast.cli.jobs.progress import Progress
from precast.cli.jobs.watch import watch
from precast.wire.jobs.views import JobChanges, JobView

Command = Callable[[argparse.Namespace], int]
AddCommand = Callable[[str, Command, str], argparse.ArgumentParser]
_ENDS = {
    "stop": "begin no other node; nodes that have begun go on",
    "abort": "begin no other node, and end what nodes have begun",
}
_REPEATS = {
    "resume": "go on with a run that was stopped, aborted or halted, on the nodes that have not begun",
    "retry": "repeat a run that has ended on the nodes that failed",
}


def start_commands(parser: argparse.ArgumentParser) -> AddCommand:
    """Make the parser a group of commands about jobs; the returned function adds one."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.set_defaults(run=command)
        return added

    return add


def add_control(add: AddCommand, base: str, exits: dict[int, str]) -> None:
    """Add the commands that watch, end and repeat the jobs under a path of the API."""
    watching = add("watch", _watch, "follow a run to its end")
    ending = {verb: add(verb, _end, summary) for verb, summary in _ENDS.items()}
    repeating = {verb: add(verb, _repeat, summary) for verb, summary in _REPEATS.items()}
    for verb, parser in {"watch": watching, **ending, **repeating}.items():
        parser.add_argument("id", metavar="RUN")
        parser.set_defaults(verb=verb, base=base)
    add_wait(watching)
    for parser in repeating.values():
        add_watching(parser)
    for parser in (watching, *repeating.values()):
        declare_exits(parser, exits)


def follow(client: Client, job: JobView, args: argparse.Namespace, base: str, *, first_round: int = 1) -> int:
    """Print the progress of a job until it has ended, unless the command is to detach; returns the exit code."""
    progress = Progress(args.json, first_round=first_round)
    if getattr(args, "detach", False):
        progress.show_detached(job)
        return 0
    wait_s = None if args.wait is None else duration_s(args.wait)
    is_detailed = getattr(args, "detailed_exitcodes", False)
    return exit_code(watch(client, base, job, progress, wait_s), progress, detailed=is_detailed)


def _watch(args: argparse.Namespace) -> int:
    client = connect(args)
    # Commands have no route for the job alone.
    job = client.ask("GET", f"{args.base}/{segment(args.id)}/changes", JobChanges).run
    return follow(client, job, args, args.base)


def _end(args: argparse.Namespace) -> int:
    job = connect(args).ask("POST", f"{args.base}/{segment(args.id)}/{args.verb}", JobView)
    if args.json:
        print_json(msgspec.to_builtins(job))
    else:
        print(f"{job.id} is {describe_job_state(job.state)}: {describe_counts(job)}")
    return 0


def _repeat(args: argparse.Namespace) -> int:
    client = connect(args)
    job = client.ask("POST", f"{args.base}/{segment(args.id)}/{args.verb}", JobView)
    return follow(client, job, args, args.base, first_round=job.round)
