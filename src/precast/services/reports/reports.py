"""The report service: stores what nodes report about their runs.

The records of one report in a batch are merged into one update before they are written, so a run whose records arrive together is one row.
A node numbers its events without gaps; a gap in the database is what the node had to drop, and is shown as such. A report whose end does
not arrive is ended by the next run of its node, or after a deadline; if its end arrives after all, it replaces that.
"""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.reports.reports import EventPage, IndexedEvent, Reports, ReportUpdate, ResourceCounts, RunOutcome
from precast.wire.reports.events import ResourceReport, Status, Summary
from precast.wire.reports.records import RunBegan, RunEnded, RunEvents, SlowResource
from precast.wire.sessions import FactsWanted

# The searchable texts are truncated to this length; the page has them whole.
MAX_RESOURCE = 500
MAX_MESSAGE = 1_000
# In the order of the fields of ResourceCounts.
COUNTED = [status.value for status in (Status.CHANGED, Status.NOOP, Status.FAILED, Status.SKIPPED, Status.WAITING)]
STATUSES = {status: status.value for status in Status}  # a dictionary is faster than the attribute
NO_COUNTS = ResourceCounts()


class ReportDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a report that is shown and never searched, as it is stored."""

    refreshed: int = 0
    unchanged: int = 0
    stale_since: str = ""
    stale_why: str = ""
    phases: dict[str, float] = {}
    slowest: list[SlowResource] = []


class EndedReport(NamedTuple):
    """A report that has ended, for handlers in the same transaction."""

    node: str
    report: str
    order: str


# Called in the transaction that stores the ends of reports.
EndedReportsHandler = Callable[[Sequence[EndedReport]], Transaction[None]]
# Called in the transaction that stores an update of a run that a job ordered.
OrderedRunsHandler = Callable[[Sequence[ReportUpdate]], Transaction[None]]


def prepare_began(node: str, body: RunBegan) -> ReportUpdate:
    return ReportUpdate(node, body.report, _clean(body), msgspec.json.encode(_staleness(body)))


def prepare_events(node: str, body: RunEvents) -> ReportUpdate:
    pages = _pages(body.first, body.reports)
    return ReportUpdate(node, body.report, pages=pages, counted=_count(pages))


def prepare_ended(node: str, body: RunEnded) -> ReportUpdate:
    began = _clean(body.began)
    finished = RunOutcome(
        state=body.how,
        ended_at=body.ended_at,
        took_s=body.summary.seconds if body.summary is not None else None,
        counted=_counts_of(body.summary) if body.summary is not None else None,
        resources=max(began.resources, body.summary.resources if body.summary is not None else 0),
        is_complete=body.summary is not None and body.summary.is_complete,
        events=body.events,
        why=_plain(body.why),
        detail=msgspec.json.encode(_detail(body)),
    )
    pages = _pages(max(1, body.events - len(body.reports) + 1), body.reports)
    return ReportUpdate(
        node, began.report, began, pages=pages, counted=_count(pages), finished=finished, rest=body.rest
    )


class ReportService:
    """Stores the reports of nodes; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        reports: Reports,
        on_ended: Sequence[EndedReportsHandler] = (),
        on_ordered: Sequence[OrderedRunsHandler] = (),
    ) -> None:
        self._database = database
        self._reports = reports
        self._on_ended = on_ended
        self._on_ordered = on_ordered

    def store(self, updates: Sequence[tuple[str, ReportUpdate]]) -> Transaction[Sequence[FactsWanted | None]]:
        """Store updates of reports, as part of the transaction that stores the positions of the nodes' streams."""
        merged: dict[tuple[str, str], ReportUpdate] = {}
        for node, update in updates:
            key = (node, update.report)
            merged[key] = _merge(merged[key], update) if key in merged else update
        yield from self._reports.store(list(merged.values()))
        ended = [
            EndedReport(update.node, update.report, update.began.order if update.began is not None else "")
            for update in merged.values()
            if update.finished is not None
        ]
        if ended:
            for handle_ended in self._on_ended:
                yield from handle_ended(ended)
        ordered = [update for update in merged.values() if update.began is not None and update.began.order]
        if ordered:
            for handle_ordered in self._on_ordered:
                yield from handle_ordered(ordered)
        return [None] * len(updates)


def _merge(known: ReportUpdate, new: ReportUpdate) -> ReportUpdate:
    """Two updates of one report as one, in the order of their arrival."""
    return ReportUpdate(
        known.node,
        known.report,
        new.began or known.began,
        new.detail if new.began is not None else known.detail,
        [*known.pages, *new.pages],
        _add(known.counted, new.counted),
        new.finished or known.finished,
        new.rest or known.rest,
    )


def _add(left: ResourceCounts, right: ResourceCounts) -> ResourceCounts:
    if left == NO_COUNTS or right == NO_COUNTS:
        return right if left == NO_COUNTS else left
    return ResourceCounts(*map(operator.add, msgspec.structs.astuple(left), msgspec.structs.astuple(right)))


def _count(pages: Sequence[EventPage]) -> ResourceCounts:
    index = [event for page in pages for event in page.index]
    statuses = [event.status for event in index]
    changed, pending, failed, skipped, waiting = map(statuses.count, COUNTED)
    return ResourceCounts(changed, pending, failed, skipped, waiting, sum([event.is_corrective for event in index]))


def _counts_of(summary: Summary) -> ResourceCounts:
    return ResourceCounts(
        summary.changed, summary.noop, summary.failed, summary.skipped, summary.waiting, summary.corrective
    )


def _pages(first: int, reports: Sequence[ResourceReport]) -> list[EventPage]:
    if not reports:
        return []
    return [
        EventPage(
            first,
            msgspec.json.encode(reports),
            [_index(number, report) for number, report in enumerate(reports, first)],
        )
    ]


def _index(number: int, report: ResourceReport) -> IndexedEvent:
    message = ""
    if report.status is Status.FAILED:
        message = next((event.message for event in report.events if event.status == "failure"), report.reason or "")
    resource = _plain(report.resource[:MAX_RESOURCE])
    return IndexedEvent(number, resource, STATUSES[report.status], report.is_corrective, _plain(message[:MAX_MESSAGE]))


def _staleness(began: RunBegan) -> ReportDetail:
    return ReportDetail(
        stale_since=began.stale_since.isoformat() if began.stale_since is not None else "",
        stale_why=_plain(began.stale_why),
    )


def _detail(body: RunEnded) -> ReportDetail:
    stale, summary = _staleness(body.began), body.summary
    return ReportDetail(
        summary.refreshed if summary is not None else 0,
        summary.unchanged if summary is not None else 0,
        stale.stale_since,
        stale.stale_why,
        body.timings.phases,
        body.timings.slowest,
    )


def _clean(began: RunBegan) -> RunBegan:
    """The beginning of a run without NUL characters, which PostgreSQL cannot store; nearly always the same object."""
    if "\0" not in began.order + began.catalog + began.environment + began.version:
        return began
    texts = {name: getattr(began, name) for name in ("order", "catalog", "environment", "version")}
    replace = partial(msgspec.structs.replace, began)
    return replace(**{name: _plain(text) for name, text in texts.items()})


def _plain(text: str) -> str:
    return text.replace("\0", "�") if "\0" in text else text
