"""`precast status`: the state of the site on one screen. Exit code 0: everything works; 1: something needs attention; 2: broken.

A note is shown and leaves the exit code at 0.
"""

import argparse
from collections.abc import Sequence

import msgspec

from precast.base.spans import visible
from precast.cli.console.client import add_connection, connect
from precast.cli.console.output import format_time, print_json
from precast.cli.console.parser import declare_exits
from precast.wire.nodes.status import NOTE, DatabaseStatus, DiskStatus, Problem, QueueStatus, StatusView

WARNING, BROKEN = 1, 2


def configure(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.set_defaults(run=_status)
    declare_exits(parser, {WARNING: "something needs attention", BROKEN: "something is broken"})


def _status(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", "/v1/status", StatusView)
    if args.json:
        print_json(msgspec.to_builtins(view))
    else:
        for name, text in _lines(view):
            print(f"{name:10} {visible(text)}")
        for problem in view.problems:
            print(f"\n{problem.level}: {visible(problem.text)}\n  hint: {visible(problem.hint)}")
    return exit_code(view.problems)


def exit_code(problems: Sequence[Problem]) -> int:
    """The exit code for the problems of a site, the worst that applies."""
    levels = {problem.level for problem in problems} - {NOTE}
    return BROKEN if "broken" in levels else WARNING if levels else 0


def _lines(view: StatusView) -> list[tuple[str, str]]:
    total = sum(view.nodes.values())
    states = ", ".join(f"{count} {state}" for state, count in view.nodes.items() if count)
    servers = ", ".join(
        f"{server.name} ({server.connections} connected)" if server.has_port else server.name for server in view.servers
    )
    return [
        ("version", f"{view.version}, running since {format_time(view.started_at)}"),
        ("database", _database(view.database)),
        ("servers", servers or "none"),
        ("nodes", f"{total}: {states}" if total else "none"),
        *((f"{queue.kind}", _queue(queue)) for queue in view.queues),
        *([] if view.queues else [("work", "no item is queued")]),
        ("authority", f"valid until {format_time(view.authority_until)}"),
        ("disk", _disk(view.disk)),
    ]


def _database(database: DatabaseStatus) -> str:
    copies = f", {database.replicas} replicas" if database.replicas else ""
    behind = f", {database.behind_s:.1f} s behind" if database.behind_s is not None else ""
    answer = f"answers in {database.answer_s * 1000:.1f} ms"
    return f"{database.kind} {database.location}, schema {database.schema}, {answer}{copies}{behind}"


def _queue(queue: QueueStatus) -> str:
    oldest = f", oldest from {format_time(queue.oldest_at)}" if queue.oldest_at else ""
    return f"{queue.waiting} waiting, {queue.held} in progress, {queue.dead} dead{oldest}"


def _disk(disk: DiskStatus) -> str:
    return f"{disk.path}: {disk.free_bytes / 1e9:.1f} of {disk.size_bytes / 1e9:.1f} GB free"
