"""`precast release` and `precast rollback`: what nodes are served from now on, after a look at what that changes."""

import argparse
import sys
import time

import msgspec

from precast.cli import issues
from precast.cli.catalogs.catalog import print_change
from precast.cli.console.client import Client, add_connection, connect
from precast.cli.console.output import print_json
from precast.cli.console.parser import declare_exits
from precast.cli.jobs.options import duration_s
from precast.cli.query.targets import add_targets, targets_of
from precast.wire.catalogs.bodies import PreviewView, ReadinessBody, ReadinessView, ReleaseBody, ReleaseDone
from precast.wire.nodes.bodies import NodesAction, TargetsBody

SOME_LEFT_OUT, ALL_LEFT_OUT = 1, 4
EXITS = {
    SOME_LEFT_OUT: "some nodes were left out; the others are served it",
    ALL_LEFT_OUT: "every node was left out: nothing was done",
}
WAIT = "2m"
# Between two looks at how far the nodes are; and never more than a fifth of the time is spent on looking.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 1.0
PAUSE_PER_LOOK = 4.0


def configure_release(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    add_targets(parser)
    parser.add_argument("--version", metavar="VERSION", help="only nodes for which this version of the code is staged")
    parser.add_argument("--preview", action="store_true", help="only show what would change")
    parser.add_argument(
        "--wait",
        metavar="TIME",
        nargs="?",
        const=WAIT,
        help=f"first wait until what was deployed last is staged, or gives an error, for every target (without a time: {WAIT})",
    )
    parser.add_argument("--why", metavar="TEXT", default="", help="for the audit log")
    parser.set_defaults(run=_release)
    declare_exits(parser, EXITS)


def configure_rollback(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    add_targets(parser)
    parser.add_argument("--why", metavar="TEXT", default="", help="for the audit log")
    parser.set_defaults(run=_rollback)
    declare_exits(parser, EXITS)


def _release(args: argparse.Namespace) -> int:
    if args.wait is not None and not args.wait[:1].isdecimal() and not args.targets and not args.all:
        # `release --wait web1`: what was meant as a target was taken for the time.
        raise issues.USAGE.error(
            problem=f"--wait takes {args.wait!r} for a time", usage="name the targets before --wait"
        )
    wait_s = None if args.wait is None else duration_s(args.wait)
    body = ReleaseBody(targets_of(args), args.version, args.why)
    client = connect(args)
    if wait_s is not None:
        _wait(client, body.nodes, wait_s)
    if args.preview:
        return _preview(args, client.ask("POST", "/v1/previews", PreviewView, body))
    return _tell(args, client.ask("POST", "/v1/releases", ReleaseDone, body), "released")


def _wait(client: Client, targets: TargetsBody, wait_s: float) -> None:
    """Until every target was decided upon with its newest code. Raises UnavailableError CLI-053; then nothing was released."""
    looked_s, pause_s, told = time.monotonic(), FIRST_PAUSE_S, ""
    end_s = looked_s + wait_s
    body = ReadinessBody(targets)
    while (view := client.ask("POST", "/v1/readiness", ReadinessView, body)).waiting_count:
        body = ReadinessBody(targets, view.asked_by)
        now_s = time.monotonic()
        if now_s >= end_s:
            names = _listed(view.waiting, view.waiting_count)
            raise issues.NOT_STAGED.error(
                count=view.waiting_count, nodes=_nodes(view.nodes), wait=f"{wait_s:g} s", names=names
            )
        if (line := _progress(view)) != told:
            print(line, file=sys.stderr, flush=True)
            told = line
        time.sleep(min(max(pause_s, PAUSE_PER_LOOK * (now_s - looked_s)), max(end_s - now_s, 0)))
        pause_s, looked_s = min(pause_s * 2, LONGEST_PAUSE_S), time.monotonic()


def _progress(view: ReadinessView) -> str:
    broken = f", {view.broken} with an error" if view.broken else ""
    without = f", {sum(view.left_out.values())} that can have none" if view.left_out else ""
    return f"precast: waiting: {view.ready} of {_nodes(view.nodes)} staged{broken}{without}"


def _rollback(args: argparse.Namespace) -> int:
    body = NodesAction(targets_of(args), args.why)
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
    else:
        _tell_left_out(done.left_out)
        print(f"{_nodes(len(done.released))} {deed}, {len(done.unchanged)} unchanged, {len(done.left_out)} left out")
    if not done.left_out:
        return 0
    return SOME_LEFT_OUT if done.released or done.unchanged else ALL_LEFT_OUT


def _tell_left_out(left_out: dict[str, str]) -> None:
    for reason in dict.fromkeys(left_out.values()):
        nodes = [node for node, why in left_out.items() if why == reason]
        print(f"left out, {reason}: {_listed(nodes, len(nodes))}")


def _listed(nodes: list[str], count: int) -> str:
    return f"{', '.join(nodes[:5])}{f' and {count - 5} more' if count > 5 else ''}"


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
