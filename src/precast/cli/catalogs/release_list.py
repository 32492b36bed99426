"""`precast release list`: the releases and rollbacks over the fleet, or the history of chosen nodes with the served release marked."""

import argparse

import msgspec

from precast.cli import issues
from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.query.targets import HELP, targets_of
from precast.wire.catalogs.bodies import CodeView, NodeReleaseView, ReleaseView
from precast.wire.nodes.bodies import TargetsAnswer, TargetsBody

LIST = "show the releases and rollbacks, or those of some nodes"
LIMIT = 20
# Nodes whose history one command shows.
MAX_NODES = 100
SERVED = "served"
ROLLBACK = "rollback"


def configure_release_list(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the group."""
    listing = commands.add_parser("list", help=LIST, description=LIST)
    add_connection(listing)
    listing.add_argument("targets", metavar="TARGET", nargs="*", help=f"show the history of these nodes: {HELP}")
    listing.add_argument("--node", metavar="NODE", action="append", default=[], help="show the history of this node")
    listing.add_argument("--limit", metavar="N", type=int, default=LIMIT, help=f"at most N rows (default: {LIMIT})")
    listing.set_defaults(run=_list)


def _list(args: argparse.Namespace) -> int:
    args.targets += args.node
    return _list_of_nodes(args) if args.targets else _list_all(args)


def _list_all(args: argparse.Namespace) -> int:
    releases = connect(args).list_pages("/v1/releases", ReleaseView, "release", "before", most=args.limit)
    if args.json:
        print_json(msgspec.to_builtins(releases))
        return 0
    heads = ["RELEASE", "WHAT", "AT", "BY", "NODES", "TARGETS", "CODE", "WHY"]
    print_table(heads, [_row(release) for release in releases])
    return 0


def _row(release: ReleaseView) -> tuple[object, ...]:
    what = f"{release.kind} {'to' if release.kind == ROLLBACK else 'of'} {release.to}" if release.to else release.kind
    if release.finished_at is None:
        what += ", unfinished"
    code = ", ".join(_code(code) for code in release.code[:2]) + (", …" if len(release.code) > 2 else "")
    at = format_time(release.began_at)
    return (
        release.release,
        what,
        at,
        release.by,
        release.nodes,
        _targets(release.targets),
        code or None,
        release.why or None,
    )


def _targets(targets: TargetsBody) -> str | None:
    return "--all" if targets.all else " ".join(targets.targets)[:60] or None


def _code(code: CodeView | NodeReleaseView) -> str:
    """The environment with the commit or version of its code."""
    return f"{code.environment} {(code.commit or code.version)[:12]}"


def _list_of_nodes(args: argparse.Namespace) -> int:
    client = connect(args)
    nodes = _find_nodes(client, targets_of(args))
    histories = {
        node: client.ask("GET", f"/v1/nodes/{segment(node)}/releases", list[NodeReleaseView])[: args.limit]
        for node in nodes
    }
    if args.json:
        print_json(msgspec.to_builtins(histories))
        return 0
    for at, (node, history) in enumerate(histories.items()):
        if len(histories) > 1:
            print(f"{chr(10) if at else ''}{node}")
        heads = ["", "RELEASE", "WHAT", "STATE", "AT", "BY", "CODE", "CATALOG"]
        print_table(heads, [_history_row(release) for release in history])
    return 0


def _find_nodes(client: Client, targets: TargetsBody) -> list[str]:
    page = client.ask("POST", "/v1/targets", TargetsAnswer, targets)
    if page.after is not None or len(page.nodes) > MAX_NODES:
        raise issues.USAGE.error(
            problem=f"the targets are more than {MAX_NODES} nodes",
            usage="name fewer nodes; without targets, the command lists the releases of the fleet",
        )
    return [row.name for row in page.nodes]


def _history_row(release: NodeReleaseView) -> tuple[object, ...]:
    what = release.kind if release.restores is None else f"rollback to {release.restores}"
    mark = "*" if release.state == SERVED else ""
    at = format_time(release.at)
    return mark, release.release, what, release.state or None, at, release.by, _code(release), release.catalog[:12]
