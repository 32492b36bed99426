"""`precast approval`: requests that other people must approve before they are carried out."""

import argparse
from collections.abc import Callable

import msgspec

from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.wire.approvals.bodies import ApprovalView, DecisionBody

Command = Callable[[argparse.Namespace], int]
VOID = 1
_LISTED = 200


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.set_defaults(run=command)
        return added

    listed = add("list", _list, "show the open requests")
    listed.add_argument("--all", action="store_true", help="also show the requests that have ended")
    add("show", _show, "show a request and what people decided").add_argument("request", metavar="ID")
    for name, path, summary in (
        ("approve", "approval", "approve a request of another person; the last approval carries it out"),
        ("reject", "rejection", "reject a request of another person, which ends it"),
        ("withdraw", "withdrawal", "withdraw your own request"),
    ):
        decide = add(name, _decide, summary)
        decide.set_defaults(decision=path)
        decide.add_argument("request", metavar="ID")
        decide.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log")
        if name == "approve":
            decide.add_argument("--digest", default="", help="approve only exactly this, as `show` prints it")
            declare_exits(decide, {VOID: "the request is void: what would be done has changed since it was made"})


def _list(args: argparse.Namespace) -> int:
    views = connect(args).list_pages("/v1/approvals", ApprovalView, "id", "before", _LISTED)
    views = [view for view in views if args.all or view.state == "open"]
    if args.json:
        print_json(msgspec.to_builtins(views))
        return 0
    print_table(
        ["REQUEST", "STATE", "ENVIRONMENT", "SUBJECT", "BY", "APPROVALS", "EXPIRES"],
        [
            (
                *(view.id, view.state, view.environment, view.subject, view.requested_by),
                f"{view.approvals} of {view.needed}",
                format_time(view.expires_at),
            )
            for view in views
        ],
    )
    return 0


def _show(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", f"/v1/approvals/{segment(args.request)}", ApprovalView)
    if args.json:
        print_json(msgspec.to_builtins(view))
    else:
        _print(view)
    return 0


def _decide(args: argparse.Namespace) -> int:
    body = DecisionBody(args.why, getattr(args, "digest", ""))
    view = connect(args).ask("POST", f"/v1/approvals/{segment(args.request)}/{args.decision}", ApprovalView, body)
    if args.json:
        print_json(msgspec.to_builtins(view))
    else:
        left = view.needed - view.approvals
        waits = f": {left} more approval{'' if left == 1 else 's'} needed" if view.state == "open" else ""
        print(f"{view.id} is {view.state}{waits}{f': {view.outcome}' if view.outcome else ''}")
    return VOID if view.state == "void" else 0


def _print(view: ApprovalView) -> None:
    names = ", ".join(view.nodes) + (f" and {view.node_count - len(view.nodes)} more" if view.nodes else "")
    names = names.removesuffix(" and 0 more")
    print_table(
        ["REQUEST", view.id],
        [
            ("state", f"{view.state}{f', {view.outcome}' if view.outcome else ''}"),
            ("environment", view.environment),
            ("subject", view.subject),
            ("digest", view.digest),
            ("requested by", f"{view.requested_by} at {format_time(view.requested_at)}"),
            ("why", view.why),
            ("approvals", f"{view.approvals} of {view.needed}"),
            ("expires", format_time(view.expires_at)),
            ("ended", format_time(view.ended_at)),
            ("nodes", names),
        ],
    )
    for decision in view.decisions:
        verb = "approved" if decision.is_approval else "rejected"
        print(f"{decision.person} {verb} it at {format_time(decision.at)}{f': {decision.why}' if decision.why else ''}")
    if view.state == "open" and view.nodes:
        print(f"see the changes: `precast release --preview {view.nodes[0]}{' …' if view.node_count > 1 else ''}`")
