"""The commands of `precast plan` that need a server: they start and control runs of plans, and show them."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from precast.base.spans import visible
from precast.cli import issues
from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.cli.jobs.descriptions import describe_job_state
from precast.cli.jobs.options import AMOUNT, add_override_futures, add_wait, add_watching, check_amount, duration_s
from precast.cli.plans.choices import add_choices, read_choices
from precast.cli.plans.plan_files import SUFFIXES, name_plan, read_parameter, read_plan_files
from precast.cli.plans.problems import print_first_warnings, show_check
from precast.cli.plans.rebase import describe_rebase
from precast.cli.plans.run_progress import describe_approval, describe_counts, describe_failure, describe_waits
from precast.cli.plans.run_watch import EXITS, PLANS, follow
from precast.cli.query.targets import words_of
from precast.wire import issues as wire_issues
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.plans.bodies import (
    ApproveBody,
    InstanceView,
    PlanCheck,
    PlanRequest,
    PlanRunBrief,
    PlanRunView,
    PlanSource,
    ResumeBody,
    ResumeView,
    RetryBody,
    RunTaskBody,
)

BROKEN = 1
# How long a server may prepare a run: a plan over many nodes, and catalogs that are compiled for it.
START_S = 420.0
# The tasks on nodes among which a status looks for those that wait for something else than for each other.
LOOKED_AT = 2_000
Command = Callable[[argparse.Namespace], int]


def add_run_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add these commands to the group."""

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
        add_connection(parser)
        parser.set_defaults(run=command)
        return parser

    _add_start(add("start", _start, "start a plan over nodes, and follow it"))
    listing = add("list", _list, "list the newest runs of plans, or the plans of an environment")
    listing.add_argument("--environment", metavar="NAME", help="list the plans of this environment")
    listing.add_argument("--limit", metavar="N", type=int, default=20, help="at most N rows (default: 20)")
    _add_run(add("status", _status, "show a run: its tasks, what failed, and what waits for a person"))
    watching = _add_run(add("watch", _watch, "follow a run to its end"))
    add_wait(watching)
    stop = _add_run(add("stop", _end, "let no other task begin; those that run go on"))
    stop.set_defaults(verb="stop")
    abort = _add_run(add("abort", _end, "let no other task begin, and end those that run"))
    abort.set_defaults(verb="abort")
    resume = _add_run(add("resume", _resume, "go on with a run that has ended, with all that has not succeeded"))
    resume.add_argument("--rebase", metavar="PLAN", nargs="+", help="on this version of the plan, with present data")
    resume.add_argument("--preview", action="store_true", help="only show what the rebase changes")
    resume.add_argument(
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="another value of a parameter, for the rebase",
    )
    retry = _add_run(add("retry", _retry, "repeat the tasks that have failed, and go on with what follows from them"))
    retry.add_argument("tasks", metavar="TASK", nargs="*", help="repeat only these (default: all that have failed)")
    approve = _add_run(add("approve", _approve, "let a task go that waits for a person"))
    approve.add_argument("task", metavar="TASK", help="the task that waits")
    run_task = _add_run(
        add("run-task", _run_task, "repeat a task on one node, with its tests and the inputs that it had")
    )
    run_task.add_argument("task", metavar="TASK", help="the task to repeat")
    run_task.add_argument("node", metavar="NODE", help="a node that the run has it on")
    for parser in (resume, retry, run_task):
        add_watching(parser)
    for parser in (run_task,):
        parser.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log and for the node")
    for parser in (watching, resume, retry, run_task):
        declare_exits(parser, EXITS)


