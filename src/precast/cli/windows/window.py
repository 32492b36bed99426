"""`precast window`: when actions may begin on which nodes."""

import argparse
import sys
from collections.abc import Callable, Sequence

import msgspec

from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.files import read_source
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.query.targets import HELP, note_claims, words_of
from precast.wire import issues as wire_issues
from precast.wire.windows.bodies import (
    ALL_CLASSES,
    CLASSES,
    BindingBody,
    BindingRow,
    BindingView,
    OpeningView,
    WindowBody,
    WindowRow,
    WindowView,
)
from precast.wire.windows.intervals import Interval

Command = Callable[[argparse.Namespace], int]
_CLASS_HELP = f"a class of actions: {', '.join(CLASSES)}"


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        add_connection(added)
        added.set_defaults(run=command)
        return added

    add("list", _list, "show the windows, and when each is open next")
    show = add("show", _show, "show a window: its bindings and its next intervals")
    show.add_argument("name", metavar="NAME")
    show.add_argument("--source", action="store_true", help="print only its rules or its calendar, as they were given")
    create = add("create", _create, "create or replace a window by simple rules")
    create.add_argument("name", metavar="NAME")
    create.add_argument(
        "--rule",
        metavar="WHEN",
        action="append",
        required=True,
        help="day, start, length and zone: 'Sat 22:00 6h Europe/Berlin', 'daily 22:30 90m' (may be repeated; UTC)",
    )
    imported = add("import", _import, "create or replace a window by an iCalendar file")
    imported.add_argument("file", metavar="FILE.ics", help="the file; - is standard input")
    imported.add_argument("--name", metavar="NAME", required=True, help="the name of the window")
    imported.add_argument(
        "--zone", metavar="ZONE", default="UTC", help="the zone of times that name none, such as Europe/Berlin (UTC)"
    )
    for made in (create, imported):
        made.add_argument("--blackout", action="store_true", help="the window closes what other windows open")
    remove = add("remove", _remove, "remove a window that is not bound")
    remove.add_argument("name", metavar="NAME")
    bind = add("bind", _bind, "bind a window to nodes: actions of these classes begin on them only while it is open")
    unbind = add("unbind", _unbind, "remove bindings of a window, by their targets")
    for bound in (bind, unbind):
        bound.add_argument("name", metavar="NAME")
        bound.add_argument(
            "--target", metavar="TARGET", action="append", required=True, help=f"{HELP} (may be repeated)"
        )
    bind.add_argument(
        "--class",
        dest="classes",
        metavar="CLASS",
        action="append",
        choices=(*CLASSES, ALL_CLASSES),
        help=f"{_CLASS_HELP}, or all, the default (may be repeated)",
    )
    bind.add_argument(
        "--at-close",
        choices=("finish", "abort"),
        default="finish",
        help="what happens to an action that is under way when the window closes (finish)",
    )
    for changing in (create, imported, remove, bind, unbind):
        changing.add_argument("--why", metavar="TEXT", default="", help="a reason for the audit log")
    following = add("next", _next, "show when actions may begin next, and why")
    following.add_argument("--node", metavar="NODE", help="on this node, by all windows that are bound to it")
    following.add_argument("--class", dest="action_class", choices=CLASSES, help=f"{_CLASS_HELP}; all without it")


def _list(args: argparse.Namespace) -> int:
    rows = connect(args).ask("GET", "/v1/windows", list[WindowRow])
    if args.json:
        print_json(msgspec.to_builtins(rows))
        return 0
    print_table(
        ["WINDOW", "KIND", "BINDINGS", "OPENS", "CLOSES", "CHANGED BY"],
        [(row.name, _kind(row), row.bindings, *_times(row.next), row.changed_by) for row in rows],
    )
    return 0


def _show(args: argparse.Namespace) -> int:
    view = connect(args).ask("GET", f"/v1/windows/{segment(args.name)}", WindowView)
    if args.json:
        print_json(msgspec.to_builtins(view))
        return 0
    if args.source:
        sys.stdout.write(view.source if view.source.endswith("\n") else view.source + "\n")
        return 0
    row = view.window
    rules = view.source.splitlines() if row.kind == "rules" else []
    print_table(
        ["WINDOW", row.name],
        [
            ("kind", _kind(row)),
            *(("rule", rule) for rule in rules),
            ("made", f"{format_time(row.made_at)} by {row.made_by}"),
            ("changed", f"{format_time(row.changed_at)} by {row.changed_by}"),
        ],
    )
    print()
    print_table(
        ["BOUND TO", "NODES", "CLASSES", "AT CLOSE", "BY"],
        [
            (
                made.binding.target,
                made.nodes,
                ", ".join(made.binding.classes),
                made.binding.at_close,
                made.binding.bound_by,
            )
            for made in view.bindings
        ],
    )
    print()
    print_table(["OPENS", "CLOSES"], [_times(interval) for interval in view.intervals])
    note_claims(any(made.rests_on_claims for made in view.bindings))
    return 0


