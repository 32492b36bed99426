"""`precast node`: lists, shows, classifies, deactivates and purges the nodes of a server, and chooses among their machines."""

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
    format_classes,
    format_parameters,
    read_classes,
    read_parameters,
)
from precast.cli.query.targets import HELP, add_targets, note_claims, targets_of
from precast.services.query import issues as query_issues
from precast.wire.nodes.bodies import (
    Classification,
    NodeRow,
    NodesAction,
    NodesActionResult,
    NodesClassification,
    NodesPurge,
    NodeView,
    TargetsAnswer,
    TargetsBody,
)
from precast.wire.nodes.presence import MachineChoice, MachineView, NodeMachines, SessionView

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
    listing.add_argument("--deactivated", action="store_true", help="also list deactivated nodes")
    show = add("show", _show, "show a node in detail")
    show.add_argument("node", metavar="NODE")
    _add_set(add("set", _set, "set the environment, role, classes or parameters of nodes"))
    summary = "rules that classify nodes by their certificates: list, set, remove"
    configure_rules(commands.add_parser("rules", help=summary, description=summary))
    summary = "when runs may make changes: set, show"
    node_policy.configure(commands.add_parser("policy", help=summary, description=summary))
    choose = add("choose-machine", _choose_machine, "choose the machine that is a node, if several use its certificate")
    choose.add_argument("node", metavar="NODE")
    choose.add_argument("machine", metavar="MACHINE", help="its name in `precast node show NODE`")
    choose.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log")
    for name, command, summary in (
        (
            "deactivate",
            _deactivate,
            "take nodes out of service: they are no targets and cannot connect; their facts are kept",
        ),
        ("reactivate", _reactivate, "take nodes back into service"),
        ("refresh", _refresh, "classify nodes again by the rules and the external classifier"),
        ("purge", _purge, "delete nodes and all their data except the audit log"),
    ):
        added = add(name, command, summary)
        add_targets(added)
        added.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log")
        if command is _purge:
            added.add_argument("--force", action="store_true", help="also purge active nodes")


def _add_set(parser: argparse.ArgumentParser) -> None:
    names = ["environment", "role", "classes", "parameters"]
    parser.add_argument("target", metavar="TARGET", help=HELP)
    parser.add_argument("name", metavar="|".join(names), choices=names)
    parser.add_argument(
        "value", metavar="VALUE", nargs="*", help="a name; names of classes; KEY=VALUE; or one JSON object"
    )
    parser.add_argument("--clear", action="store_true", help="remove the value instead of setting it")


def resolve(client: Client, body: TargetsBody) -> tuple[list[NodeRow], bool]:
    """The nodes that targets select, from all pages, and whether facts decided the result."""
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
        # Targets that select no node are a mistake; a new site without nodes is not.
        if args.targets or not query_issues.NO_MATCHING_NODES.matches(error):
            raise
        nodes, is_claim = [], False
    note_claims(is_claim)
    if args.json:
        print_json(msgspec.to_builtins(nodes))
        return 0
    rows = [
        (node.name, node.state, node.environment, node.role, format_time(node.seen_at), format_time(node.facts_at))
        for node in nodes
    ]
    print_table(["NODE", "STATE", "ENVIRONMENT", "ROLE", "LAST SEEN", "LAST FACTS"], rows)
    return 0


def _show(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}", NodeView)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    node, session = view.node, view.session
    extensions = " ".join(f"{name}={value}" for name, value in sorted(view.trusted["extensions"].items()))
    print_table(
        ["NODE", node.name],
        [
            ("state", node.state + (f" since {format_time(node.deactivated_at)}" if node.deactivated_at else "")),
            ("environment", node.environment),
            ("role", node.role),
            ("classes", format_classes(view.classes)),
            ("parameters", format_parameters(view.parameters)),
            ("extensions", extensions or None),
            ("enrolled", format_time(node.created_at)),
            ("certified until", format_time(node.certified_until)),
            ("last seen", format_time(node.seen_at)),
            ("connected to", session.server if session else None),
            ("address", session.address if session else None),
            ("machine id", session.machine_id or None if session else None),
            ("boot id", session.boot_id if session else None),
            ("agent", session.agent if session else None),
            ("last facts", format_time(node.facts_at)),
            ("decision on facts", view.decision),
        ],
    )
    print()
    _print_machines(node.name, session, view.machines)
    _print_sources(view)
    certificates = [
        (row.serial[:16], format_time(row.issued_at), format_time(row.not_after), row.revoked_why)
        for row in view.certificates
    ]
    print_table(["CERTIFICATE", "ISSUED", "UNTIL", "REVOKED"], certificates)
    return 0


