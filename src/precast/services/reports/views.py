"""Shows reports: lists, one report, and its events as they arrive.

A viewer that waits for events sleeps until the report's topic is woken, and never longer than it asked for; viewers that read at the same
time share the query, so a hundred viewers of a run cost the database little more than one.
"""

from datetime import datetime

import msgspec

from precast.base.clock import END_OF_TIME, from_micros, to_micros
from precast.services.reports import issues
from precast.services.reports.reports import ReportDetail
from precast.store.engine.database import Database
from precast.store.engine.wakeups import POLL_S
from precast.store.reports.reports import ALL_REPORTS_TOPIC, topic_of
from precast.store.reports.views import ReportCursor, ReportFilter, ReportReader
from precast.wire.reports.events import ResourceReport
from precast.wire.reports.records import decompress_rest
from precast.wire.reports.views import EventRow, EventsPage, NumberedReport, ReportRow, ReportsPage, ReportView

PAGE = 100
MAX_PAGE = 1_000
# Events in one answer; a stored page is never split, so there may be a few more.
MAX_EVENTS = 500
STORED_PAGES = 8
MAX_WAIT_S = 60.0

_FIELDS = ResourceReport.__struct_fields__


class ReportViews:
    """Reads reports; holds no state between calls."""

    def __init__(self, database: Database, reader: ReportReader) -> None:
        self._database = database
        self._reader = reader

    async def newest(
        self, report_filter: ReportFilter, after: str = "", limit: int = PAGE, wait_s: float = 0.0
    ) -> ReportsPage:
        """The reports that pass the filter, newest first; with `wait_s`, after any report has changed. Raises InputError REPORT-002."""
        if wait_s > 0:
            with self._database.wakeups.subscribe(ALL_REPORTS_TOPIC) as sleeper:
                await sleeper.wait(min(wait_s, MAX_WAIT_S))
        count = min(max(limit, 1), MAX_PAGE)
        stored = await self._reader.list_newest(report_filter, self._parse_cursor(after), count)
        last = stored[-1] if len(stored) == count else None
        cursor = None if last is None else f"{to_micros(last.received_at)}.{last.row.id}"
        return ReportsPage([report.row for report in stored], cursor)

    async def show(self, report: str) -> ReportView:
        """A report without its events. Raises NotFoundError REPORT-001."""
        stored = await self._reader.find(report)
        if stored is None:
            raise issues.NO_REPORT.error(report=report)
        detail = msgspec.json.decode(stored.detail, type=ReportDetail)
        rest = decompress_rest(stored.rest) if stored.rest else None
        return ReportView(
            report=stored.row,
            refreshed=detail.refreshed,
            received_at=stored.received_at,
            heard_at=stored.heard_at,
            stale_since=datetime.fromisoformat(detail.stale_since) if detail.stale_since else None,
            stale_why=detail.stale_why,
            phases=detail.phases,
            slowest=detail.slowest,
            unchanged=detail.unchanged,
            rest=None if rest is None else rest.unchanged,
            left_out={} if rest is None else rest.left_out,
        )

    async def events(self, report: str, after: int, wait_s: float = 0.0) -> EventsPage:
        """The events after a number; if there are none yet, wait until there are or the report has ended.

        Raises NotFoundError REPORT-001. Cancelling is safe.
        """
        row = await self._await_events(report, after, min(wait_s, MAX_WAIT_S))
        events: list[NumberedReport] = []
        pages = await self._reader.list_pages(report, after, STORED_PAGES) if row.events > after else []
        for page in pages:
            events += _numbered(page.first, page.body, after)
            if len(events) >= MAX_EVENTS:
                break
        is_all = not events or (len(events) < MAX_EVENTS and len(pages) < STORED_PAGES)
        return EventsPage(row, events, max(row.events, after) if is_all else events[-1].number)

    async def list_events(self, resource: str, status: str, after: str, limit: int = PAGE) -> list[EventRow]:
        """The events of a resource on all nodes, newest first; without a resource, the failures."""
        return await self._reader.list_events(resource, status, self._parse_cursor(after), min(max(limit, 1), MAX_PAGE))

    async def _await_events(self, report: str, after: int, wait_s: float) -> ReportRow:
        until_s = self._database.clock.monotonic_s() + wait_s
        with self._database.wakeups.subscribe(topic_of(report)) as sleeper:
            while True:
                row = await self._reader.find_row(report)
                if row is None:
                    raise issues.NO_REPORT.error(report=report)
                left_s = until_s - self._database.clock.monotonic_s()
                if row.events > after or row.is_over or left_s <= 0:
                    return row
                await sleeper.wait(min(left_s, POLL_S))

    def _parse_cursor(self, after: str) -> ReportCursor:
        if not after:
            return ReportCursor(END_OF_TIME)
        at, _, report = after.partition(".")
        report, _, number = report.partition("/")
        if not at.isdigit() or len(at) > 17 or not report or not (number or "0").isdigit() or len(number) > 9:
            raise issues.BAD_QUESTION.error(name="after", value=after[:80], problem="it is not a cursor of a list")
        return ReportCursor(from_micros(int(at)), report, int(number or 0))


def _numbered(first: int, body: bytes, after: int) -> list[NumberedReport]:
    reports = msgspec.json.decode(body, type=list[ResourceReport])
    return [
        NumberedReport(number=number, **{name: getattr(report, name) for name in _FIELDS})
        for number, report in enumerate(reports, first)
        if number > after
    ]
