"""`precast run TARGETS`: makes nodes apply their released catalogs now, and prints the progress; the other commands handle such jobs."""

import argparse

import msgspec

from precast.cli.console.client import Client, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.console.parser import declare_exits, set_default_command
from precast.cli.jobs.control import add_control, follow, start_commands
from precast.cli.jobs.descriptions import describe_counts, describe_job_state, describe_work
from precast.cli.jobs.futures import describe_waits, read_run_futures
from precast.cli.jobs.options import EXITS, add_limits, add_override_futures, limits_of
from precast.cli.jobs.progress import Progress
from precast.cli.query.targets import add_targets, targets_of
from precast.wire.jobs.views import JobView, NewRunJob, StepView

RUNS = "/v1/runs"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "`precast run TARGET …` is short for `precast run start TARGET …`."
    add = start_commands(parser)
    set_default_command(parser, "start")
    start = add("start", _start, "make nodes apply their released catalogs now")
    add_targets(start)
    mode = start.add_mutually_exclusive_group()
    mode.add_argument("--noop", action="store_true", help="make no changes, report pending ones (no-op)")
    mode.add_argument("--enforce", action="store_true", help="make changes where the node's policy allows it (default)")
    start.add_argument("--tags", metavar="TAG", action="append", default=[], help="apply only resources with this tag")
    start.add_argument(
        "--stale-values",
        choices=("rerun", "fail", "keep"),
        default="rerun",
        help="what a retry does with nodes that succeeded with a value which is promised again (default: rerun)",
    )
    add_limits(start, deadline="1h")
    add_override_futures(start)
    detailed = "also tell by the exit code whether something changed"
    start.add_argument("--detailed-exitcodes", action="store_true", help=detailed)
    declare_exits(start, EXITS)
    listing = add("list", _list, "show the newest runs")
    listing.add_argument("--limit", metavar="N", type=int, default=20, help="at most N rows (default: 20)")
    show = add("show", _show, "show a run and its nodes")
    show.add_argument("id", metavar="RUN")
    add_control(add, RUNS, EXITS)


def _start(args: argparse.Namespace) -> int:
    tags = [tag for argument in args.tags for tag in argument.split(",") if tag]
    body = NewRunJob(
        *(targets_of(args), "noop" if args.noop else "enforce", tags, limits_of(args), args.why, args.override_window),
        *(args.override_futures, args.stale_values),
    )
    client = connect(args)
    return follow(client, client.ask("POST", RUNS, JobView, body), args, RUNS)


def _list(args: argparse.Namespace) -> int:
    jobs = connect(args).list_pages(RUNS, JobView, "id", "before", most=args.limit)
    if args.json:
        print_json(msgspec.to_builtins(jobs))
        return 0
    print_table(["RUN", "WHAT", "STATE", "BY", "BEGAN", "NODES"], [_row(job) for job in jobs])
    return 0


def _row(job: JobView) -> tuple[str | None, ...]:
    made_at = format_time(job.made_at)
    return job.id, describe_work(job), describe_job_state(job.state), job.made_by, made_at, describe_counts(job)


def _show(args: argparse.Namespace) -> int:
    client = connect(args)
    job = client.ask("GET", f"{RUNS}/{segment(args.id)}", JobView)
    steps, futures = _list_steps(client, job.id), read_run_futures(client, job.id)
    if args.json:
        shown = {"run": job, "steps": steps, "futures": futures}
        print_json(msgspec.to_builtins(shown))
        return 0
    why = f", {job.why}" if job.why else ""
    print(f"{job.id}: {describe_work(job)}, by {job.made_by}{why}, {describe_job_state(job.state)}")
    print(f"{format_time(job.made_at)} to {format_time(job.ended_at) or 'now'}: {describe_counts(job)}")
    progress = Progress(is_json=False, mode=job.mode)
    for step in steps:
        progress.show_step(step)
    for line in describe_waits(futures):
        print(line)
    return 0


def _list_steps(client: Client, job_id: str) -> list[StepView]:
    return client.list_pages(f"{RUNS}/{segment(job_id)}/steps", StepView, "node")
