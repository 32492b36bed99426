"""Reports as people look at them: lists, one report, its events from any number on, and what happened to a resource anywhere."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.compression import unpack
from precast.store.engine.database import Database
from precast.store.engine.lookup import Lookup
from precast.store.engine.query import Query, Row, Transaction, json_list
from precast.store.reports import queries as queries
from precast.wire.reports.views import EventRow, ReportRow

_LAST = "~"  # after every id


class Wanted(msgspec.Struct, frozen=True):
    """Which reports are asked for; what is empty does not matter."""

    node: str = ""
    order: str = ""
    state: str = ""
    environment: str = ""
    is_failed: bool = False
    is_changed: bool = False


class Place(msgspec.Struct, frozen=True):
    """A place in a list from the newest on."""

    at: datetime
    id: str = _LAST
    number: int = 0


class Stored(msgspec.Struct, frozen=True):
    """A report, when we heard of it, its details as JSON, and the names of the rest as the node has packed them."""

    row: ReportRow
    received_at: datetime
    heard_at: datetime
    detail: bytes
    rest: bytes = b""


class Page(msgspec.Struct, frozen=True):
    """Events from a number on, as JSON."""

    first: int
    last: int
    body: bytes


class ReportReader:
    """Reads the reports of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def show(self, report: str) -> Stored | None:
        return await self._database.read(_showing, report)

    async def newest(self, wanted: Wanted, before: Place, limit: int) -> list[Stored]:
        """Those that are asked for, newest first, without details."""
        return await self._database.read(_listing, wanted, before, limit)

    async def row(self, report: str) -> ReportRow | None:
        """How a report stands."""
        return await self._database.find(BY_ID, report)

    async def pages(self, report: str, after: int, limit: int) -> list[Page]:
        """Pages with events above a number."""
        return await self._database.read(_reading_pages, report, after, limit)

    async def events(self, resource: str, status: str, before: Place, limit: int) -> list[EventRow]:
        """What happened to a resource on any node, newest first; without one, what failed."""
        return await self._database.read(_reading_events, resource, status, before, limit)


def _showing(report: str) -> Transaction[Stored | None]:
    rows = yield queries.SHOW(id=report)
    if not rows:
        return None
    rest = yield queries.REST(id=report)
    return msgspec.structs.replace(_stored(rows[0], unpack(rows[0][-1])), rest=bytes(rest[0][0]) if rest else b"")


def _listing(wanted: Wanted, before: Place, limit: int) -> Transaction[list[Stored]]:
    leading, values = _leading(wanted)
    rows = yield leading(
        before_at=to_micros(before.at),
        before_id=before.id,
        state=wanted.state,
        environment=wanted.environment,
        is_failed=int(wanted.is_failed),
        is_changed=int(wanted.is_changed),
        limit=limit,
        **values,
    )
    return [_stored(row, b"{}") for row in rows]


def _leading(wanted: Wanted) -> tuple[Query, dict[str, str]]:
    """The query whose index leaves the least over."""
    if wanted.order:
        return queries.LIST_ORDER, {"order_id": wanted.order}
    if wanted.node:
        return queries.LIST_NODE, {"node": wanted.node}
    if wanted.is_failed:
        return queries.LIST_FAILED, {}
    return (queries.LIST_CHANGED if wanted.is_changed else queries.LIST_ALL), {}


def reading_latest(nodes: Sequence[str]) -> Transaction[dict[str, ReportRow]]:
    """The newest report of each of some nodes; absent where there is none."""
    found = [_row(row) for row in (yield queries.LATEST(nodes=json_list(nodes)))]
    return {one.node: one for one in found}


def _reading_pages(report: str, after: int, limit: int) -> Transaction[list[Page]]:
    rows = yield queries.PAGES(id=report, after_number=after, limit=limit)
    return [Page(first, last, unpack(body)) for first, last, body in rows]


def _reading_events(resource: str, status: str, before: Place, limit: int) -> Transaction[list[EventRow]]:
    place = {"before_at": to_micros(before.at), "before_id": before.id, "before_number": before.number, "limit": limit}
    if resource:
        rows = yield queries.EVENTS_OF(resource=resource, status=status, **place)
    else:
        rows = yield queries.EVENTS_FAILED(**place)
    return [
        EventRow(node, report, number, found, ended, bool(is_corrective), from_micros(at), message)
        for node, report, number, found, ended, is_corrective, at, message in rows
    ]


def _stored(row: Row, detail: bytes) -> Stored:
    found = dict(zip(_NAMES, row, strict=False))
    return Stored(_row(row), from_micros(found["received_at"]), from_micros(found["heard_at"]), detail)


_NAMES = tuple(name.strip() for name in queries.COLUMNS.split(","))
# Columns that a view has as they are.
_PLAIN = tuple(name for name in _NAMES if name in ReportRow.__struct_fields__ and not name.startswith("is_"))


def _row(row: Row) -> ReportRow:
    found = dict(zip(_NAMES, row, strict=False))
    plain = {name: found[name] for name in _PLAIN}
    return ReportRow(
        **plain
        | {
            "order": found["order_id"],
            "is_complete": bool(found["is_complete"]),
            "is_stale": bool(found["is_stale"]),
            "began_at": from_micros(found["began_at"]),
            "ended_at": from_optional_micros(found["ended_at"]),
            "seconds": None if found["took"] is None else found["took"] / 1e6,
            "lost": max(0, found["events"] - found["got"]),
        }
    )


# Asked for by everybody who watches a run.
BY_ID = Lookup(queries.ONE, queries.SOME, _row)
