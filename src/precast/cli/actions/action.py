"""`precast action create|list|show|watch|cancel|abort|retry|pause|resume|run-now`: actions by a schedule on the server."""

import argparse
from collections.abc import Callable

import msgspec

from precast.cli.actions import create
from precast.cli.actions.following import BASE, COMMAND_BASE, EXITS, describe_times, describe_work, follow, print_action
from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.cli.jobs.options import duration_s
from precast.wire.actions.bodies import ActionView

Command = Callable[[argparse.Namespace], int]
_CHANGES = {
    "cancel": "unschedule an action, and cancel what its job has QUEUED; what runs goes on",
    "abort": "end the job of an action: also what runs on nodes is told to end; the schedule stays",
    "retry": "repeat the last job of an action on the nodes that failed",
    "pause": "let an action not be due until it is resumed",
    "resume": "go on with the schedule of a paused action",
    "run-now": "start an action now, besides its schedule",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "With a token of the role commands, add --commands to see and change actions that run commands."
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    summary = "let nodes do something now, at a time, by a schedule, or when they connect"
    create.configure(commands.add_parser("create", help=summary, description=summary))

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.add_argument("--commands", action="store_true", help="use the routes for the role commands")
        added.set_defaults(run=command, change=name)
        return added

    listing = add("list", _list, "show the newest actions")
    listing.add_argument("--limit", metavar="N", type=int, default=50, help="at most N rows (default: 50)")
    add("show", _show, "show an action and what became of its due times").add_argument("id", metavar="ACTION")
    watch = add("watch", _watch, "follow the job of an action, or its next one")
    watch.add_argument("id", metavar="ACTION")
    watch.add_argument("--wait", metavar="TIME", help="watch for at most this long; the action goes on")
    declare_exits(watch, EXITS)
    for name, summary in _CHANGES.items():
        add(name, _change, summary).add_argument("id", metavar="ACTION")


def _base(args: argparse.Namespace) -> str:
    return COMMAND_BASE if args.commands else BASE


def _get(client: Client, args: argparse.Namespace) -> ActionView:
    return client.ask("GET", f"{_base(args)}/{segment(args.id)}", ActionView)


def _list(args: argparse.Namespace) -> int:
    actions = connect(args).list_pages(_base(args), ActionView, "id", "before", most=args.limit)
    if args.json:
        print_json(msgspec.to_builtins(actions))
        return 0
    print_table(
        ["ACTION", "NAME", "WHAT", "WHEN", "STATE", "NEXT", "LAST", "BY"],
        [
            (
                *(action.id, action.name, describe_work(action), describe_times(action), action.state),
                format_time(action.next_at),
                action.due[0].state if action.due else "",
                action.made_by,
            )
            for action in actions
        ],
    )
    return 0


def _show(args: argparse.Namespace) -> int:
    return _print(_get(connect(args), args), args)


def _watch(args: argparse.Namespace) -> int:
    client = connect(args)
    wait_s = None if args.wait is None else duration_s(args.wait)
    return follow(client, _base(args), _get(client, args), is_json=args.json, wait_s=wait_s)


def _change(args: argparse.Namespace) -> int:
    action = connect(args).ask("POST", f"{_base(args)}/{segment(args.id)}/{args.change}", ActionView)
    return _print(action, args)


def _print(action: ActionView, args: argparse.Namespace) -> int:
    if args.json:
        print_json(msgspec.to_builtins(action))
    else:
        print_action(action)
    return 0
