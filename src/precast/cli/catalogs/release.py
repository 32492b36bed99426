"""`precast release` and `precast rollback`: choose which catalogs nodes are served, after an optional preview of the changes.

The server changes a page of nodes at a time; `release_pages` requests them. `--continue` completes an interrupted one.
"""

import argparse
import contextlib
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from precast.base.errors import InputError
from precast.base.setting_values import InvalidValueError, read_duration
from precast.cli import issues
from precast.cli.catalogs.catalog import format_problem, print_change
from precast.cli.catalogs.release_list import configure_release_list
from precast.cli.catalogs.release_pages import DONE, RELEASE, ROLLBACK, request_pages
from precast.cli.console.client import Client, add_connection, connect
from precast.cli.console.output import format_time, print_json
from precast.cli.console.parser import declare_exits, set_default_command
from precast.cli.jobs.options import duration_s
from precast.cli.query.targets import add_targets, targets_of
from precast.wire.catalogs.bodies import (
    MoveView,
    PreviewView,
    ReadinessBody,
    ReadinessView,
    ReleaseBody,
    ReleaseDone,
    ReleasePoint,
    ReleaseView,
    RollbackBody,
)
from precast.wire.catalogs.release_points import parse_point
from precast.wire.nodes.bodies import TargetsBody

SOME_SKIPPED, ALL_SKIPPED, PENDING = 1, 4, 5
EXITS = {
    SOME_SKIPPED: "some nodes were skipped; the others are served the new catalogs",
    ALL_SKIPPED: "every node was skipped: nothing was done",
}
RELEASE_EXITS = {**EXITS, PENDING: "the release, or a part of it, waits for the approval of other people"}
START = "release the staged catalogs of nodes"
WAIT = "2m"
# The pause between two requests for the readiness of the nodes. A pause is at least four times as long as the request before it, so that
# the server spends at most a fifth of its time on them.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 1.0
PAUSE_PER_REQUEST = 4.0


