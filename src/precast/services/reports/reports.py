"""The report service: takes in what nodes tell of their runs.

What comes together of one report is folded into one entry before anything is written, so a run that tells everything at once is one row.
Numbers of events have no gaps on the node; a gap here is what the node had to drop, and is shown as such. A run whose end does not
come is ended by the next one of its node, or after a deadline; should its end come after all, that is what counts.
"""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.reports.reports import Counted, EventIndex, EventPage, Finished, Reports, Told
from precast.wire.reports.events import ResourceReport, Status, Summary
from precast.wire.reports.records import RunBegan, RunEnded, RunEvents, Slow
from precast.wire.sessions import Want

# What is searched for is cut here; the page has it whole.
MAX_RESOURCE = 500
MAX_MESSAGE = 1_000
# In the order in which they are counted.
COUNTED = [one.value for one in (Status.CHANGED, Status.NOOP, Status.FAILED, Status.SKIPPED, Status.WAITING)]
STATUSES = {status: status.value for status in Status}  # to ask the member takes longer
NOTHING = Counted()


class Detail(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is shown of one report and never searched for, as it is stored."""

    refreshed: int = 0
    unchanged: int = 0
    stale_since: str = ""
    stale_why: str = ""
    phases: dict[str, float] = {}
    slowest: list[Slow] = []


class Ended(NamedTuple):
    """A report that is over, for whoever wants to know in the same transaction."""

    node: str
    report: str
    order: str


# Part of the transaction that stores the ends of reports.
Hearing = Callable[[Sequence[Ended]], Transaction[None]]
# The same for what is told of runs that somebody ordered, from their beginning on.
Following = Callable[[Sequence[Told]], Transaction[None]]


def prepare_began(node: str, body: RunBegan) -> Told:
    return Told(node, body.report, _clean(body), msgspec.json.encode(_staleness(body)))


def prepare_events(node: str, body: RunEvents) -> Told:
    pages = _pages(body.first, body.reports)
    return Told(node, body.report, pages=pages, counted=_count(pages))


def prepare_ended(node: str, body: RunEnded) -> Told:
    began = _clean(body.began)
    finished = Finished(
        state=body.how,
        ended_at=body.ended_at,
        took_s=body.summary.seconds if body.summary is not None else None,
        counted=_summed(body.summary) if body.summary is not None else None,
        resources=max(began.resources, body.summary.resources if body.summary is not None else 0),
        is_complete=body.summary is not None and body.summary.is_complete,
        events=body.events,
        why=_plain(body.why),
        detail=msgspec.json.encode(_detail(body)),
    )
    pages = _pages(max(1, body.events - len(body.reports) + 1), body.reports)
    return Told(node, began.report, began, pages=pages, counted=_count(pages), finished=finished, rest=body.rest)


class ReportService:
    """Stores what nodes tell of their runs; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        reports: Reports,
        hearing: Sequence[Hearing] = (),
        following: Sequence[Following] = (),
    ) -> None:
        self._database = database
        self._reports = reports
        self._hearing = hearing
        self._following = following

    def taking(self, told: Sequence[tuple[str, Told]]) -> Transaction[Sequence[Want | None]]:
        """Store what nodes told, as a part of the transaction that notes how far their records have come."""
        folded: dict[tuple[str, str], Told] = {}
        for node, one in told:
            key = (node, one.report)
            folded[key] = _fold(folded[key], one) if key in folded else one
        yield from self._reports.storing(list(folded.values()))
        ended = [
            Ended(one.node, one.report, one.began.order if one.began is not None else "")
            for one in folded.values()
            if one.finished is not None
        ]
        if ended:
            for hear in self._hearing:
                yield from hear(ended)
        ordered = [one for one in folded.values() if one.began is not None and one.began.order]
        if ordered:
            for follow in self._following:
                yield from follow(ordered)
        return [None] * len(told)


def _fold(known: Told, new: Told) -> Told:
    """Two parts of one report, in the order they came."""
    return Told(
        known.node,
        known.report,
        new.began or known.began,
        new.detail if new.began is not None else known.detail,
        [*known.pages, *new.pages],
        _add(known.counted, new.counted),
        new.finished or known.finished,
        new.rest or known.rest,
    )


def _add(left: Counted, right: Counted) -> Counted:
    if left == NOTHING or right == NOTHING:
        return right if left == NOTHING else left
    return Counted(*map(operator.add, msgspec.structs.astuple(left), msgspec.structs.astuple(right)))


def _count(pages: Sequence[EventPage]) -> Counted:
    index = [one for page in pages for one in page.index]
    ended = [one.status for one in index]
    changed, pending, failed, skipped, waiting = map(ended.count, COUNTED)
    return Counted(changed, pending, failed, skipped, waiting, sum([one.is_corrective for one in index]))


def _summed(summary: Summary) -> Counted:
    return Counted(summary.changed, summary.noop, summary.failed, summary.skipped, summary.waiting, summary.corrective)


def _pages(first: int, reports: Sequence[ResourceReport]) -> list[EventPage]:
    if not reports:
        return []
    return [EventPage(first, msgspec.json.encode(reports), [_index(at, one) for at, one in enumerate(reports, first)])]


def _index(number: int, one: ResourceReport) -> EventIndex:
    message = ""
    if one.status is Status.FAILED:
        message = next((event.message for event in one.events if event.status == "failure"), one.reason or "")
    resource = _plain(one.resource[:MAX_RESOURCE])
    return EventIndex(number, resource, STATUSES[one.status], one.is_corrective, _plain(message[:MAX_MESSAGE]))


def _staleness(began: RunBegan) -> Detail:
    return Detail(
        stale_since=began.stale_since.isoformat() if began.stale_since is not None else "",
        stale_why=_plain(began.stale_why),
    )


def _detail(body: RunEnded) -> Detail:
    stale, summary = _staleness(body.began), body.summary
    return Detail(
        summary.refreshed if summary is not None else 0,
        summary.unchanged if summary is not None else 0,
        stale.stale_since,
        stale.stale_why,
        body.timings.phases,
        body.timings.slowest,
    )


def _clean(began: RunBegan) -> RunBegan:
    """Without what a database cannot hold; nearly always as it came."""
    if "\0" not in began.order + began.catalog + began.environment + began.version:
        return began
    texts = {name: getattr(began, name) for name in ("order", "catalog", "environment", "version")}
    replace = partial(msgspec.structs.replace, began)
    return replace(**{name: _plain(text) for name, text in texts.items()})


def _plain(text: str) -> str:
    return text.replace("\0", "�") if "\0" in text else text