def _print_machines(node: str, session: SessionView | None, machines: list[MachineView]) -> None:
    """Print the machines that use the node's certificate and are not the node."""
    if not machines:
        return
    if session is not None and session.held_at is not None:
        print(
            f"on hold since {format_time(session.held_at)}: two machines use the certificate, or one was set back to an earlier"
        )
        print(
            f"state. Choose the right one with `precast node choose-machine {node} MACHINE`; the others are refused.\n"
        )
    rows = [
        (
            machine.machine,
            machine.state,
            machine.address,
            machine.machine_id or None,
            machine.boot_id,
            format_time(machine.first_at),
            format_time(machine.last_at),
        )
        for machine in machines
    ]
    print_table(["MACHINE", "STATE", "ADDRESS", "MACHINE ID", "BOOT ID", "FIRST SEEN", "LAST SEEN"], rows)
    print()


def _choose_machine(args: argparse.Namespace) -> int:
    choice = MachineChoice(args.machine, args.why)
    result = connect(args).ask("POST", f"/v1/nodes/{segment(args.node)}/machine", NodeMachines, choice)
    if args.json:
        print_json(msgspec.to_builtins(result))
        return 0
    refused = ", ".join(machine.machine for machine in result.machines)
    print(f"{args.node}: machine {args.machine} is the node from now on" + (f"; refused: {refused}" if refused else ""))
    return 0


def _print_sources(view: NodeView) -> None:
    """Print what each source of the classification says, by precedence, and which sources could not be asked."""
    if not view.sources:
        return
    rows = [
        (
            f"{source.source} ({source.detail})" if source.detail else source.source,
            source.environment,
            source.role,
            format_classes(source.classes),
            format_parameters(source.parameters),
            format_time(source.said_at),
        )
        for source in view.sources
    ]
    print_table(["SOURCE", "ENVIRONMENT", "ROLE", "CLASSES", "PARAMETERS", "SINCE"], rows)
    for source in view.sources:
        if source.problem is not None:
            print(
                f"{source.detail or source.source} could not be asked at {format_time(source.problem_at)}: {visible(source.problem)}"
            )
    print()


def _set(args: argparse.Namespace) -> int:
    if bool(args.value) is args.clear:
        raise issues.USAGE.error(problem="give VALUE, or --clear", usage="see `precast node set --help`")
    args.targets = [args.target]
    values = Classification(**{args.name: _value(args.name, args.value) if args.value else None})
    result = connect(args).ask(
        "POST", "/v1/classifications", NodesActionResult, NodesClassification(targets_of(args), values)
    )
    verb = "is" if args.name in ("environment", "role") else "are"
    return _print_result(args, result, f"{args.name} {verb} {' '.join(args.value) or 'removed'}")


def _value(name: str, words: list[str]) -> Any:
    if name == "classes":
        return read_classes(words)
    if name == "parameters":
        return read_parameters(words)
    if len(words) > 1:
        raise issues.USAGE.error(problem=f"{name} takes a single value", usage="see `precast node set --help`")
    return words[0]


def _refresh(args: argparse.Namespace) -> int:
    result = connect(args).ask("POST", "/v1/refreshes", NodesActionResult, NodesAction(targets_of(args), args.why))
    return _print_result(args, result, "is classified again")


def _deactivate(args: argparse.Namespace) -> int:
    result = connect(args).ask("POST", "/v1/deactivations", NodesActionResult, NodesAction(targets_of(args), args.why))
    return _print_result(args, result, "deactivated")


def _reactivate(args: argparse.Namespace) -> int:
    result = connect(args).ask("POST", "/v1/reactivations", NodesActionResult, NodesAction(targets_of(args), args.why))
    return _print_result(args, result, "reactivated")


def _purge(args: argparse.Namespace) -> int:
    body = NodesPurge(targets_of(args), args.why, args.force)
    return _print_result(args, connect(args).ask("POST", "/v1/purges", NodesActionResult, body), "purged")


def _print_result(args: argparse.Namespace, result: NodesActionResult, text: str) -> int:
    note_claims(result.rests_on_claims)
    if args.json:
        print_json(msgspec.to_builtins(result))
        return 0
    for name in result.touched:
        print(f"{name}: {text}")
    if not result.touched:
        print("nothing to do: nothing changes")
    return 0