def configure_release(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "`precast release TARGET …` is short for `precast release start TARGET …`."
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    set_default_command(parser, "start")
    start = commands.add_parser("start", help=START, description=START)
    add_connection(start)
    add_targets(start)
    start.add_argument(
        "--version", metavar="VERSION", help="only nodes whose staged catalog is of this version of the code"
    )
    start.add_argument("--preview", action="store_true", help="show the pending changes and release nothing")
    start.add_argument(
        "--wait",
        metavar="TIME",
        nargs="?",
        const=WAIT,
        help=f"first wait until the newest code is staged, or gives an error, for every target (without a time: {WAIT})",
    )
    _add_continue(start, RELEASE)
    start.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log")
    start.set_defaults(run=_release)
    declare_exits(start, RELEASE_EXITS)
    configure_release_list(commands)


def configure_rollback(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    add_targets(parser)
    parser.add_argument(
        "--to",
        metavar="POINT",
        help="to a release (its number), a commit or version (its beginning), or what was served at a time"
        " (2026-11-15T22:00Z, or how long ago: 2h); without it, one step back",
    )
    parser.add_argument("--preview", action="store_true", help="show the changes and where to, and roll nothing back")
    _add_continue(parser, ROLLBACK)
    parser.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log")
    parser.set_defaults(run=_rollback)
    declare_exits(parser, EXITS)


def _add_continue(parser: argparse.ArgumentParser, kind: str) -> None:
    parser.add_argument(
        "--continue",
        dest="number",
        metavar="NUMBER",
        type=int,
        help=f"go on with a {kind} that was interrupted (`precast release list` shows it as unfinished)",
    )


def _release(args: argparse.Namespace) -> int:
    if args.number is not None:
        client = connect(args)
        begun = _find_begun(client, args, RELEASE, args.version or args.wait)
        body = ReleaseBody(begun.targets, begun.to or None, begun.why, begun.release)
        return _print_result(args, request_pages(client, RELEASE, body), RELEASE)
    if args.wait is not None and not args.wait[:1].isdecimal() and not args.targets and not args.all:
        # `release --wait web1`: the parser took the target as the time of --wait.
        raise issues.USAGE.error(
            problem=f"{args.wait!r} after --wait is not a time", usage="name the targets before --wait"
        )
    wait_s = None if args.wait is None else duration_s(args.wait)
    body = ReleaseBody(targets_of(args), args.version, args.why)
    client = connect(args)
    if wait_s is not None:
        _await_staged(client, body.nodes, wait_s)
    if args.preview:
        return _print_preview(args, client.ask("POST", "/v1/previews", PreviewView, body))
    return _print_result(args, request_pages(client, RELEASE, body), RELEASE)


def _rollback(args: argparse.Namespace) -> int:
    client = connect(args)
    if args.number is not None:
        begun = _find_begun(client, args, ROLLBACK, args.to)
        body = RollbackBody(begun.targets, begun.why, begun.to, begun.release)
    else:
        body = RollbackBody(targets_of(args), args.why, _point(args.to))
    if args.preview:
        return _print_preview(args, client.ask("POST", "/v1/previews/rollback", PreviewView, body))
    return _print_result(args, request_pages(client, ROLLBACK, body), ROLLBACK)


def _find_begun(client: Client, args: argparse.Namespace, kind: str, other: str | None) -> ReleaseView:
    """The release or rollback that is continued. `other` is an option that cannot be combined with it."""
    if args.targets or args.all or args.preview or args.why or other:
        raise issues.USAGE.error(
            problem=f"--continue goes on with the targets of the interrupted {kind}", usage="give only its number"
        )
    begun = client.ask("GET", f"/v1/releases/{args.number}", ReleaseView)
    if begun.kind != kind:
        raise issues.USAGE.error(
            problem=f"{begun.release} is a {begun.kind}", usage=f"precast {begun.kind} --continue {begun.release}"
        )
    return begun


def _point(text: str | None) -> str:
    """Where a rollback goes to, with a time as the server reads it. Raises InputError RELEASE-003."""
    if text is None:
        return ""
    with contextlib.suppress(InputError):
        parse_point(text)
        return text
    with contextlib.suppress(InvalidValueError, OverflowError):
        return (datetime.now(UTC) - read_duration(text)).isoformat()
    with contextlib.suppress(ValueError):
        at = datetime.fromisoformat(text)
        text = at.replace(tzinfo=at.tzinfo or UTC).isoformat()
    parse_point(text)
    return text


def _await_staged(client: Client, targets: TargetsBody, wait_s: float) -> None:
    """Wait until every target has a decision for its newest code. Raises UnavailableError CLI-053; then nothing was released."""
    requested_s, pause_s, printed_line = time.monotonic(), FIRST_PAUSE_S, ""
    end_s = requested_s + wait_s
    body = ReadinessBody(targets)
    while (view := client.ask("POST", "/v1/readiness", ReadinessView, body)).waiting_count:
        body = ReadinessBody(targets, view.asked_by)
        now_s = time.monotonic()
        if now_s >= end_s:
            names = _join_names(view.waiting, view.waiting_count)
            raise issues.NOT_STAGED.error(
                count=view.waiting_count, nodes=_nodes(view.nodes), wait=f"{wait_s:g} s", names=names
            )
        if (line := _progress_line(view)) != printed_line:
            print(line, file=sys.stderr, flush=True)
            printed_line = line
        time.sleep(min(max(pause_s, PAUSE_PER_REQUEST * (now_s - requested_s)), max(end_s - now_s, 0)))
        pause_s, requested_s = min(pause_s * 2, LONGEST_PAUSE_S), time.monotonic()


def _progress_line(view: ReadinessView) -> str:
    broken = f", {view.broken} with an error" if view.broken else ""
    skipped = f", {sum(view.left_out.values())} skipped" if view.left_out else ""
    return f"precast: waiting: {view.ready} of {_nodes(view.nodes)} staged{broken}{skipped}"


def _print_preview(args: argparse.Namespace, view: PreviewView) -> int:
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    _print_moves(view.moves)
    for change in view.changes:
        print_change(change, f"{_nodes(change.count)}: ")
    if view.refreshed:
        print("\nrefreshed by these changes:")
        for refresh in view.refreshed:
            print(f"  {refresh.ref} on {_nodes(refresh.count)}")
    for common in view.problems:
        print(f"\n{_nodes(common.count)}: {format_problem(common.problem)}")
    for collectors in view.collectors:
        who = _nodes(collectors.count)
        verb = "collects" if collectors.count == 1 else "collect"
        print(
            f"\n{who} that {verb} {collectors.type} will be decided again: {_join_names(collectors.nodes, collectors.count)}"
        )
    _print_skipped(view.left_out)
    pending = view.nodes - view.unchanged - len(view.left_out)
    print(f"\n{_nodes(view.nodes)}: {pending} pending, {view.unchanged} unchanged, {len(view.left_out)} skipped")
    return 0


def _print_result(args: argparse.Namespace, result: ReleaseDone, kind: str) -> int:
    if args.json:
        print_json(msgspec.to_builtins(result))
    else:
        _print_moves(result.moves)
        _print_skipped(result.left_out)
        counts = f"{len(result.unchanged)} unchanged, {len(result.left_out)} skipped"
        print(f"{_nodes(len(result.released))} {DONE[kind]}, {counts}")
        for pending in result.pending:
            people = "1 other person" if pending.needed == 1 else f"{pending.needed} other people"
            print(
                f"the release of {_nodes(pending.nodes)} of {pending.environment} waits for the approval of {people},"
                f" operators of {pending.environment}, until {format_time(pending.expires_at)}:"
                f" `precast approval approve {pending.request}`"
            )
    if result.pending:
        return PENDING
    if not result.left_out:
        return 0
    return SOME_SKIPPED if result.released or result.unchanged else ALL_SKIPPED


def _print_moves(moves: Sequence[MoveView]) -> None:
    """Print where a rollback takes the nodes, one line per move."""
    for move in moves:
        who = move.nodes[0] if move.count == 1 else _nodes(move.count)
        print(f"{who}: {_describe_point(move.before)} → {_describe_point(move.after)}")


def _describe_point(point: ReleasePoint) -> str:
    code = f"version {point.version[:12]}" if point.commit is None else f"commit {point.commit[:12]}"
    return f"release {point.release} ({code})"


def _print_skipped(reasons: dict[str, str]) -> None:
    """Print the skipped nodes, one line per reason."""
    for reason in dict.fromkeys(reasons.values()):
        nodes = [node for node, node_reason in reasons.items() if node_reason == reason]
        print(f"skipped, {reason}: {_join_names(nodes, len(nodes))}")


def _join_names(nodes: list[str], count: int) -> str:
    return f"{', '.join(nodes[:5])}{f' and {count - 5} more' if count > 5 else ''}"


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