def _add_run(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("id", metavar="RUN", help="the id of a run, as `precast plan list` shows it")
    return parser


def _add_start(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "plan", metavar="PLAN", nargs="+", help="files or directories; or the name of a plan of the environment"
    )
    parser.add_argument(
        "--nodes",
        metavar="TARGET",
        action="append",
        default=[],
        help="the nodes: a name, a glob, a query; may be repeated",
    )
    parser.add_argument("--all", action="store_true", help="every active node")
    parser.add_argument("--master", metavar="NODE", default="", help="the node that is meant by the role master")
    parser.add_argument("--param", metavar="NAME=VALUE", action="append", default=[], help="a parameter of the plan")
    add_choices(parser)
    parser.add_argument("--dry-run", action="store_true", help="check the plan over the nodes, and start nothing")
    parser.add_argument("--noop", action="store_true", help="change nothing: apply catalogs as no-op, run no commands")
    parser.add_argument("--at-once", metavar="N|%", help="at most N nodes are at work at the same time")
    parser.add_argument(
        "--wait-away", metavar="TIME", default="10m", help="wait this long for nodes that are away (default: 10m)"
    )
    parser.add_argument(
        "--override-window", action="store_true", help="also outside of maintenance windows; the audit log has it"
    )
    add_override_futures(parser)
    parser.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log and for the nodes")
    add_watching(parser)
    declare_exits(parser, {BROKEN: "the plan has errors (with --dry-run)", **EXITS})


def _start(args: argparse.Namespace) -> int:
    request = make_request(args)
    client = connect(args, START_S)
    if args.dry_run:
        check = client.ask("POST", f"{PLANS}/check", PlanCheck, request)
        show_check(check, args)
        return BROKEN if check.errors else 0
    run = client.ask("POST", PLANS, PlanRunView, request)
    if not args.json:
        print_first_warnings(run.warnings, "the same `precast plan start` with --dry-run prints all")
    return follow(client, run, args)


def make_request(args: argparse.Namespace) -> PlanRequest:
    """The request of a command line. Raises what reading files and targets raise."""
    words = words_of(args.nodes)
    if not words and not args.all:
        raise wire_issues.NO_TARGETS.error()
    return PlanRequest(
        read_plan_source(args.plan),
        TargetsBody(words, all=args.all),
        args.master,
        dict(map(read_parameter, args.param)),
        read_choices(args),
        "noop" if args.noop else "enforce",
        check_amount("--at-once", args.at_once, AMOUNT),
        duration_s(args.wait_away),
        args.why,
        args.override_window,
        args.override_futures,
    )


def read_plan_source(arguments: Sequence[str]) -> PlanSource:
    """The files that are named, or the plan of the environment. Raises NotFoundError CLI-010, InputError CLI-001, CLI-011 or CLI-012."""
    first = Path(arguments[0])
    if len(arguments) == 1 and not first.exists() and first.suffix not in SUFFIXES and "/" not in arguments[0]:
        return PlanSource(arguments[0])
    return PlanSource(name_plan(arguments), read_plan_files(arguments))


def _list(args: argparse.Namespace) -> int:
    client = connect(args)
    if args.environment:
        names = client.ask("GET", f"/v1/environments/{segment(args.environment)}/plans", list[str])
        print_json(names) if args.json else print("\n".join(names) or f"{args.environment} has no plans")
        return 0
    runs = client.list_pages(PLANS, PlanRunBrief, "id", "before", most=args.limit)
    if args.json:
        print_json(msgspec.to_builtins(runs))
        return 0
    rows = [
        (
            run.run.id,
            run.plan,
            describe_job_state(run.run.state),
            run.run.made_by,
            format_time(run.run.made_at),
            describe_counts(run.counts),
        )
        for run in runs
    ]
    print_table(["RUN", "PLAN", "STATE", "BY", "BEGAN", "TASKS ON NODES"], rows)
    return 0


def _status(args: argparse.Namespace) -> int:
    client, path = connect(args), f"{PLANS}/{segment(args.id)}"
    run = client.ask("GET", path, PlanRunView)
    if args.json:
        instances = client.list_pages(f"{path}/instances", InstanceView, "key")
        print_json(msgspec.to_builtins({"run": run, "instances": instances}))
        return 0
    why = f", {run.run.why}" if run.run.why else ""
    print(f"{run.run.id}: {run.plan}, by {run.run.made_by}{why}, {describe_job_state(run.run.state)}")
    print(f"{format_time(run.run.made_at)} to {format_time(run.run.ended_at) or 'now'}: {describe_counts(run.counts)}")
    for failure in run.failures:
        print(f"  {describe_failure(failure)}")
    for approval in run.approvals:
        print(f"  {approval.task}: {visible(approval.text)} ({describe_approval(run, approval)})")
    if not run.run.is_over:
        for line in describe_waits(client.list_pages(f"{path}/instances", InstanceView, "key", most=LOOKED_AT)):
            print(f"  {line}")
    print_table(["TASK", "TYPE", "NODES"], [(task.id, task.type, describe_counts(task.counts)) for task in run.tasks])
    return 0


def _watch(args: argparse.Namespace) -> int:
    client = connect(args)
    return follow(client, client.ask("GET", f"{PLANS}/{segment(args.id)}", PlanRunView), args)


def _end(args: argparse.Namespace) -> int:
    run = connect(args).ask("POST", f"{PLANS}/{segment(args.id)}/{args.verb}", PlanRunView)
    return _print_run(run, args)


def _approve(args: argparse.Namespace) -> int:
    run = connect(args).ask("POST", f"{PLANS}/{segment(args.id)}/approve", PlanRunView, ApproveBody(args.task))
    return _print_run(run, args)


def _print_run(run: PlanRunView, args: argparse.Namespace) -> int:
    if args.json:
        print_json(msgspec.to_builtins(run))
    else:
        print(f"{run.run.id} is {describe_job_state(run.run.state)}: {describe_counts(run.counts)}")
    return 0


def _resume(args: argparse.Namespace) -> int:
    for option, value in (("--preview", args.preview), ("--param", args.param)):
        if value and args.rebase is None:
            raise issues.USAGE.error(problem=f"{option} needs --rebase", usage="name the version: --rebase PLAN")
    source = None if args.rebase is None else read_plan_source(args.rebase)
    body = ResumeBody(source, args.preview, dict(map(read_parameter, args.param)))
    client = connect(args, START_S)
    path = f"{PLANS}/{segment(args.id)}/resume"
    view = client.ask("POST", path, ResumeView, body)
    if not args.json:
        for line in describe_rebase(view) if source is not None else ():
            print(visible(line))
    if args.preview:
        if args.json:
            print_json(msgspec.to_builtins(view))
        return 0
    return follow(client, view.run, args, first_round=view.run.run.round)


def _retry(args: argparse.Namespace) -> int:
    client = connect(args)
    run = client.ask("POST", f"{PLANS}/{segment(args.id)}/retry", PlanRunView, RetryBody(args.tasks))
    return follow(client, run, args, first_round=run.run.round)


def _run_task(args: argparse.Namespace) -> int:
    client = connect(args)
    body = RunTaskBody(args.task, args.node, args.why)
    return follow(client, client.ask("POST", f"{PLANS}/{segment(args.id)}/run-task", PlanRunView, body), args)
