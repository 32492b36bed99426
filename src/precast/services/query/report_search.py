"""Queries over reports, newest first: by node, by failures, by age.

Reports that no index selects are checked one by one, within a time limit.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from precast.base.clock import END_OF_TIME, from_micros, to_micros
from precast.services.query import issues
from precast.services.query.predicates import ABSENT, Predicate, compile_predicate
from precast.store.engine.database import Database
from precast.store.reports.views import ReportCursor, ReportFilter, ReportReader
from precast.wire.identity.names import matches
from precast.wire.query.targets import And, Comparison, HasResource, NodeName, ResourceReference, Term
from precast.wire.reports.views import ReportRow

PAGE = 500
TIME_S = 20.0
# A disconnected node reports a run later. A query by age finds only runs that were reported within this time.
LATE = timedelta(days=1)
_OTHER_NAMES = {"at": "began_at", "stale": "is_stale", "complete": "is_complete"}


class ReportPageCursor(msgspec.Struct, frozen=True, array_like=True):
    """The report after which a page begins: when it was received, in microseconds, and its id."""

    at: int
    id: str


def outcome_of(report: ReportRow) -> str:
    """The outcome of a run in one word, the worst that applies."""
    if report.state != "ended":
        return report.state
    return next((word for word in ("failed", "pending", "changed") if getattr(report, word)), "unchanged")


class ReportFieldReader:
    """Reads the fields of reports."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def reader_for(self, parts: tuple[str, ...]) -> Callable[[ReportRow], Any]:
        (name,) = parts
        if name == "age":
            return lambda report: (self._now - report.began_at).total_seconds()
        if name == "outcome":
            return outcome_of
        name = _OTHER_NAMES.get(name, name)
        return lambda report: ABSENT if (value := getattr(report, name)) is None else value

    def standalone_predicate(self, term: NodeName | ResourceReference | HasResource) -> Predicate:
        assert isinstance(term, NodeName), "a plain word in a query over reports is the name of a node"
        return lambda report: matches(term.text, report.node) if term.is_glob else bool(report.node == term.text)


class ReportSearch:
    """Searches reports; holds no state between calls."""

    def __init__(self, database: Database, reader: ReportReader) -> None:
        self._database, self._reader = database, reader

    async def find(
        self, term: Term | None, after: ReportPageCursor | None
    ) -> AsyncIterator[tuple[ReportRow, ReportPageCursor]]:
        """Yield matching reports, each with the cursor after it. Raises InputError QUERY-005."""
        now = self._database.clock.now()
        test = compile_predicate(term, ReportFieldReader(now)) if term is not None else lambda _: True
        cursor = ReportCursor(END_OF_TIME) if after is None else ReportCursor(from_micros(after.at), after.id)
        index_filter, oldest = _index_filter(term), _oldest(term, now)
        started_s = self._database.clock.monotonic_s()
        while page := await self._reader.list_newest(index_filter, cursor, PAGE):
            for stored in page:
                if oldest is not None and stored.received_at < oldest:
                    return
                cursor = ReportCursor(stored.received_at, stored.row.id)
                if test(stored.row):
                    yield stored.row, ReportPageCursor(to_micros(stored.received_at), stored.row.id)
            if self._database.clock.monotonic_s() - started_s > TIME_S:
                raise issues.TOO_SLOW.error(seconds=TIME_S)


def _conjuncts(term: Term | None) -> Iterator[Term]:
    """The terms that must all match."""
    if isinstance(term, And):
        for operand in term.terms:
            yield from _conjuncts(operand)
    elif term is not None:
        yield term


def _index_filter(term: Term | None) -> ReportFilter:
    """Choose the index to read: the reports of a node, those with failures, or all."""
    node, is_failed = "", False
    for operand in _conjuncts(term):
        if isinstance(operand, NodeName) and not operand.is_glob:
            node = operand.text
        elif isinstance(operand, Comparison):
            field, sign, value = str(operand.field), operand.sign, operand.value.value
            if field == "node" and sign == "=":
                node = str(value)
            is_failed |= (field, sign, value) in (("outcome", "=", "failed"), ("failed", ">", 0), ("failed", ">=", 1))
    return ReportFilter(node=node, is_failed=is_failed)


def _oldest(term: Term | None, now: datetime) -> datetime | None:
    """The time before which no received report can match."""
    for operand in _conjuncts(term):
        if isinstance(operand, Comparison) and str(operand.field) == "age" and operand.sign in ("<", "<="):
            return now - timedelta(seconds=float(operand.value.value)) - LATE
    return None
