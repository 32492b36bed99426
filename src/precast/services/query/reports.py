"""Queries over reports, newest first: of a node, with failures, of an age.

What no index leads to is looked at one by one, for a limited time.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.services.query import issues
from precast.services.query.matching import ABSENT, Test, matcher
from precast.store.engine.database import Database
from precast.store.reports.views import Place, ReportReader, Wanted
from precast.wire.identity.names import matches
from precast.wire.query.targets import And, Comparison, Has, Named, Referred, Term
from precast.wire.reports.views import ReportRow

PAGE = 500
TIME_S = 20.0
# A node tells of a run when it can. One that is told later than this is looked for by something else than its age.
LATE = timedelta(days=1)
_OTHER_NAMES = {"at": "began_at", "stale": "is_stale", "complete": "is_complete"}


class After(msgspec.Struct, frozen=True, array_like=True):
    """The report after which a page begins: when we heard of it, in microseconds, and its id."""

    at: int
    id: str


def outcome_of(report: ReportRow) -> str:
    """One word for how a run went, the worst that is true."""
    if report.state != "ended":
        return report.state
    return next((word for word in ("failed", "pending", "changed") if getattr(report, word)), "unchanged")


class ReportReading:
    """Reads reports."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def looking_up(self, parts: tuple[str, ...]) -> Callable[[ReportRow], Any]:
        (name,) = parts
        if name == "age":
            return lambda one: (self._now - one.began_at).total_seconds()
        if name == "outcome":
            return outcome_of
        name = _OTHER_NAMES.get(name, name)
        return lambda one: ABSENT if (value := getattr(one, name)) is None else value

    def standing(self, term: Named | Referred | Has) -> Test:
        assert isinstance(term, Named), "of reports, names of nodes stand by themselves"
        return lambda one: matches(term.text, one.node) if term.is_glob else bool(one.node == term.text)


class ReportSearch:
    """Holds no state between calls."""

    def __init__(self, database: Database, reader: ReportReader) -> None:
        self._database, self._reader = database, reader

    async def found(self, term: Term | None, after: After | None) -> AsyncIterator[tuple[ReportRow, After]]:
        """Reports that fit, each with the place after it. Raises InputError QUERY-005."""
        now = self._database.clock.now()
        test = matcher(term, ReportReading(now)) if term is not None else lambda _: True
        place = Place(now + LATE) if after is None else Place(from_micros(after.at), after.id)
        wanted, until = _leading(term), _until(term, now)
        started_s = self._database.clock.monotonic_s()
        while page := await self._reader.newest(wanted, place, PAGE):
            for one in page:
                if until is not None and one.received_at < until:
                    return
                place = Place(one.received_at, one.row.id)
                if test(one.row):
                    yield one.row, After(to_micros(one.received_at), one.row.id)
            if self._database.clock.monotonic_s() - started_s > TIME_S:
                raise issues.TOO_SLOW.error(seconds=TIME_S)


def _conjuncts(term: Term | None) -> Iterator[Term]:
    """What must hold, each by itself."""
    if isinstance(term, And):
        for one in term.terms:
            yield from _conjuncts(one)
    elif term is not None:
        yield term


def _leading(term: Term | None) -> Wanted:
    """By which index the reports come: those of a node, those with failures, or all."""
    node, is_failed = "", False
    for one in _conjuncts(term):
        if isinstance(one, Named) and not one.is_glob:
            node = one.text
        elif isinstance(one, Comparison):
            field, sign, value = str(one.field), one.sign, one.value.value
            if field == "node" and sign == "=":
                node = str(value)
            is_failed |= (field, sign, value) in (("outcome", "=", "failed"), ("failed", ">", 0), ("failed", ">=", 1))
    return Wanted(node=node, is_failed=is_failed)


def _until(term: Term | None, now: datetime) -> datetime | None:
    """Before when nothing can fit."""
    for one in _conjuncts(term):
        if isinstance(one, Comparison) and str(one.field) == "age" and one.sign in ("<", "<="):
            return now - timedelta(seconds=float(one.value.value)) - LATE
    return None
