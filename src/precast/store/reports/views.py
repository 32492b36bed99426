"""Reads reports: lists, one report, its events from any number on, and the events of a resource on any node."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.compression import decompress
from precast.store.engine.database import Database
from precast.store.engine.lookup import Lookup
from precast.store.engine.query import Query, Row, Transaction, json_list
from precast.store.reports import queries as queries
from precast.wire.reports.views import EventRow, ReportRow

_LAST = "~"  # after every id


class ReportFilter(msgspec.Struct, frozen=True):
    """Selects reports; an empty field matches all."""

    node: str = ""
    order: str = ""
    state: str = ""
    environment: str = ""
    is_failed: bool = False
    is_changed: bool = False


class ReportCursor(msgspec.Struct, frozen=True):
    """A position in a list that begins with the newest."""

    at: datetime
    id: str = _LAST
    number: int = 0


class StoredReport(msgspec.Struct, frozen=True):
    """A report, when the server received it, its details as JSON, and the compressed names of the resources without an event."""

    row: ReportRow
    received_at: datetime
    heard_at: datetime
    detail: bytes
    rest: bytes = b""


class StoredEventPage(msgspec.Struct, frozen=True):
    """A stored page of events, as JSON."""

    first: int
    last: int
    body: bytes


class ReportReader:
    """Reads the reports of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, report: str) -> StoredReport | None:
        return await self._database.read(_find_report, report)

    async def list_newest(self, selection: ReportFilter, before: ReportCursor, limit: int) -> list[StoredReport]:
        """List the matching reports, newest first, without details."""
        return await self._database.read(_list_newest, selection, before, limit)

    async def find_row(self, report: str) -> ReportRow | None:
        """Find the row of a report."""
        return await self._database.find(BY_ID, report)

    async def list_pages(self, report: str, after: int, limit: int) -> list[StoredEventPage]:
        """List the pages with events above a number."""
        return await self._database.read(_list_pages, report, after, limit)

    async def list_events(self, resource: str, status: str, before: ReportCursor, limit: int) -> list[EventRow]:
        """List the events of a resource on any node, newest first; without a resource, all failures."""
        return await self._database.read(_list_events, resource, status, before, limit)


def _find_report(report: str) -> Transaction[StoredReport | None]:
    rows = yield queries.SHOW(id=report)
    if not rows:
        return None
    rest = yield queries.REST(id=report)
    return msgspec.structs.replace(_stored(rows[0], decompress(rows[0][-1])), rest=bytes(rest[0][0]) if rest else b"")


def _list_newest(selection: ReportFilter, before: ReportCursor, limit: int) -> Transaction[list[StoredReport]]:
    leading, values = _choose_query(selection)
    rows = yield leading(
        before_at=to_micros(before.at),
        before_id=before.id,
        state=selection.state,
        environment=selection.environment,
        is_failed=int(selection.is_failed),
        is_changed=int(selection.is_changed),
        limit=limit,
        **values,
    )
    return [_stored(row, b"{}") for row in rows]


def _choose_query(selection: ReportFilter) -> tuple[Query, dict[str, str]]:
    """Choose the query whose index selects the fewest rows."""
    if selection.order:
        return queries.LIST_ORDER, {"order_id": selection.order}
    if selection.node:
        return queries.LIST_NODE, {"node": selection.node}
    if selection.is_failed:
        return queries.LIST_FAILED, {}
    return (queries.LIST_CHANGED if selection.is_changed else queries.LIST_ALL), {}


def find_latest(nodes: Sequence[str]) -> Transaction[dict[str, ReportRow]]:
    """Find the newest report of each node; a node without reports is absent."""
    reports = [_row(row) for row in (yield queries.LATEST(nodes=json_list(nodes)))]
    return {report.node: report for report in reports}


def list_failing(limit: int) -> Transaction[list[str]]:
    """The nodes whose newest finished run failed, by name."""
    return [node for (node,) in (yield queries.FAILING(limit=limit))]


def _list_pages(report: str, after: int, limit: int) -> Transaction[list[StoredEventPage]]:
    rows = yield queries.PAGES(id=report, after_number=after, limit=limit)
    return [StoredEventPage(first, last, decompress(body)) for first, last, body in rows]


def _list_events(resource: str, status: str, before: ReportCursor, limit: int) -> Transaction[list[EventRow]]:
    cursor = {"before_at": to_micros(before.at), "before_id": before.id, "before_number": before.number, "limit": limit}
    if resource:
        rows = yield queries.EVENTS_OF(resource=resource, status=status, **cursor)
    else:
        rows = yield queries.EVENTS_FAILED(**cursor)
    return [
        EventRow(node, report, number, name, ended, bool(is_corrective), from_micros(at), message)
        for node, report, number, name, ended, is_corrective, at, message in rows
    ]


def _stored(row: Row, detail: bytes) -> StoredReport:
    columns = dict(zip(_NAMES, row, strict=False))
    return StoredReport(_row(row), from_micros(columns["received_at"]), from_micros(columns["heard_at"]), detail)


_NAMES = tuple(name.strip() for name in queries.COLUMNS.split(","))
# Columns that the view shows unchanged.
_PLAIN = tuple(name for name in _NAMES if name in ReportRow.__struct_fields__ and not name.startswith("is_"))


def _row(row: Row) -> ReportRow:
    columns = dict(zip(_NAMES, row, strict=False))
    plain = {name: columns[name] for name in _PLAIN}
    return ReportRow(
        **plain
        | {
            "order": columns["order_id"],
            "is_complete": bool(columns["is_complete"]),
            "is_stale": bool(columns["is_stale"]),
            "began_at": from_micros(columns["began_at"]),
            "ended_at": from_optional_micros(columns["ended_at"]),
            "seconds": None if columns["took"] is None else columns["took"] / 1e6,
            "lost": max(0, columns["events"] - columns["got"]),
        }
    )


# Read by every viewer that watches a run.
BY_ID = Lookup(queries.ONE, queries.SOME, _row)
