"""`precast report`: what runs on nodes came to, listed, shown, and watched while they go on."""

import argparse
import re
import time
from collections.abc import Iterator

import msgspec

from precast.base.spans import visible
from precast.cli import issues
from precast.cli.agent.apply_output import Printer
from precast.cli.catalogs.origins import MOST as MOST_TRACED
from precast.cli.catalogs.origins import origin_lines, trace
from precast.cli.console.client import Client, add_connection, connect, segment
from precast.cli.console.output import moment, print_json, print_table
from precast.cli.console.parser import says
from precast.cli.reports.output import exit_code, head_lines, outcome
from precast.services.reports import issues as report_issues
from precast.wire.catalogs.origins import OriginView
from precast.wire.reports.events import Status
from precast.wire.reports.views import EventsPage, NumberedReport, ReportRow, ReportsPage, ReportView

MOST = 20
# How long a question about something that has not happened yet is held by the server.
WAIT_S = 20.0
# Between two looks at all reports.
LEAST_S = 0.5
OPEN, FAILED = 1, 4
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    summary = "show reports, newest first"
    listing = commands.add_parser("list", help=summary, description=summary)
    add_connection(listing)
    _add_choice(listing)
    listing.add_argument("--most", metavar="N", type=int, default=MOST, help=f"so many at most (default: {MOST})")
    listing.set_defaults(run=_list)
    summary = "show a report, or a node's newest one, with what happened"
    show = commands.add_parser("show", help=summary, description=summary)
    add_connection(show)
    _add_subject(show)
    _add_detail(show)
    show.add_argument("--all", action="store_true", help="also name the resources to which nothing happened")
    show.set_defaults(run=_show)
    summary = "follow a report, a node's runs, or all runs, while they go on"
    watch = commands.add_parser("watch", help=summary, description=summary)
    add_connection(watch)
    _add_subject(watch, may_be_all=True)
    _add_detail(watch)
    watch.add_argument("--once", action="store_true", help="end with the run, also of a node")
    watch.set_defaults(run=_watch)
    for one in (show, watch):
        says(
            one,
            {
                OPEN: "the run has not ended, or some resources wait for a value",
                FAILED: "some resources failed, or the run did not come to its end",
            },
        )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--node", metavar="NODE", default="", help="of this node")
    parser.add_argument("--order", metavar="ID", default="", help="that this order brought about")
    parser.add_argument("--environment", metavar="NAME", default="", help="with a catalog of this environment")
    parser.add_argument(
        "--state", choices=("running", "ended", "broken-off", "not-run"), default="", help="in this state"
    )
    parser.add_argument("--failed", action="store_true", help="in which something failed")
    parser.add_argument("--changed", action="store_true", help="in which something changed, or would have")


def _add_subject(parser: argparse.ArgumentParser, *, may_be_all: bool = False) -> None:
    count = "?" if may_be_all else None
    parser.add_argument("subject", metavar="ID|NODE", nargs=count, help="a report, or a node")


