"""Reports of runs: what nodes tell is stored by many at once, each part of a report whole or not at all.

A report is one row. What happened comes in pages, stored as they came and packed, which is what people read; beside that a small row for
each resource to which something happened, which is what they search by. Everybody who stores at the same moment shares the statements, and
a run that tells everything at once costs one row.
"""

import zlib
from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import to_micros
from precast.store.engine.compression import pack
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction, Wake, json_list
from precast.store.reports import queries as queries
from precast.wire.reports.records import RunBegan

# What one changes wakes those who look at it; by part of the id, because there are too many reports for a topic each.
PARTS = 64
# Pages are joined up to this size.
PAGE_BYTES = 256 * 1024


class Counted(msgspec.Struct, frozen=True):
    """How resources ended, as far as was told."""

    changed: int = 0
    pending: int = 0
    failed: int = 0
    skipped: int = 0
    waiting: int = 0
    corrective: int = 0


class EventIndex(msgspec.Struct, frozen=True):
    """What can be searched for of one resource's report."""

    number: int
    resource: str
    status: str
    is_corrective: bool
    message: str


class EventPage(msgspec.Struct, frozen=True):
    """Events as they came together: JSON, and what can be searched for."""

    first: int
    body: bytes
    index: Sequence[EventIndex]

    @property
    def last(self) -> int:
        return self.first + len(self.index) - 1


class Finished(msgspec.Struct, frozen=True):
    """How a run ended; without `counted` what was told so far stays."""

    state: str
    ended_at: datetime
    took_s: float | None
    counted: Counted | None
    resources: int
    is_complete: bool
    events: int
    why: str
    detail: bytes


class Told(msgspec.Struct, frozen=True):
    """What one node told of one report, as much as came together."""

    node: str
    report: str
    began: RunBegan | None = None
    detail: bytes = b"{}"
    pages: Sequence[EventPage] = ()
    counted: Counted = Counted()
    finished: Finished | None = None
    rest: bytes = b""  # names of resources to which nothing happened, packed by the node

    @property
    def got(self) -> int:
        return sum(len(page.index) for page in self.pages)


class Reports:
    """The reports of all nodes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def storing(self, told: Sequence[Told]) -> Transaction[None]:
        """Store what was told. Of one report there is one entry."""
        now = to_micros(self._database.clock.now())
        # Always in the order of ids, so that two servers wait for each other and never in a circle.
        told = sorted(told, key=lambda one: one.report)
        begun = [one for one in told if one.finished is None and one.began is not None]
        if begun:
            yield queries.BEGIN.many(_begin_row(one, now) for one in begun)
            yield queries.SUPERSEDE.many({"node": one.node, "id": one.report, "now": now} for one in begun)
        if running := [one for one in told if one.finished is None and one.pages]:
            yield queries.GO_ON.many(_go_on_row(one, now) for one in running)
        finished = [(one, one.finished) for one in told if one.finished is not None]
        if counted := [_finish_row(one, end, end.counted, now) for one, end in finished if end.counted is not None]:
            yield queries.FINISH.in_order(counted)
        if uncounted := [_finish_row(one, end, one.counted, now) for one, end in finished if end.counted is None]:
            yield queries.FINISH_UNCOUNTED.in_order(uncounted)
        if paged := [one for one in told if one.pages or one.rest]:
            yield from self._storing_pages(paged, now)
        for topic in sorted({topic_of(one.report) for one in told}):
            yield Wake(topic)
        yield Wake(ANY)

    def _storing_pages(self, told: Sequence[Told], now: int) -> Transaction[None]:
        owners = {row[0]: row[1] for row in (yield queries.OWNED(ids=json_list(one.report for one in told)))}
        mine = [one for one in told if owners.get(one.report) == one.node]
        pages = [
            (one.report, page.first, now, page.last, pack(page.body)) for one in mine for page in _joined(one.pages)
        ]
        # The rest lies before the first event, so that nobody who reads events comes upon it.
        pages += [(one.report, 0, now, 0, one.rest) for one in mine if one.rest]
        yield queries.ADD_PAGE.in_order(pages)
        events = {
            (one.report, event.number): (
                one.report,
                event.number,
                now,
                one.node,
                event.resource,
                event.status,
                int(event.is_corrective),
                event.message,
            )
            for one in mine
            for page in one.pages
            for event in page.index
        }
        if events:
            yield queries.ADD_EVENT.in_order(list(events.values()))

    async def break_off(self, before: datetime, why: str) -> int:
        """End runs of which nothing was heard since a moment; how many."""
        return await self._database.write(self._breaking_off, before, why)

    def _breaking_off(self, before: datetime, why: str) -> Transaction[int]:
        now = to_micros(self._database.clock.now())
        rows = yield queries.BREAK_OFF(before_at=to_micros(before), why=why, now=now)
        for (report,) in rows:
            yield Wake(topic_of(report))
        return len(rows)

    async def trim(self, before: datetime, limit: int) -> int:
        """Remove some of the oldest reports, pages and events before a moment; how many."""
        return await self._database.write(_trimming, before, limit)


def _joined(pages: Sequence[EventPage]) -> list[EventPage]:
    """Pages that follow each other as one: what came together is stored and read together."""
    found: list[EventPage] = []
    for page in pages:
        if found and found[-1].last + 1 == page.first and len(found[-1].body) + len(page.body) <= PAGE_BYTES:
            before = found.pop()
            page = EventPage(before.first, before.body[:-1] + b"," + page.body[1:], [*before.index, *page.index])
        found.append(page)
    return found


ANY = "reports"


def topic_of(report: str) -> str:
    """What those who look at a report subscribe to; others may share it."""
    return f"report.{zlib.crc32(report.encode()) % PARTS}"


def forgetting(node: str) -> Transaction[None]:
    """Remove everything that a node has ever told of its runs."""
    for query in (queries.FORGET_PAGES, queries.FORGET_EVENTS, queries.FORGET):
        yield query(node=node)


def _trimming(before: datetime, limit: int) -> Transaction[int]:
    at, count = to_micros(before), 0
    for query in (queries.TRIM_EVENTS, queries.TRIM_PAGES, queries.TRIM_REPORTS):
        count += len((yield query(before_at=at, limit=limit)))
    return count


def _begin_row(one: Told, now: int) -> dict[str, object]:
    began = one.began
    assert began is not None, "chosen by it"
    return {
        "id": one.report,
        "node": one.node,
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
        "detail": pack(one.detail),
    }


def _go_on_row(one: Told, now: int) -> dict[str, object]:
    row: dict[str, object] = {"id": one.report, "node": one.node, "now": now, "detail": b"{}"}
    return row | msgspec.structs.asdict(one.counted) | {"events": one.pages[-1].last, "got": one.got}


def _finish_row(one: Told, end: Finished, counted: Counted, now: int) -> tuple[object, ...]:
    began = one.began
    assert began is not None, "the end of a run says how it began"
    return (
        one.report,
        one.node,
        end.state,
        began.mode,
        began.reason,
        began.order,
        began.catalog,
        began.release,
        began.environment,
        began.version,
        end.resources,
        counted.changed,
        counted.pending,
        counted.failed,
        counted.skipped,
        counted.waiting,
        counted.corrective,
        int(end.is_complete),
        int(began.is_stale),
        end.events,
        one.got,
        to_micros(began.began_at),
        to_micros(end.ended_at),
        None if end.took_s is None else round(end.took_s * 1e6),
        now,
        now,
        end.why,
        pack(end.detail),
    )
