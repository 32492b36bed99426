"""`precast node`: the nodes that a server knows, listed, shown, classified, deactivated, forgotten."""

import argparse
from collections.abc import Callable
from typing import Any

import msgspec

from precast.base.errors import PrecastError
from precast.base.spans import visible
from precast.cli import issues
from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.nodes import policy as node_policy
from precast.cli.nodes.classification import (
    configure_rules,
    read_classes,
    read_parameters,
    shown_classes,
    shown_parameters,
)
from precast.cli.query.targets import HELP, add_targets, targets_of, tell_claims
from precast.services.query import issues as query_issues
from precast.wire.nodes.bodies import (
    Classification,
    NodeRow,
    NodesClassification,
    NodesAction,
    NodesActionResult,
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
    _add_set(add("set", _set, "say a node's environment, role, classes or parameters"))
    summary = "rules that say what nodes are by their certificates: list, set, remove"
    configure_rules(commands.add_parser("rules", help=summary, description=summary))
    summary = "what agents may do by themselves: set, show"
    node_policy.configure(commands.add_parser("policy", help=summary, description=summary))
    for name, command, summary in (
        ("deactivate", _deactivate, "take nodes out of service: no targets, no connection; facts stay"),
        ("reactivate", _reactivate, "take nodes back into service"),
        ("refresh", _refresh, "find out anew what nodes are, by the rules and the external classifier"),
        ("purge", _purge, "forget nodes and everything about them but the audit log"),
    ):
        added = add(name, command, summary)
        add_targets(added)
        added.add_argument("--why", metavar="TEXT", default="", help="for the audit log")
        if command is _purge:
            added.add_argument("--force", action="store_true", help="also nodes that are active")


def _add_set(parser: argparse.ArgumentParser) -> None:
    names = ["environment", "role", "classes", "parameters"]
    parser.add_argument("target", metavar="TARGET", help=HELP)
    parser.add_argument("name", metavar="|".join(names), choices=names)
    parser.add_argument(
        "value", metavar="VALUE", nargs="*", help="a name; names of classes; KEY=VALUE; or one JSON object"
    )
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
        if args.targets or not query_issues.NO_MATCHING_NODES.matches(error):
            raise
        nodes, is_claim = [], False
    tell_claims(is_claim)
    if args.json:
        print_json(msgspec.to_builtins(nodes))
        return 0
    rows = [
        (one.name, one.state, one.environment, one.role, format_time(one.seen_at), format_time(one.facts_at)) for one in nodes
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
            ("state", node.state + (f" since {format_time(node.deactivated_at)}" if node.deactivated_at else "")),
            ("environment", node.environment),
            ("role", node.role),
            ("classes", shown_classes(view.classes)),
            ("parameters", shown_parameters(view.parameters)),
            ("extensions", marks or None),
            ("enrolled", format_time(node.created_at)),
            ("certified until", format_time(node.certified_until)),
            ("last seen", format_time(node.seen_at)),
            ("connected to", session.server if session else None),
            ("address", session.address if session else None),
            ("agent", session.agent if session else None),
            ("last facts", format_time(node.facts_at)),
            ("what came of them", view.decision),
        ],
    )
    if session is not None and session.clone_at is not None:
        print(f"\nanother machine came with this identity at {format_time(session.clone_at)}, from {session.clone_address}")
    print()
    _print_sources(view)
    certificates = [
        (one.serial[:16], format_time(one.issued_at), format_time(one.not_after), one.revoked_why) for one in view.certificates
    ]
    print_table(["CERTIFICATE", "ISSUED", "UNTIL", "TAKEN BACK"], certificates)
    return 0


def _print_sources(view: NodeView) -> None:
    """Who says what, the first that counts first; and whom it was in vain to ask."""
    if not view.sources:
        return
    rows = [
        (
            f"{one.source} ({one.detail})" if one.detail else one.source,
            one.environment,
            one.role,
            shown_classes(one.classes),
            shown_parameters(one.parameters),
            format_time(one.said_at),
        )
        for one in view.sources
    ]
    print_table(["SAID BY", "ENVIRONMENT", "ROLE", "CLASSES", "PARAMETERS", "SINCE"], rows)
    for one in view.sources:
        if one.problem is not None:
            print(f"{one.detail or one.source} could not be asked at {format_time(one.problem_at)}: {visible(one.problem)}")
    print()


def _set(args: argparse.Namespace) -> int:
    if bool(args.value) is args.clear:
        raise issues.USAGE.error(problem="give VALUE, or --clear", usage="see `precast node set --help`")
    args.targets = [args.target]
    values = Classification(**{args.name: _value(args.name, args.value) if args.value else None})
    done = connect(args).ask("POST", "/v1/classifications", NodesActionResult, NodesClassification(targets_of(args), values))
    verb = "is" if args.name in ("environment", "role") else "are"
    return _tell(args, done, f"{args.name} {verb} {' '.join(args.value) or 'taken away'}")


def _value(name: str, words: list[str]) -> Any:
    if name == "classes":
        return read_classes(words)
    if name == "parameters":
        return read_parameters(words)
    if len(words) > 1:
        raise issues.USAGE.error(problem=f"{name} is one word", usage="see `precast node set --help`")
    return words[0]


def _refresh(args: argparse.Namespace) -> int:
    done = connect(args).ask("POST", "/v1/refreshes", NodesActionResult, NodesAction(targets_of(args), args.why))
    return _tell(args, done, "is found out anew")


def _deactivate(args: argparse.Namespace) -> int:
    done = connect(args).ask("POST", "/v1/deactivations", NodesActionResult, NodesAction(targets_of(args), args.why))
    return _tell(args, done, "deactivated")


def _reactivate(args: argparse.Namespace) -> int:
    done = connect(args).ask("POST", "/v1/reactivations", NodesActionResult, NodesAction(targets_of(args), args.why))
    return _tell(args, done, "reactivated")


def _purge(args: argparse.Namespace) -> int:
    body = NodesPurge(targets_of(args), args.why, args.force)
    return _tell(args, connect(args).ask("POST", "/v1/purges", NodesActionResult, body), "purged")


def _tell(args: argparse.Namespace, done: NodesActionResult, what: str) -> int:
    tell_claims(done.rests_on_claims)
    if args.json:
        print_json(msgspec.to_builtins(done))
        return 0
    for name in done.touched:
        print(f"{name}: {what}")
    if not done.touched:
        print("nothing to do: it is so already")
    return 0
