"""`precast action create KIND TARGET …`: the kinds of actions, each with its own options."""

import argparse
import re
from typing import Literal

import msgspec

from precast.cli import issues
from precast.cli.actions.following import BASE, COMMAND_BASE, EXITS, describe_work, follow, print_action
from precast.cli.actions.options import add_spread, add_times, limits_of, times_of
from precast.cli.actions.plan_options import START_S, add_plan, add_plan_spread, plan_of
from precast.cli.console.client import add_connection, connect
from precast.cli.console.output import print_json
from precast.cli.console.parser import collect_rest, declare_exits
from precast.cli.jobs.options import duration_s
from precast.cli.query.targets import add_targets, targets_of
from precast.wire.actions import bodies
from precast.wire.actions.bodies import ActionView, ActionWork, NewAction, Parameter

_PARAMETER = re.compile(r"([a-z][a-z0-9_]{0,39})(?::([^=]{1,500}))?=(.*)", re.DOTALL)
_TYPES: tuple[Literal["string", "integer", "boolean"], ...] = ("string", "integer", "boolean")
_KINDS = {
    bodies.RUN: "apply the released catalogs",
    bodies.RELEASE: "release the staged catalog of each node at its turn, and apply it",
    bodies.COMMAND: "run a command without a shell, where the nodes allow it",
    bodies.FACTS: "collect and send the facts",
    bodies.RESTART: "restart the agent",
    bodies.REBOOT: "reboot the nodes",
    bodies.PLAN: "start a plan over the nodes",
    bodies.TASK: "run a task of a module of the nodes' environment, where the nodes allow it; its JSON is stored",
}


def configure(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(title="kinds", metavar="KIND", dest="kind", required=True)
    for kind, summary in _KINDS.items():
        _configure_kind(kinds.add_parser(kind, help=summary, description=summary), kind)


def _configure_kind(parser: argparse.ArgumentParser, kind: str) -> None:
    add_connection(parser)
    add_targets(parser)
    parser.add_argument("--name", metavar="TEXT", default="", help="a name for lists")
    if kind in (bodies.RUN, bodies.RELEASE):
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument("--noop", action="store_true", help="make no changes, report pending ones (no-op)")
        mode.add_argument("--enforce", action="store_true", help="make changes where policies allow it (default)")
        parser.add_argument("--tags", metavar="TAG", action="append", default=[], help="apply only these resources")
    if kind == bodies.PLAN:
        add_plan(parser)
    if kind == bodies.TASK:
        parser.add_argument("--task", metavar="MODULE::TASK", required=True, help="the task of a module")
        _add_parameters(parser, "the value of NAME for the task")
    if kind == bodies.COMMAND:
        parser.usage = "precast action create command [OPTIONS] TARGET … -- COMMAND [ARGUMENT …]"
        collect_rest(parser, "words")
        _add_parameters(parser, "the value of {NAME} in the arguments")
        parser.add_argument(
            "--output", metavar="BYTES", type=int, default=65_536, help="store so much output of a node"
        )
    add_times(parser)
    if kind == bodies.PLAN:
        add_plan_spread(parser)
    else:
        add_spread(parser, "60s" if kind == bodies.COMMAND else "1h", of_task=kind == bodies.TASK)
    waiting = parser.add_mutually_exclusive_group()
    waiting.add_argument("--wait", metavar="TIME", help="watch for at most this long; the action goes on")
    waiting.add_argument("--detach", action="store_true", help="print the action's id and exit without watching it")
    parser.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log and for the nodes")
    declare_exits(parser, EXITS)
    parser.set_defaults(run=_create, kind=kind)


def _add_parameters(parser: argparse.ArgumentParser, what: str) -> None:
    help_ = f"{what}; TYPE is string, integer, boolean, or choices such as a|b"
    parser.add_argument("--param", metavar="NAME[:TYPE]=VALUE", action="append", default=[], help=help_)


def _create(args: argparse.Namespace) -> int:
    times = times_of(args)
    is_repeated = times.cron is not None or times.on is not None
    resolve: Literal["now", "start"] = args.resolve or ("start" if is_repeated else "now")
    new = NewAction(
        _work_of(args), targets_of(args), times, limits_of(args), resolve, args.override_window, args.name, args.why
    )
    # A plan is prepared before its action is created.
    client = connect(args, START_S) if args.kind in bodies.PLAN_KINDS else connect(args)
    is_of_commands = args.kind in (bodies.COMMAND, bodies.TASK) or (args.kind == bodies.PLAN and args.commands)
    base = COMMAND_BASE if is_of_commands else BASE
    action = client.ask("POST", base, ActionView, new)
    is_due_now = times.at is None and not is_repeated and action.state == "active"
    if args.detach or (not is_due_now and args.wait is None):
        if args.json:
            print_json(msgspec.to_builtins(action))
        else:
            print_action(action)
        return 0
    if not args.json:
        print(f"action {action.id}: {describe_work(action)}", flush=True)
    wait_s = None if args.wait is None else duration_s(args.wait)
    return follow(client, base, action, is_json=args.json, wait_s=wait_s)


def _work_of(args: argparse.Namespace) -> ActionWork:
    if args.kind == bodies.PLAN:
        return ActionWork(args.kind, "noop" if args.noop else "enforce", plan=plan_of(args))
    if args.kind == bodies.TASK:
        return ActionWork(args.kind, task=args.task, parameters=dict(map(_parameter, args.param)))
    if args.kind == bodies.COMMAND:
        if not args.words:
            usage = "put it behind `--`: precast action create command web1 -- uptime"
            raise issues.USAGE.error(problem="no command", usage=usage)
        parameters = dict(map(_parameter, args.param))
        return ActionWork("command", argv=args.words, parameters=parameters, output_bytes=args.output)
    if args.kind in (bodies.RUN, bodies.RELEASE):
        tags = [tag for argument in args.tags for tag in argument.split(",") if tag]
        return ActionWork(args.kind, "noop" if args.noop else "enforce", tags)
    return ActionWork(args.kind)


def _parameter(text: str) -> tuple[str, Parameter]:
    """Raises InputError CLI-001."""
    matched = _PARAMETER.fullmatch(text)
    if matched is None:
        usage = "write --param NAME=VALUE, NAME:integer=5, NAME:boolean=true or NAME:a|b=a"
        raise issues.USAGE.error(problem=f"--param {text[:80]!r} is invalid", usage=usage)
    name, type_, value = matched[1], matched[2] or "string", matched[3]
    for known in _TYPES:
        if type_ == known:
            return name, Parameter(value, known)
    choices = type_.split("|")
    if len(choices) < 2 or not all(choices):
        usage = "the types are string, integer, boolean, and choices such as a|b"
        raise issues.USAGE.error(problem=f"there is no type {type_[:80]!r} of parameters", usage=usage)
    return name, Parameter(value, "choice", choices)