def _add_detail(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-diff", action="store_true", help="do not show how contents change")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="say more; twice: everything")


def _list(args: argparse.Namespace) -> int:
    if args.most < 1:
        raise issues.USAGE.error(problem=f"--most {args.most} is no number from 1 on", usage="--most 20")
    rows = _newest(connect(args), _query(args), args.most)
    if args.json:
        print_json(msgspec.to_builtins(rows))
        return 0
    print_table(
        ["BEGAN", "NODE", "MODE", "WHY", "OUTCOME", "SECONDS", "REPORT"],
        [
            (moment(one.began_at), one.node, one.mode or None, one.reason or None, outcome(one), one.seconds, one.id)
            for one in rows
        ],
    )
    return 0


def _query(args: argparse.Namespace) -> dict[str, str]:
    found = {name: getattr(args, name) for name in ("node", "order", "environment", "state")}
    flags = {name: "1" for name in ("failed", "changed") if getattr(args, name)}
    return {name: value for name, value in found.items() if value} | flags


def _newest(client: Client, query: dict[str, str], most: int) -> list[ReportRow]:
    rows: list[ReportRow] = []
    while len(rows) < most:
        page = client.ask("GET", "/v1/reports", ReportsPage, query=query | {"limit": str(min(most - len(rows), 1000))})
        rows += page.reports
        if page.after is None:
            break
        query = query | {"after": page.after}
    return rows


def _show(args: argparse.Namespace) -> int:
    client = connect(args)
    report = _resolve(client, args.subject)
    view = client.ask("GET", f"/v1/reports/{segment(report)}", ReportView)
    events = [one for page in _pages(client, report) for one in page.events]
    if args.json:
        origins = _origins(client, view, events)
        print_json(msgspec.to_builtins({**msgspec.structs.asdict(view), "events": events, "origins": origins}))
        return exit_code(view.report)
    print_table(["REPORT", report], list(head_lines(view)))
    printer = _printer(args, view.report)
    if events:
        print()
    for one in events:
        printer.report(one)
    for origin in _origins(client, view, events):
        print("\n".join(["", visible(origin.resource), *(f"    {line}" for line in origin_lines(origin))]))
    if args.all:
        _print_rest(view)
    return exit_code(view.report)


def _origins(client: Client, view: ReportView, events: list[NumberedReport]) -> list[OriginView]:
    """Where what failed comes from, as far as can be told."""
    failed = [one.resource for one in events if one.status is Status.FAILED][:MOST_TRACED]
    found = [trace(client, view.report.node, resource, view.report.catalog) for resource in failed]
    return [one for one in found if one is not None]


def _print_rest(view: ReportView) -> None:
    print()
    if view.rest is None and view.report.is_over:
        print(f"all other resources of catalog {view.report.catalog[:12] or '?'} are as wanted")
        return
    for ref in view.rest or []:
        print(f"as wanted {ref}")
    for why, refs in view.left_out.items():
        for ref in refs:
            print(f"left out  {ref}: {why}")


def _resolve(client: Client, subject: str) -> str:
    """A report's id, or that of a node's newest. Raises NotFoundError REPORT-003 if the node has none."""
    if _ID.match(subject):
        return subject
    found = _newest(client, {"node": subject}, 1)
    if not found:
        raise report_issues.NO_RUN.error(node=subject)
    return found[0].id


def _pages(client: Client, report: str) -> Iterator[EventsPage]:
    """What has happened so far."""
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
    """The run that goes on, or else those that come."""
    seen = {one.id for one in _newest(client, {"node": args.subject}, 5) if one.is_over}
    while True:
        for one in reversed(_newest(client, {"node": args.subject}, 5)):
            if one.id in seen:
                continue
            seen.add(one.id)
            row = _follow(args, client, one.id)
            if args.once:
                return exit_code(row)
        _await_any(client, {"node": args.subject})


def _watch_all(args: argparse.Namespace, client: Client) -> int:
    """A line for each run that begins and for each that ends."""
    known = {one.id: one.state for one in _newest(client, {}, 100)}
    while True:
        began_s = time.monotonic()
        for one in reversed(_await_any(client, {"limit": "1000"})):
            if known.get(one.id) == one.state:
                continue
            known[one.id] = one.state
            _print_line(args, one)
            if args.once and one.is_over:
                return exit_code(one)
        time.sleep(max(0.0, LEAST_S - (time.monotonic() - began_s)))


def _await_any(client: Client, query: dict[str, str]) -> list[ReportRow]:
    return client.ask("GET", "/v1/reports", ReportsPage, query=query | {"wait_s": str(WAIT_S)}).reports


def _print_line(args: argparse.Namespace, row: ReportRow) -> None:
    if args.json:
        print(msgspec.json.encode(row).decode(), flush=True)
        return
    at = row.ended_at or row.began_at
    print(f"{moment(at)} {row.node}: {outcome(row)} ({row.mode}, {row.reason})", flush=True)


def _follow(args: argparse.Namespace, client: Client, report: str) -> ReportRow:
    """Print what happens as it happens, until the report is over; with --json a document on each line."""
    after, printer = 0, None
    while True:
        query = {"after": str(after), "wait_s": str(WAIT_S)}
        page = client.ask("GET", f"/v1/reports/{segment(report)}/events", EventsPage, query=query)
        if printer is None:
            printer = _printer(args, page.report)
            _print_line(args, msgspec.structs.replace(page.report, state="running", ended_at=None))
        for one in page.events:
            _print_event(args, printer, one)
        after = page.last
        if page.report.is_over and after >= page.report.events:
            _print_line(args, page.report)
            return page.report


def _print_event(args: argparse.Namespace, printer: Printer, event: NumberedReport) -> None:
    if args.json:
        print(msgspec.json.encode(event).decode(), flush=True)
    else:
        printer.report(event)
