"""`precast node policy`: what the agents of nodes may do by themselves, set and shown."""

import argparse

import msgspec

from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.query.targets import add_targets, targets_of, tell_claims
from precast.wire.nodes.bodies import NodesActionResult
from precast.wire.nodes.policy import LEVELS, NodesPolicy, PolicyView

_WORDS = {
    "never": "runs only look",
    "triggered": "runs that somebody orders change things",
    "window": "runs change things in its windows",
    "always": "runs change things",
}


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    summary = "say when the runs that agents start may change things"
    setting = commands.add_parser("set", help=summary, description=f"{summary}; without a policy they only look.")
    add_connection(setting)
    add_targets(setting)
    setting.add_argument(
        "--enforce", choices=LEVELS, required=True, help="; ".join(f"{name}: {_WORDS[name]}" for name in LEVELS)
    )
    setting.add_argument(
        "--window",
        metavar="WHEN",
        action="append",
        default=[],
        help="day, start, length and zone: 'Sun 02:00 4h', 'daily 22:30 90m Europe/Berlin' (may be repeated; UTC)",
    )
    setting.add_argument("--why", metavar="TEXT", default="", help="for the audit log")
    setting.set_defaults(run=_set)
    summary = "show what a node's agent may do by itself"
    show = commands.add_parser("show", help=summary, description=summary)
    add_connection(show)
    show.add_argument("node", metavar="NODE")
    show.set_defaults(run=_show)


def _set(args: argparse.Namespace) -> int:
    body = NodesPolicy(targets_of(args), args.enforce, args.window, args.why)
    done = connect(args).ask("POST", "/v1/policies", NodesActionResult, body)
    tell_claims(done.rests_on_claims)
    if args.json:
        print_json(msgspec.to_builtins(done))
        return 0
    for name in done.touched:
        print(f"{name}: {_WORDS[args.enforce]}")
    if not done.touched:
        print("nothing to do: it is so already")
    return 0


def _show(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/policy", PolicyView)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    words = _WORDS[view.enforce] if view.serial else "nobody has set a policy: runs only look"
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
