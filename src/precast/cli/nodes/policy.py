"""`precast node policy`: sets and shows when the runs of agents may make changes."""

import argparse

import msgspec

from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.query.targets import add_targets, note_claims, targets_of
from precast.wire.nodes.bodies import NodesActionResult
from precast.wire.nodes.policy import LEVELS, NodesPolicy, PolicyView

_WORDS = {
    "never": "all runs are no-op",
    "triggered": "ordered runs make changes",
    "window": "runs make changes in its windows",
    "always": "runs make changes",
}


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    summary = "set when the runs of agents may make changes"
    set_parser = commands.add_parser(
        "set", help=summary, description=f"{summary}; without a policy all runs are no-op."
    )
    add_connection(set_parser)
    add_targets(set_parser)
    set_parser.add_argument(
        "--enforce", choices=LEVELS, required=True, help="; ".join(f"{name}: {_WORDS[name]}" for name in LEVELS)
    )
    set_parser.add_argument(
        "--window",
        metavar="WHEN",
        action="append",
        default=[],
        help="day, start, length and zone: 'Sun 02:00 4h', 'daily 22:30 90m Europe/Berlin' (may be repeated; UTC)",
    )
    set_parser.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log")
    set_parser.set_defaults(run=_set)
    summary = "show the policy of a node"
    show = commands.add_parser("show", help=summary, description=summary)
    add_connection(show)
    show.add_argument("node", metavar="NODE")
    show.set_defaults(run=_show)


def _set(args: argparse.Namespace) -> int:
    body = NodesPolicy(targets_of(args), args.enforce, args.window, args.why)
    result = connect(args).ask("POST", "/v1/policies", NodesActionResult, body)
    note_claims(result.rests_on_claims)
    if args.json:
        print_json(msgspec.to_builtins(result))
        return 0
    for name in result.touched:
        print(f"{name}: {_WORDS[args.enforce]}")
    if not result.touched:
        print("nothing to do: nothing changes")
    return 0


def _show(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/policy", PolicyView)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    words = _WORDS[view.enforce] if view.serial else "no policy is set: all runs are no-op"
    print_table(
        ["NODE", view.node],
        [
            ("enforce", f"{view.enforce}: {words}" if view.serial else words),
            ("windows", ", ".join(view.windows) or None),
            ("set by", view.set_by),
            ("set at", format_time(view.set_at)),
            ("serial", str(view.serial) if view.serial else None),
        ],
    )
    return 0
