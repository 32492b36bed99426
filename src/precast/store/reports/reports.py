"""Reports of runs, stored in batches: each part of a report is stored completely or not at all.

A report is one row. Its events are stored in compressed pages as the node sent them, which is what people read; beside them a small row
for each resource that an event happened to, which is what they search by. All writers of one commit share the statements, and a run
that is reported in one record costs one row.
"""

import zlib
from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import to_micros
from precast.store.engine.compression import compress
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction, Wake, json_list
from precast.store.reports import queries as queries
from precast.wire.reports.records import RunBegan

# A changed report wakes its viewers. Reports share topics by a hash of their id, because there are too many for a topic each.
TOPIC_COUNT = 64
# Consecutive pages are joined up to this size.
PAGE_BYTES = 256 * 1024


class ResourceCounts(msgspec.Struct, frozen=True):
    """How many resources ended in which state, as far as reported."""

    changed: int = 0
    pending: int = 0
    failed: int = 0
    skipped: int = 0
    waiting: int = 0
    corrective: int = 0


class IndexedEvent(msgspec.Struct, frozen=True):
    """The searchable part of one resource's report."""

    number: int
    resource: str
    status: str
    is_corrective: bool
    message: str


class EventPage(msgspec.Struct, frozen=True):
    """Events of one record: as JSON, and their searchable part."""

    first: int
    body: bytes
    index: Sequence[IndexedEvent]

    @property
    def last(self) -> int:
        return self.first + len(self.index) - 1


class RunOutcome(msgspec.Struct, frozen=True):
    """How a run ended; without `counted` the counts reported so far stay."""

    state: str
    ended_at: datetime
    took_s: float | None
    counted: ResourceCounts | None
    resources: int
    is_complete: bool
    events: int
    why: str
    detail: bytes


class ReportUpdate(msgspec.Struct, frozen=True):
    """What a transaction stores of one report: all that a node reported at once."""

    node: str
    report: str
    began: RunBegan | None = None
    detail: bytes = b"{}"
    pages: Sequence[EventPage] = ()
    counted: ResourceCounts = ResourceCounts()
    finished: RunOutcome | None = None
    rest: bytes = b""  # names of the resources without an event, compressed by the node

    @property
    def got(self) -> int:
        return sum(len(page.index) for page in self.pages)


