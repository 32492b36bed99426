"""`precast node`: the nodes that a server knows, listed, shown, classified, deactivated, forgotten."""

import argparse
from collections.abc import Callable

import msgspec

from precast.base.errors import PrecastError
from precast.cli import issues
from precast.cli.client import Client, add_connection, connect, segment
from precast.cli.output import moment, print_json, print_table
from precast.cli.targets import HELP, add_targets, targets_of, tell_claims
from precast.services import issues as service_issues
from precast.wire.nodes import (
    Classification,
    NodeRow,
    NodesClassification,
    NodesDeed,
    NodesDone,
    NodesPurge,
    NodeView,
    TargetsAnswer,
    TargetsBody,
)

Command = Callable[[argparse.Namespace], int]


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.set_defaults(run=command)
        return added

    listing = add("list", _list, "show nodes with their states")
    add_targets(listing, may_be_all=True)
    listing.add_argument("--deactivated", action="store_true", help="also those that are no targets any more")
    show = add("show", _show, "show what is known of a node")
    show.add_argument("node", metavar="NODE")
    _add_set(add("set", _set, "say a node's environment or role"))
    for name, command, summary in (
        ("deactivate", _deactivate, "take nodes out of service: no targets, no connection; facts stay"),
        ("reactivate", _reactivate, "take nodes back into service"),
        ("purge", _purge, "forget nodes and everything about them but the audit log"),
    ):
        added = add(name, command, summary)
        add_targets(added)
        added.add_argument("--why", metavar="TEXT", default="", help="for the audit log")
        if command is _purge:
            added.add_argument("--force", action="store_true", help="also nodes that are active")


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help=HELP)
    parser.add_argument("name", metavar="environment|role", choices=["environment", "role"])
    parser.add_argument("value", metavar="VALUE", nargs="?")
    parser.add_argument("--clear", action="store_true", help="take the value away, instead of VALUE")


def resolve(client: Client, body: TargetsBody) -> tuple[list[NodeRow], bool]:
    """The nodes that are meant, all pages of them, and whether facts decided."""
    rows: list[NodeRow] = []
    query: dict[str, str] = {}
    while True:
        page = client.ask("POST", "/v1/targets", TargetsAnswer, body, query)
        rows += page.nodes
        if page.after is None:
            return rows, page.rests_on_claims
        query = {"after": page.after}


def _list(args: argparse.Namespace) -> int:
    try:
        nodes, is_claim = resolve(connect(args), targets_of(args))
    except PrecastError as error:
        # Whoever names nodes and means none has made a mistake; whoever looks at a new site has not.
        if args.targets or not service_issues.NOBODY.matches(error):
            raise
        nodes, is_claim = [], False
    tell_claims(is_claim)
    if args.json:
        print_json(msgspec.to_builtins(nodes))
        return 0
    rows = [
        (one.name, one.state, one.environment, one.role, moment(one.seen_at), moment(one.facts_at)) for one in nodes
    ]
    print_table(["NODE", "STATE", "ENVIRONMENT", "ROLE", "LAST SEEN", "LAST FACTS"], rows)
    return 0


def _show(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}", NodeView)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    node, session = view.node, view.session
    marks = " ".join(f"{name}={value}" for name, value in sorted(view.trusted["extensions"].items()))
    print_table(
        ["NODE", node.name],
        [
            ("state", node.state + (f" since {moment(node.deactivated_at)}" if node.deactivated_at else "")),
            ("environment", node.environment),
            ("role", node.role),
            ("extensions", marks or None),
            ("enrolled", moment(node.created_at)),
            ("certified until", moment(node.certified_until)),
            ("last seen", moment(node.seen_at)),
            ("connected to", session.server if session else None),
            ("address", session.address if session else None),
            ("agent", session.agent if session else None),
            ("last facts", moment(node.facts_at)),
            ("what came of them", view.decision),
        ],
    )
    if session is not None and session.clone_at is not None:
        print(f"\nanother machine came with this identity at {moment(session.clone_at)}, from {session.clone_address}")
    print()
    certificates = [
        (one.serial[:16], moment(one.issued_at), moment(one.not_after), one.revoked_why) for one in view.certificates
    ]
    print_table(["CERTIFICATE", "ISSUED", "UNTIL", "TAKEN BACK"], certificates)
    return 0


def _set(args: argparse.Namespace) -> int:
    if (args.value is None) is not args.clear:
        raise issues.USAGE.error(problem="give VALUE, or --clear", usage="see `precast node set --help`")
    args.targets = [args.target]
    values = Classification(**{args.name: args.value})
    done = connect(args).ask("POST", "/v1/classifications", NodesDone, NodesClassification(targets_of(args), values))
    return _tell(args, done, f"{args.name} is {args.value}" if args.value else f"{args.name} is taken away")


def _deactivate(args: argparse.Namespace) -> int:
    done = connect(args).ask("POST", "/v1/deactivations", NodesDone, NodesDeed(targets_of(args), args.why))
    return _tell(args, done, "deactivated")


def _reactivate(args: argparse.Namespace) -> int:
    done = connect(args).ask("POST", "/v1/reactivations", NodesDone, NodesDeed(targets_of(args), args.why))
    return _tell(args, done, "reactivated")


def _purge(args: argparse.Namespace) -> int:
    body = NodesPurge(targets_of(args), args.why, args.force)
    return _tell(args, connect(args).ask("POST", "/v1/purges", NodesDone, body), "purged")


def _tell(args: argparse.Namespace, done: NodesDone, what: str) -> int:
    tell_claims(done.rests_on_claims)
    if args.json:
        print_json(msgspec.to_builtins(done))
        return 0
    for name in done.touched:
        print(f"{name}: {what}")
    if not done.touched:
        print("nothing to do: it is so already")
    return 0
