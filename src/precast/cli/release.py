"""`precast release` and `precast rollback`: what nodes are served from now on, after a look at what that changes."""

import argparse

import msgspec

from precast.cli.catalog import print_change
from precast.cli.client import add_connection, connect
from precast.cli.output import print_json
from precast.cli.targets import add_targets, targets_of
from precast.wire.catalogs import PreviewView, ReleaseBody, ReleaseDone
from precast.wire.nodes import NodesDeed


def configure_release(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    add_targets(parser)
    parser.add_argument("--version", metavar="VERSION", help="only nodes for which this version of the code is staged")
    parser.add_argument("--preview", action="store_true", help="only show what would change")
    parser.add_argument("--why", metavar="TEXT", default="", help="for the audit log")
    parser.set_defaults(run=_release)


def configure_rollback(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    add_targets(parser)
    parser.add_argument("--why", metavar="TEXT", default="", help="for the audit log")
    parser.set_defaults(run=_rollback)


def _release(args: argparse.Namespace) -> int:
    body = ReleaseBody(targets_of(args), args.version, args.why)
    if args.preview:
        return _preview(args, connect(args).ask("POST", "/v1/previews", PreviewView, body))
    return _tell(args, connect(args).ask("POST", "/v1/releases", ReleaseDone, body), "released")


def _rollback(args: argparse.Namespace) -> int:
    body = NodesDeed(targets_of(args), args.why)
    return _tell(args, connect(args).ask("POST", "/v1/rollbacks", ReleaseDone, body), "rolled back")


def _preview(args: argparse.Namespace, view: PreviewView) -> int:
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    for change in view.changes:
        print_change(change, f"{_nodes(change.count)}: ")
    if view.refreshed:
        print("\nrefreshed by that:")
        for one in view.refreshed:
            print(f"  {one.ref} on {_nodes(one.count)}")
    _tell_left_out(view.left_out)
    changed = view.nodes - view.unchanged - len(view.left_out)
    print(f"\n{_nodes(view.nodes)}: {changed} would change, {view.unchanged} would not, {len(view.left_out)} left out")
    return 0


def _tell(args: argparse.Namespace, done: ReleaseDone, deed: str) -> int:
    if args.json:
        print_json(msgspec.to_builtins(done))
        return 0
    _tell_left_out(done.left_out)
    print(f"{_nodes(len(done.released))} {deed}, {len(done.unchanged)} unchanged, {len(done.left_out)} left out")
    return 0


def _tell_left_out(left_out: dict[str, str]) -> None:
    for reason in dict.fromkeys(left_out.values()):
        nodes = [node for node, why in left_out.items() if why == reason]
        print(f"left out, {reason}: {', '.join(nodes[:5])}{f' and {len(nodes) - 5} more' if len(nodes) > 5 else ''}")


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
