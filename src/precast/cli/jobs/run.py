"""`precast run TARGETS`: makes nodes apply their released catalogs now, and prints the progress; `run list|show|stop` handle such jobs."""

import argparse
from collections.abc import Callable

import msgspec

from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.console.parser import declare_exits, set_default_command
from precast.cli.jobs.options import EXITS, add_limits, duration_s, exit_code, limits_of
from precast.cli.jobs.progress import Progress, describe_counts, describe_state
from precast.cli.jobs.watch import watch
from precast.cli.query.targets import add_targets, targets_of
from precast.wire.jobs.views import JobView, NewRunJob, StepView

Command = Callable[[argparse.Namespace], int]
RUNS = "/v1/runs"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "`precast run TARGET …` is short for `precast run start TARGET …`."
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    set_default_command(parser, "start")

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.set_defaults(run=command)
        return added

    start = add("start", _start, "make nodes apply their released catalogs now")
    add_targets(start)
    mode = start.add_mutually_exclusive_group()
    mode.add_argument("--noop", action="store_true", help="make no changes, report pending ones (no-op)")
    mode.add_argument("--enforce", action="store_true", help="make changes where the node's policy allows it (default)")
    start.add_argument("--tags", metavar="TAG", action="append", default=[], help="apply only resources with this tag")
    add_limits(start, deadline="1h")
    detailed = "also tell by the exit code whether something changed"
    start.add_argument("--detailed-exitcodes", action="store_true", help=detailed)
    declare_exits(start, EXITS)
    listing = add("list", _list, "show the newest runs")
    listing.add_argument("--limit", metavar="N", type=int, default=20, help="at most N rows (default: 20)")
    show = add("show", _show, "show a run and its nodes")
    show.add_argument("id", metavar="RUN")
    stop = add("stop", _stop, "begin no other node; nodes that have begun go on")
    stop.add_argument("id", metavar="RUN")


def _start(args: argparse.Namespace) -> int:
    tags = [tag for argument in args.tags for tag in argument.split(",") if tag]
    body = NewRunJob(targets_of(args), "noop" if args.noop else "enforce", tags, limits_of(args), args.why)
    client = connect(args)
    job = client.ask("POST", RUNS, JobView, body)
    progress = Progress(args.json)
    if args.detach:
        progress.show_detached(job)
        return 0
    wait_s = None if args.wait is None else duration_s(args.wait)
    return exit_code(watch(client, RUNS, job, progress, wait_s), progress, detailed=args.detailed_exitcodes)


def _list(args: argparse.Namespace) -> int:
    jobs = connect(args).list_pages(RUNS, JobView, "id", "before", most=args.limit)
    if args.json:
        print_json(msgspec.to_builtins(jobs))
        return 0
    print_table(["RUN", "WHAT", "STATE", "BY", "BEGAN", "NODES"], [_row(job) for job in jobs])
    return 0


def _row(job: JobView) -> tuple[str | None, ...]:
    made_at = format_time(job.made_at)
    return job.id, _describe_work(job), describe_state(job.state), job.made_by, made_at, describe_counts(job)


def _show(args: argparse.Namespace) -> int:
    client = connect(args)
    job = client.ask("GET", f"{RUNS}/{segment(args.id)}", JobView)
    steps = _list_steps(client, job.id)
    if args.json:
        print_json({"run": msgspec.to_builtins(job), "steps": msgspec.to_builtins(steps)})
        return 0
    why = f", {job.why}" if job.why else ""
    print(f"{job.id}: {_describe_work(job)}, by {job.made_by}{why}, {describe_state(job.state)}")
    print(f"{format_time(job.made_at)} to {format_time(job.ended_at) or 'now'}: {describe_counts(job)}")
    progress = Progress(is_json=False, mode=job.mode)
    for step in steps:
        progress.show_step(step)
    return 0


def _stop(args: argparse.Namespace) -> int:
    job = connect(args).ask("POST", f"{RUNS}/{segment(args.id)}/stop", JobView)
    if args.json:
        print_json(msgspec.to_builtins(job))
    else:
        print(f"{job.id} is {describe_state(job.state)}: {describe_counts(job)}")
    return 0


def _list_steps(client: Client, job_id: str) -> list[StepView]:
    return client.list_pages(f"{RUNS}/{segment(job_id)}/steps", StepView, "node")


def _describe_work(job: JobView) -> str:
    """The command of an exec job; else the mode and the tags."""
    return " ".join(job.argv) if job.argv else f"{job.mode}{' ' + ','.join(job.tags) if job.tags else ''}"