class Reports:
    """The reports of all nodes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def store(self, updates: Sequence[ReportUpdate]) -> Transaction[None]:
        """Store updates, at most one for each report."""
        now = to_micros(self._database.clock.now())
        # Always in the order of ids, so that two servers cannot deadlock.
        updates = sorted(updates, key=lambda update: update.report)
        begun = [update for update in updates if update.finished is None and update.began is not None]
        if begun:
            yield queries.BEGIN.many(_begin_row(update, now) for update in begun)
            yield queries.SUPERSEDE.many({"node": update.node, "id": update.report, "now": now} for update in begun)
        if running := [update for update in updates if update.finished is None and update.pages]:
            yield queries.GO_ON.many(_go_on_row(update, now) for update in running)
        finished = [(update, update.finished) for update in updates if update.finished is not None]
        if counted := [
            _finish_row(update, outcome, outcome.counted, now)
            for update, outcome in finished
            if outcome.counted is not None
        ]:
            yield queries.FINISH.many_tuples(counted)
        if uncounted := [
            _finish_row(update, outcome, update.counted, now) for update, outcome in finished if outcome.counted is None
        ]:
            yield queries.FINISH_UNCOUNTED.many_tuples(uncounted)
        if paged := [update for update in updates if update.pages or update.rest]:
            yield from self._store_pages(paged, now)
        for topic in sorted({topic_of(update.report) for update in updates}):
            yield Wake(topic)
        yield Wake(ALL_REPORTS_TOPIC)

    def _store_pages(self, updates: Sequence[ReportUpdate], now: int) -> Transaction[None]:
        owners = {row[0]: row[1] for row in (yield queries.OWNED(ids=json_list(update.report for update in updates)))}
        own_updates = [update for update in updates if owners.get(update.report) == update.node]
        pages = [
            (update.report, page.first, now, page.last, compress(page.body))
            for update in own_updates
            for page in _join_pages(update.pages)
        ]
        # The rest is stored before the first event, so that a reader of events never sees it.
        pages += [(update.report, 0, now, 0, update.rest) for update in own_updates if update.rest]
        yield queries.ADD_PAGE.many_tuples(pages)
        events = {
            (update.report, event.number): (
                update.report,
                event.number,
                now,
                update.node,
                event.resource,
                event.status,
                int(event.is_corrective),
                event.message,
            )
            for update in own_updates
            for page in update.pages
            for event in page.index
        }
        if events:
            yield queries.ADD_EVENT.many_tuples(list(events.values()))

    async def break_off(self, before: datetime, why: str) -> int:
        """Mark running reports as broken off if nothing was received of them since `before`. Returns how many."""
        return await self._database.write(self._mark_broken_off, before, why)

    def _mark_broken_off(self, before: datetime, why: str) -> Transaction[int]:
        now = to_micros(self._database.clock.now())
        rows = yield queries.BREAK_OFF(before_at=to_micros(before), why=why, now=now)
        for (report,) in rows:
            yield Wake(topic_of(report))
        return len(rows)

    async def trim(self, before: datetime, limit: int) -> int:
        """Delete up to `limit` of the oldest reports, pages and events before a time. Returns how many."""
        return await self._database.write(_trim, before, limit)


def _join_pages(pages: Sequence[EventPage]) -> list[EventPage]:
    """Join consecutive pages: events that were reported together are stored and read together."""
    joined: list[EventPage] = []
    for page in pages:
        if joined and joined[-1].last + 1 == page.first and len(joined[-1].body) + len(page.body) <= PAGE_BYTES:
            before = joined.pop()
            page = EventPage(before.first, before.body[:-1] + b"," + page.body[1:], [*before.index, *page.index])
        joined.append(page)
    return joined


ALL_REPORTS_TOPIC = "reports"


def topic_of(report: str) -> str:
    """The topic that viewers of a report subscribe to; other reports may share it."""
    return f"report.{zlib.crc32(report.encode()) % TOPIC_COUNT}"


def delete_node_reports(node: str) -> Transaction[None]:
    """Delete all reports of a node."""
    for query in (queries.DELETE_PAGES, queries.DELETE_EVENTS, queries.DELETE):
        yield query(node=node)


def _trim(before: datetime, limit: int) -> Transaction[int]:
    at, count = to_micros(before), 0
    for query in (queries.TRIM_EVENTS, queries.TRIM_PAGES, queries.TRIM_REPORTS):
        count += len((yield query(before_at=at, limit=limit)))
    return count


def _begin_row(update: ReportUpdate, now: int) -> dict[str, object]:
    began = update.began
    assert began is not None, "the caller selects updates with a beginning"
    return {
        "id": update.report,
        "node": update.node,
        "now": now,
        "mode": began.mode,
        "reason": began.reason,
        "order_id": began.order,
        "catalog": began.catalog,
        "release": began.release,
        "environment": began.environment,
        "version": began.version,
        "resources": began.resources,
        "is_stale": int(began.is_stale),
        "began_at": to_micros(began.began_at),
        "detail": compress(update.detail),
    }


def _go_on_row(update: ReportUpdate, now: int) -> dict[str, object]:
    row: dict[str, object] = {"id": update.report, "node": update.node, "now": now, "detail": b"{}"}
    return row | msgspec.structs.asdict(update.counted) | {"events": update.pages[-1].last, "got": update.got}


def _finish_row(update: ReportUpdate, outcome: RunOutcome, counted: ResourceCounts, now: int) -> tuple[object, ...]:
    began = update.began
    assert began is not None, "the end of a run repeats its beginning"
    return (
        update.report,
        update.node,
        outcome.state,
        began.mode,
        began.reason,
        began.order,
        began.catalog,
        began.release,
        began.environment,
        began.version,
        outcome.resources,
        counted.changed,
        counted.pending,
        counted.failed,
        counted.skipped,
        counted.waiting,
        counted.corrective,
        int(outcome.is_complete),
        int(began.is_stale),
        outcome.events,
        update.got,
        to_micros(began.began_at),
        to_micros(outcome.ended_at),
        None if outcome.took_s is None else round(outcome.took_s * 1e6),
        now,
        now,
        outcome.why,
        compress(outcome.detail),
    )
