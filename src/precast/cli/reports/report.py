"""`precast report`: lists, shows and watches the reports of runs on nodes."""

import argparse
import re
import time
from collections.abc import Iterator

import msgspec

from precast.base.spans import visible
from precast.cli import issues
from precast.cli.agent.apply_output import Printer
from precast.cli.catalogs.origins import MAX_ORIGINS, find_origin, origin_lines
from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import format_time, print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.cli.reports.output import exit_code, head_lines, outcome
from precast.services.reports import issues as report_issues
from precast.wire.catalogs.origins import OriginView
from precast.wire.reports.events import Status
from precast.wire.reports.views import EventsPage, NumberedReport, ReportRow, ReportsPage, ReportView

DEFAULT_ROWS = 20
# How long the server may hold a request until something new is reported.
WAIT_S = 20.0
# The least time between two requests for all reports.
MIN_PAUSE_S = 0.5
OPEN, FAILED = 1, 4
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    summary = "show reports, newest first"
    listing = commands.add_parser("list", help=summary, description=summary)
    add_connection(listing)
    _add_choice(listing)
    listing.add_argument(
        "--most", metavar="N", type=int, default=DEFAULT_ROWS, help=f"at most N rows (default: {DEFAULT_ROWS})"
    )
    listing.set_defaults(run=_list)
    summary = "show a report, or a node's newest one, with its events"
    show = commands.add_parser("show", help=summary, description=summary)
    add_connection(show)
    _add_subject(show)
    _add_detail(show)
    show.add_argument("--all", action="store_true", help="also list the resources without an event")
    show.set_defaults(run=_show)
    summary = "follow one report, the runs of a node, or all runs, as they happen"
    watch = commands.add_parser("watch", help=summary, description=summary)
    add_connection(watch)
    _add_subject(watch, may_be_all=True)
    _add_detail(watch)
    watch.add_argument("--once", action="store_true", help="exit when the first run has ended")
    watch.set_defaults(run=_watch)
    for command in (show, watch):
        declare_exits(
            command,
            {
                OPEN: "the run has not ended, or some resources wait for a value",
                FAILED: "some resources failed, or the run did not reach its end",
            },
        )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--node", metavar="NODE", default="", help="only reports of this node")
    parser.add_argument(
        "--order", metavar="ID", default="", help="only reports of what this order or `precast run` started"
    )
    parser.add_argument(
        "--environment", metavar="NAME", default="", help="only runs with a catalog of this environment"
    )
    parser.add_argument(
        "--state", choices=("running", "ended", "broken-off", "not-run"), default="", help="only runs in this state"
    )
    parser.add_argument("--failed", action="store_true", help="only runs with failed resources")
    parser.add_argument("--changed", action="store_true", help="only runs with changes, made or pending")


def _add_subject(parser: argparse.ArgumentParser, *, may_be_all: bool = False) -> None:
    count = "?" if may_be_all else None
    parser.add_argument("subject", metavar="ID|NODE", nargs=count, help="a report, or a node")


