"""`precast query`: prints tables of nodes, facts, resources in released catalogs, and reports of runs.

Each page is printed when it arrives, so that neither the memory of the command nor the time to the first line grows with the answer.
"""

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from precast.cli.console.client import Client, add_connection, connect
from precast.cli.console.output import StreamedJson, StreamedTable, format_time, print_json
from precast.cli.query.targets import HELP, note_claims, words_of
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.query.bodies import MAX_ROWS, QueryAnswer, QueryBody
from precast.wire.query.fields import (
    NODE_COLUMNS,
    NODES,
    REPORT_COLUMNS,
    REPORTS,
    RESOURCE_COLUMNS,
    RESOURCES,
    Vocabulary,
)
from precast.wire.query.parser import parse, parse_field, parse_query

TIMEOUT_S = 40.0
SHOWN_CHARS = 80
# Columns whose values are times.
TIME_COLUMNS = {"at", "ended_at", "seen_at", "facts_at", "created_at", "certified_until", "released_at", "report.at"}


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    nodes = _add(commands, "nodes", "list nodes by their facts, their state and the resources in their catalogs")
    nodes.add_argument(
        "where", metavar="QUERY", nargs="?", default="", help="such as \"has Package[nginx] and role = 'web'\""
    )
    nodes.set_defaults(run=_nodes)
    facts = _add(commands, "facts", "list facts of nodes, one column for each path")
    facts.add_argument("paths", metavar="PATH", nargs="+", help="such as os.release.major")
    facts.add_argument("--where", metavar="QUERY", default="", help="only nodes that match this query")
    facts.add_argument("--count", action="store_true", help="count the nodes for each value")
    facts.set_defaults(run=_facts)
    resources = _add(commands, "resources", "list resources in released catalogs by type, title, parameters or tag")
    resources.add_argument(
        "where",
        metavar="QUERY",
        nargs="?",
        default="",
        help="such as Package[nginx], 'File[/etc/*]', or \"type = Service and parameters.ensure = stopped\"",
    )
    resources.add_argument(
        "--nodes", metavar="TARGET", action="append", default=[], help=f"only resources of these nodes: {HELP}"
    )
    resources.set_defaults(run=_resources)
    reports = _add(commands, "reports", "list reports of runs, newest first")
    reports.add_argument(
        "where",
        metavar="QUERY",
        nargs="?",
        default="",
        help='such as "outcome = failed and age < 1d", or the name of a node',
    )
    reports.add_argument(
        "--nodes", metavar="TARGET", action="append", default=[], help=f"only reports of these nodes: {HELP}"
    )
    reports.set_defaults(run=_reports)


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, summary: str
) -> argparse.ArgumentParser:
    added = commands.add_parser(name, help=summary, description=summary)
    add_connection(added)
    added.add_argument("--limit", metavar="N", type=int, help="at most N rows (default: all)")
    if name != "facts":
        added.add_argument("--fields", metavar="FIELD,…", default="", help="the columns, such as name,facts.os.family")
        added.add_argument("--by", metavar="FIELD,…", default="", help="count the rows for each value of these fields")
        added.add_argument("--count", action="store_true", help="print only the number of rows")
    return added


def _nodes(args: argparse.Namespace) -> int:
    if args.where:
        parse(args.where)
    return _ask(args, QueryBody("nodes", args.where, **_columns(args, NODE_COLUMNS)))


def _facts(args: argparse.Namespace) -> int:
    names = [f"facts.{path}" for path in args.paths]
    for name in names:
        parse_field(name, NODES)
    all_exist = " and ".join(f"exists {name}" for name in names)
    where = f"({args.where}) and {all_exist}" if args.where else all_exist
    if args.where:
        parse(args.where)
    chosen: dict[str, Any] = {"by": names} if args.count else {"fields": ["name", *names]}
    args.count = False
    return _ask(args, QueryBody("nodes", where, **chosen), notes_claims=False)


def _resources(args: argparse.Namespace) -> int:
    if args.where:
        parse_query(args.where, RESOURCES)
    words = words_of(args.nodes)
    nodes = TargetsBody(words) if words else None
    return _ask(args, QueryBody("resources", args.where, nodes, **_columns(args, RESOURCE_COLUMNS)))


def _reports(args: argparse.Namespace) -> int:
    if args.where:
        parse_query(args.where, REPORTS)
    words = words_of(args.nodes)
    nodes = TargetsBody(words) if words else None
    return _ask(args, QueryBody("reports", args.where, nodes, **_columns(args, REPORT_COLUMNS)))


def _columns(args: argparse.Namespace, vocabulary: Vocabulary) -> dict[str, Any]:
    columns = {
        name: [field.strip() for field in getattr(args, name).split(",") if field.strip()] for name in ("fields", "by")
    }
    for field in (*columns["fields"], *columns["by"]):
        parse_field(field, vocabulary)
    return columns


def _ask(args: argparse.Namespace, body: QueryBody, *, notes_claims: bool = True) -> int:
    client = connect(args, TIMEOUT_S)
    document, table, count = StreamedJson(), StreamedTable(), 0
    is_only_counted = args.count and not body.by
    is_claim = False
    for page in _read_pages(client, body, args.limit):
        count, is_claim = count + len(page.rows), page.rests_on_claims
        if is_only_counted:
            continue
        if args.json:
            document.add(dict(zip(page.columns, row, strict=True)) for row in page.rows)
        else:
            cells = [[_cell(name, value) for name, value in zip(page.columns, row, strict=True)] for row in page.rows]
            table.add([name.upper() for name in page.columns], cells)
    if notes_claims:
        note_claims(is_claim)
    if is_only_counted:
        return _print_count(args, count)
    if args.json:
        document.finish()
    return 0


def _read_pages(client: Client, body: QueryBody, limit: int | None) -> Iterator[QueryAnswer]:
    """Yield the pages of an answer, as they arrive, with at most `limit` rows."""
    after: str | None = ""
    count = 0
    while after is not None and (limit is None or count < limit):
        left = MAX_ROWS if limit is None else min(MAX_ROWS, limit - count)
        page = client.ask("POST", "/v1/queries", QueryAnswer, msgspec.structs.replace(body, after=after, limit=left))
        after, count = page.after, count + len(page.rows)
        yield page


def _print_count(args: argparse.Namespace, count: int) -> int:
    if args.json:
        print_json({"count": count})
    else:
        print(count)
    return 0


def _cell(column: str, value: Any) -> Any:
    if column in TIME_COLUMNS and value is not None:
        return format_time(datetime.fromisoformat(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        value = msgspec.json.encode(value).decode()
    if isinstance(value, str) and len(value) > SHOWN_CHARS:
        return value[: SHOWN_CHARS - 1] + "…"
    return value