def _create(args: argparse.Namespace) -> int:
    return _put(args, WindowBody(args.rule, is_blackout=args.blackout, why=args.why))


def _import(args: argparse.Namespace) -> int:
    text = read_source(args.file).text
    return _put(args, WindowBody(calendar=text, zone=args.zone, is_blackout=args.blackout, why=args.why))


def _put(args: argparse.Namespace, body: WindowBody) -> int:
    row = connect(args).ask("POST", f"/v1/windows/{segment(args.name)}", WindowRow, body)
    if args.json:
        print_json(msgspec.to_builtins(row))
    else:
        print(f"{row.name}: {_describe(row.next)}")
    return 0


def _remove(args: argparse.Namespace) -> int:
    row = connect(args).ask("DELETE", f"/v1/windows/{segment(args.name)}", WindowRow, query={"why": args.why})
    if args.json:
        print_json(msgspec.to_builtins(row))
    else:
        print(f"{row.name}: removed")
    return 0


def _bind(args: argparse.Namespace) -> int:
    client, path = connect(args), f"/v1/windows/{segment(args.name)}/bindings"
    views = [
        client.ask(
            "POST", path, BindingView, BindingBody(target, args.classes or [ALL_CLASSES], args.at_close, args.why)
        )
        for target in _targets(args.target)
    ]
    note_claims(any(view.rests_on_claims for view in views))
    if args.json:
        print_json(msgspec.to_builtins(views))
        return 0
    for view in views:
        nodes = f"{view.nodes} node{'' if view.nodes == 1 else 's'} now"
        print(f"{args.name}: bound to {view.binding.target} ({nodes}) for {', '.join(view.binding.classes)}")
    return 0


def _unbind(args: argparse.Namespace) -> int:
    client, path = connect(args), f"/v1/windows/{segment(args.name)}/bindings"
    rows = [
        client.ask("DELETE", path, BindingRow, query={"target": target, "why": args.why})
        for target in _targets(args.target)
    ]
    if args.json:
        print_json(msgspec.to_builtins(rows))
        return 0
    for row in rows:
        print(f"{row.window}: no longer bound to {row.target}")
    return 0


def _next(args: argparse.Namespace) -> int:
    if args.node is None:
        return _list(args)
    query = {"class": args.action_class} if args.action_class else None
    views = connect(args).ask("GET", f"/v1/nodes/{segment(args.node)}/openings", list[OpeningView], query=query)
    if args.json:
        print_json(msgspec.to_builtins(views))
        return 0
    print_table(
        ["CLASS", "OPEN", "OPENS", "CLOSES", "AT CLOSE", "WHY"],
        [
            (
                view.action_class,
                "yes" if view.is_open else "no",
                "now" if view.is_open else format_time(view.opens_at) or "not within a year",
                format_time(view.closes_at),
                view.at_close if view.windows or view.blackouts else None,
                _reason(view),
            )
            for view in views
        ],
    )
    return 0


def _targets(arguments: Sequence[str]) -> list[str]:
    words = words_of(arguments)
    if not words:
        raise wire_issues.NO_TARGETS.error()
    return words


def _kind(row: WindowRow) -> str:
    return f"{row.kind}, blackout" if row.is_blackout else row.kind


def _times(interval: Interval | None) -> tuple[str | None, str | None]:
    return (format_time(interval.opens_at), format_time(interval.closes_at)) if interval is not None else (None, None)


def _describe(interval: Interval | None) -> str:
    if interval is None:
        return "not open within a year"
    return f"open next from {format_time(interval.opens_at)} to {format_time(interval.closes_at)}"


def _reason(view: OpeningView) -> str:
    if not view.windows and not view.blackouts:
        return "no window is bound"
    opens = f"windows {', '.join(view.windows)}" if view.windows else ""
    blackouts = f"blackouts {', '.join(view.blackouts)}" if view.blackouts else ""
    return "; ".join(text for text in (opens, blackouts) if text)