def _add_detail(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-diff", action="store_true", help="do not print differences of file contents")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="print more; twice: everything")


def _list(args: argparse.Namespace) -> int:
    if args.most < 1:
        raise issues.USAGE.error(problem=f"--most {args.most} is not a number of at least 1", usage="--most 20")
    rows = _list_newest(connect(args), _query(args), args.most)
    if args.json:
        print_json(msgspec.to_builtins(rows))
        return 0
    print_table(
        ["BEGAN", "NODE", "MODE", "WHY", "OUTCOME", "SECONDS", "REPORT"],
        [
            (
                format_time(row.began_at),
                row.node,
                row.mode or None,
                row.reason or None,
                outcome(row),
                row.seconds,
                row.id,
            )
            for row in rows
        ],
    )
    return 0


def _query(args: argparse.Namespace) -> dict[str, str]:
    filters = {name: getattr(args, name) for name in ("node", "order", "environment", "state")}
    flags = {name: "1" for name in ("failed", "changed") if getattr(args, name)}
    return {name: value for name, value in filters.items() if value} | flags


def _list_newest(client: Client, query: dict[str, str], limit: int) -> list[ReportRow]:
    rows: list[ReportRow] = []
    while len(rows) < limit:
        page = client.ask("GET", "/v1/reports", ReportsPage, query=query | {"limit": str(min(limit - len(rows), 1000))})
        rows += page.reports
        if page.after is None:
            break
        query = query | {"after": page.after}
    return rows


def _show(args: argparse.Namespace) -> int:
    client = connect(args)
    report = _resolve(client, args.subject)
    view = client.ask("GET", f"/v1/reports/{segment(report)}", ReportView)
    events = [event for page in _event_pages(client, report) for event in page.events]
    if args.json:
        origins = _find_origins(client, view, events)
        print_json(msgspec.to_builtins({**msgspec.structs.asdict(view), "events": events, "origins": origins}))
        return exit_code(view.report)
    print_table(["REPORT", report], list(head_lines(view)))
    printer = _printer(args, view.report)
    if events:
        print()
    for event in events:
        printer.report(event)
    for origin in _find_origins(client, view, events):
        print("\n".join(["", visible(origin.resource), *(f"    {line}" for line in origin_lines(origin))]))
    if args.all:
        _print_rest(view)
    return exit_code(view.report)


def _find_origins(client: Client, view: ReportView, events: list[NumberedReport]) -> list[OriginView]:
    """The origins of the failed resources, as far as the server knows them."""
    failed = [event.resource for event in events if event.status is Status.FAILED][:MAX_ORIGINS]
    origins = [find_origin(client, view.report.node, resource, view.report.catalog) for resource in failed]
    return [origin for origin in origins if origin is not None]


def _print_rest(view: ReportView) -> None:
    print()
    if view.rest is None and view.report.is_over:
        print(f"all other resources of catalog {view.report.catalog[:12] or '?'} are in sync")
        return
    for ref in view.rest or []:
        print(f"in sync  {ref}")
    for why, refs in view.left_out.items():
        for ref in refs:
            print(f"skipped  {ref}: {why}")


def _resolve(client: Client, subject: str) -> str:
    """The id of a report, or of a node's newest report. Raises NotFoundError REPORT-003 if the node has none."""
    if _ID.match(subject):
        return subject
    rows = _list_newest(client, {"node": subject}, 1)
    if not rows:
        raise report_issues.NO_RUN.error(node=subject)
    return rows[0].id


def _event_pages(client: Client, report: str) -> Iterator[EventsPage]:
    """The events so far, page by page."""
    after = 0
    while True:
        page = client.ask("GET", f"/v1/reports/{segment(report)}/events", EventsPage, query={"after": str(after)})
        yield page
        if page.last >= page.report.events:
            return
        after = page.last


def _printer(args: argparse.Namespace, row: ReportRow) -> Printer:
    return Printer(row.node, args)


def _watch(args: argparse.Namespace) -> int:
    client = connect(args, WAIT_S + 30)
    if args.subject is None:
        return _watch_all(args, client)
    if _ID.match(args.subject):
        return exit_code(_follow(args, client, args.subject))
    return _watch_node(args, client)


def _watch_node(args: argparse.Namespace, client: Client) -> int:
    """Follow the current run of a node and all later ones."""
    seen = {row.id for row in _list_newest(client, {"node": args.subject}, 5) if row.is_over}
    while True:
        for row in reversed(_list_newest(client, {"node": args.subject}, 5)):
            if row.id in seen:
                continue
            seen.add(row.id)
            ended_row = _follow(args, client, row.id)
            if args.once:
                return exit_code(ended_row)
        _await_any(client, {"node": args.subject})


def _watch_all(args: argparse.Namespace, client: Client) -> int:
    """Print a line when a run begins and when it ends."""
    states = {row.id: row.state for row in _list_newest(client, {}, 100)}
    while True:
        began_s = time.monotonic()
        for row in reversed(_await_any(client, {"limit": "1000"})):
            if states.get(row.id) == row.state:
                continue
            states[row.id] = row.state
            _print_line(args, row)
            if args.once and row.is_over:
                return exit_code(row)
        time.sleep(max(0.0, MIN_PAUSE_S - (time.monotonic() - began_s)))


def _await_any(client: Client, query: dict[str, str]) -> list[ReportRow]:
    return client.ask("GET", "/v1/reports", ReportsPage, query=query | {"wait_s": str(WAIT_S)}).reports


def _print_line(args: argparse.Namespace, row: ReportRow) -> None:
    if args.json:
        print(msgspec.json.encode(row).decode(), flush=True)
        return
    at = row.ended_at or row.began_at
    print(f"{format_time(at)} {row.node}: {outcome(row)} ({row.mode}, {row.reason})", flush=True)


def _follow(args: argparse.Namespace, client: Client, report: str) -> ReportRow:
    """Print the events of a report as they are received, until its run has ended; with --json one document per line."""
    after, printer = 0, None
    while True:
        query = {"after": str(after), "wait_s": str(WAIT_S)}
        page = client.ask("GET", f"/v1/reports/{segment(report)}/events", EventsPage, query=query)
        if printer is None:
            printer = _printer(args, page.report)
            _print_line(args, msgspec.structs.replace(page.report, state="running", ended_at=None))
        for event in page.events:
            _print_event(args, printer, event)
        after = page.last
        if page.report.is_over and after >= page.report.events:
            _print_line(args, page.report)
            return page.report


def _print_event(args: argparse.Namespace, printer: Printer, event: NumberedReport) -> None:
    if args.json:
        print(msgspec.json.encode(event).decode(), flush=True)
    else:
        printer.report(event)
