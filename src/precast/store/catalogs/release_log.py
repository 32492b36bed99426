"""The log of releases: each release and each rollback over the fleet once, with its number, however many nodes it has.

A release over many nodes is several transactions, a page of nodes each. The log counts the nodes that are done, and has no end time until
all of them are.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Row, Transaction, json_list

RELEASE, ROLLBACK = "release", "rollback"

ADD = Query(
    "catalogs.log_release",
    """
    INSERT INTO release_log (kind, began_at, actor, why, targets, point, request, nodes, versions)
    VALUES (:kind, :now, :actor, :why, :targets, :point, :approved, 0, '[]') RETURNING number
    """,
    postgresql="""
    INSERT INTO release_log (number, kind, began_at, actor, why, targets, point, request, nodes, versions)
    VALUES (nextval('release_number'), :kind, :now, :actor, :why, :targets, :point, :approved, 0, '[]') RETURNING number
    """,
)
COUNT = Query(
    "catalogs.count_released",
    "UPDATE release_log SET nodes = nodes + :count, versions = :versions WHERE number = :number",
)
FINISH = Query(
    "catalogs.finish_release",
    "UPDATE release_log SET finished_at = :now WHERE number = :number AND finished_at IS NULL",
)
FIND = Query(
    "catalogs.logged_release",
    """
    SELECT number, kind, began_at, finished_at, actor, why, targets, point, request, nodes, versions
    FROM release_log WHERE number = :number
    """,
)
LOCK = Query("catalogs.lock_release", "UPDATE release_log SET kind = kind WHERE number = :number")
LIST = Query(
    "catalogs.log",
    """
    SELECT number, kind, began_at, finished_at, actor, why, targets, point, request, nodes, versions
    FROM release_log WHERE number < :before_number ORDER BY number DESC LIMIT :limit
    """,
)
UNUSED = Query(
    "catalogs.unused_log",
    """
    -- Old entries without a release of any node, except the last one: its number is not used again.
    SELECT number FROM release_log WHERE number > :after_number AND began_at < :before_at
        AND NOT EXISTS (SELECT 1 FROM node_release WHERE node_release.release = release_log.number)
        AND number < (SELECT max(number) FROM release_log)
    ORDER BY number LIMIT :limit
    """,
)
DELETE = Query(
    "catalogs.delete_log",
    "DELETE FROM release_log WHERE number IN (SELECT value FROM json_each(:numbers))",
    postgresql="""
    DELETE FROM release_log
    WHERE number = ANY (ARRAY(SELECT CAST(jsonb_array_elements_text(CAST(:numbers AS JSONB)) AS BIGINT)))
    """,
)


class CodeVersion(NamedTuple):
    """A version of an environment's code, with its commit if it came from a repository."""

    environment: str
    version: str
    commit: str | None


class NewLogEntry(msgspec.Struct, frozen=True):
    """What begins a release or a rollback."""

    kind: str
    actor: str
    why: str
    targets: str = "{}"
    point: str = ""
    request: str = ""


class LogEntry(msgspec.Struct, frozen=True):
    """A release or rollback over the fleet."""

    number: int
    kind: str
    began_at: datetime
    finished_at: datetime | None
    actor: str
    why: str
    targets: str
    point: str
    request: str
    nodes: int
    versions: list[CodeVersion]


class ReleaseLog:
    """The log of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, entry: NewLogEntry) -> Transaction[int]:
        """Begin a release or rollback. Returns its number. It follows the locks of the nodes."""
        values = msgspec.structs.asdict(entry)
        approved, now = values.pop("request"), to_micros(self._database.clock.now())
        ((number,),) = yield ADD(**values, approved=approved, now=now)
        return int(number)

    def count(self, number: int, nodes: int, versions: Sequence[CodeVersion]) -> Transaction[None]:
        """Add nodes that are done, and set the versions of their code."""
        yield COUNT(number=number, count=nodes, versions=msgspec.json.encode(versions).decode())

    def finish(self, number: int) -> Transaction[None]:
        yield FINISH(number=number, now=to_micros(self._database.clock.now()))

    def find(self, number: int) -> Transaction[LogEntry | None]:
        rows = yield FIND(number=number)
        return _entry(rows[0]) if rows else None

    def lock(self, number: int) -> Transaction[None]:
        """Lock an entry until the commit: two clients that continue it do so one after the other."""
        yield LOCK(number=number)

    def list_entries(self, before: int, limit: int) -> Transaction[list[LogEntry]]:
        """List the entries below a number, the newest first."""
        return [_entry(row) for row in (yield LIST(before_number=before, limit=limit))]

    def list_unused(self, before: datetime, after: int, limit: int) -> Transaction[list[int]]:
        """List entries that began before a time, without a release of any node."""
        rows = yield UNUSED(before_at=to_micros(before), after_number=after, limit=limit)
        return [row[0] for row in rows]

    def delete(self, numbers: Sequence[int]) -> Transaction[None]:
        """Delete entries. Raises ConflictError STORE-009 if one of them has just got a release."""
        yield DELETE(numbers=json_list(numbers))


def _entry(row: Row) -> LogEntry:
    number, kind, began, finished, actor, why, targets, point, request, nodes, versions = row
    finished_at = None if finished is None else from_micros(finished)
    known = msgspec.json.decode(versions, type=list[CodeVersion])
    return LogEntry(number, kind, from_micros(began), finished_at, actor, why, targets, point, request, nodes, known)
