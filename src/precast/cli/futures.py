"""`precast future`: the values that nodes promise in an environment and that others wait for. Sensitive ones are shown to nobody."""

import argparse
from collections.abc import Sequence
from typing import Any

import msgspec

from precast.base import canonical
from precast.cli import issues
from precast.cli.console.client import add_connection, connect, segment
from precast.cli.console.files import read_source
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.jobs.futures import describe_waits, read_run_futures
from precast.wire.futures import FutureChanges, FutureExplanation, NewFuture, StandingFuture

SHORT = 60
NAMES_SHOWN = 20
WAIT_S = 15


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    _add(commands, "list", "list the values that stand in an environment", _list)
    get = _add(commands, "get", "print the value of a key", _get)
    get.add_argument("key", metavar="KEY")
    get.add_argument("--node", metavar="NAME", default="", help="of this node; needed if several nodes promise the key")
    put = _add(commands, "put", "put a value in place of what a node promised, or for no node", _put)
    put.add_argument("key", metavar="KEY")
    put.add_argument("value", metavar="VALUE", nargs="?", help="a text; - reads it from standard input")
    put.add_argument("--node", metavar="NAME", default="", help="in place of what this node promised")
    put.add_argument("--from-json", action="store_true", help="the value is JSON, such as a number or a hash")
    put.add_argument("--ttl", metavar="SECONDS", type=float, help="how long it may be used")
    put.add_argument(
        "--sensitive", action="store_true", help="seal it, and show it to nobody but the nodes that need it"
    )
    put.add_argument("--remove", action="store_true", help="delete the value instead")
    why = _add(commands, "why", "show who promises a key, who needs it, and who waits for whom", _why)
    why.add_argument("key", metavar="KEY")
    watch = _add(commands, "watch", "print the values of a key whenever one changes, until interrupted", _watch)
    watch.add_argument("key", metavar="KEY")


def _add(commands: "argparse._SubParsersAction[Any]", name: str, summary: str, run: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
    parser.add_argument("--environment", metavar="NAME", default="production", help="the default is production")
    add_connection(parser)
    parser.set_defaults(run=run)
    return parser


def _list(args: argparse.Namespace) -> int:
    client, rows, query = connect(args), list[StandingFuture](), dict[str, str]()
    while page := client.ask("GET", _path(args), list[StandingFuture], query=query):
        rows += page
        query = {"after_key": page[-1].key, "after_node": page[-1].node}
    if args.json:
        print_json(msgspec.to_builtins(rows))
    elif not rows:
        print(f"No node has promised a value in {args.environment}.")
    else:
        _print_rows(rows)
    return 0


def _get(args: argparse.Namespace) -> int:
    query = {"key": args.key, "node": args.node}
    rows = connect(args).ask("GET", f"{_path(args)}/value", list[StandingFuture], query=query)
    if args.json:
        print_json(msgspec.to_builtins(rows))
    elif len(rows) == 1 and not rows[0].is_sensitive and not rows[0].is_expired:
        value = rows[0].value
        print(value if isinstance(value, str) else canonical.encode(value).decode())
    else:
        _print_rows(rows)
    return 0


def _put(args: argparse.Namespace) -> int:
    if args.remove == (args.value is not None):
        raise issues.USAGE.error(
            problem="give either a value or --remove",
            usage="precast future put KEY VALUE, or precast future put KEY --remove",
        )
    value = None if args.remove else _parse(args)
    body = NewFuture(args.key, value, args.node, args.ttl, args.sensitive, args.remove)
    rows = connect(args).ask("POST", _path(args), list[StandingFuture], body)
    if args.json:
        print_json(msgspec.to_builtins(rows))
    elif not rows:
        print(f"{args.key} has no value any more.")
    else:
        _print_rows(rows)
    return 0


def _parse(args: argparse.Namespace) -> Any:
    text = read_source("-").text.removesuffix("\n") if args.value == "-" else args.value
    if not args.from_json:
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise issues.USAGE.error(
            problem=f"the value is not JSON: {error}", usage="write a text as '\"text\"'"
        ) from None


def _watch(args: argparse.Namespace) -> int:
    client, last = connect(args), 0
    try:
        while True:
            query = {"key": args.key, "after": str(last), "wait": str(WAIT_S)}
            changes = client.ask("GET", f"{_path(args)}/changes", FutureChanges, query=query)
            if changes.last != last or not last:
                _print_changes(args, changes)
            last = changes.last
    except KeyboardInterrupt:
        return 0


def _print_changes(args: argparse.Namespace, changes: FutureChanges) -> None:
    if args.json:
        print_json(msgspec.to_builtins(changes.values))
    elif not changes.values:
        print(f"{args.key} has no value in {args.environment}", flush=True)
    for row in () if args.json else changes.values:
        print(f"{format_time(row.changed_at)}  {row.node or row.said_by}  {_show(row)}", flush=True)


def _why(args: argparse.Namespace) -> int:
    client = connect(args)
    found = client.ask("GET", f"{_path(args)}/why", FutureExplanation, query={"key": args.key})
    runs = {job: read_run_futures(client, job) for job in found.jobs}
    if args.json:
        print_json({"key": msgspec.to_builtins(found), "runs": msgspec.to_builtins(runs)})
        return 0
    print(f"promised by  {_names(found.promising) or 'the released catalog of no node'}")
    print(f"needed by    {_names(found.needing) or 'the released catalog of no node'}")
    if found.values:
        _print_rows(found.values)
    else:
        print(f"it has no value in {args.environment}")
    for job, futures in runs.items():
        print(f"run {job}:")
        for promise in futures.promises:
            if promise.key == args.key:
                print(f"  {promise.node} {promise.state}{f': {promise.reason}' if promise.reason else ''}")
        for line in describe_waits(futures, args.key):
            print(f"  {line}")
    return 0


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more


def _print_rows(rows: Sequence[StandingFuture]) -> None:
    print_table(
        ("KEY", "NODE", "VALUE", "CHANGED", "EXPIRES"),
        [
            (
                row.key,
                row.node or f"({row.said_by})",
                _show(row),
                format_time(row.changed_at),
                "" if row.expires_at is None else format_time(row.expires_at),
            )
            for row in rows
        ],
    )


def _show(row: StandingFuture) -> str:
    if row.is_sensitive:
        return "(sensitive)"
    if row.is_expired:
        return "(expired)"
    text = canonical.encode(row.value).decode()
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"


def _path(args: argparse.Namespace) -> str:
    return f"/v1/environments/{segment(args.environment)}/futures"
