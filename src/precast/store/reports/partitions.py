"""The parts of the tables of reports on PostgreSQL: one a day, so that forgetting a day is dropping two tables. SQLite has none.

A part is made days before anything falls into it. What comes when there is none lies in the part for the rest, and keeps a part for
that day from being made: it stays there and is removed row by row.
"""

from datetime import UTC, datetime, timedelta

from precast.base.clock import to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction

TABLES = ("report_page", "report_event")
AHEAD = 3
DAY = timedelta(days=1)

PARTS = Query(
    "reports.parts",
    """
    SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass(:name) ORDER BY c.relname
    """,
)
REST = {
    table: Query(f"reports.rest_{table}", f"SELECT 1 FROM {table}_rest WHERE at >= :since AND at < :until LIMIT 1")
    for table in TABLES
}


class ReportPartitions:
    """Makes and drops the parts of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._prepared = ""  # the day for which everything is there

    async def prepare(self, now: datetime) -> int:
        """See that there are parts for today and the days to come; how many were made."""
        day = f"{now:%Y%m%d}"
        if self._database.dialect is not Dialect.POSTGRESQL or day == self._prepared:
            return 0
        count = 0
        for ahead in range(AHEAD + 1):
            for table in TABLES:
                count += await self._database.write(_making, table, now + ahead * DAY)
        self._prepared = day
        return count

    async def drop(self, before: datetime) -> int:
        """Drop the parts that only hold what is older; how many."""
        if self._database.dialect is not Dialect.POSTGRESQL:
            return 0
        return sum([await self._database.write(_dropping, table, before) for table in TABLES])


def _parts(table: str) -> Transaction[set[str]]:
    return {row[0] for row in (yield PARTS(name=table))}


def _name(table: str, day: datetime) -> str:
    return f"{table}_{day.astimezone(UTC):%Y%m%d}"


def _making(table: str, day: datetime) -> Transaction[int]:
    name = _name(table, day)
    since = datetime(*day.astimezone(UTC).timetuple()[:3], tzinfo=UTC)
    first, last = to_micros(since), to_micros(since + DAY)
    if name in (yield from _parts(table)) or (yield REST[table](since=first, until=last)):
        return 0
    yield Query(
        "reports.make_part",
        f"CREATE TABLE IF NOT EXISTS {name} PARTITION OF {table} FOR VALUES FROM ({first}) TO ({last})",
    )()
    return 1


def _dropping(table: str, before: datetime) -> Transaction[int]:
    """A part is named by its day, and holds what is before the next one."""
    limit = _name(table, before)
    old = sorted(name for name in (yield from _parts(table)) if name < limit and name != f"{table}_rest")
    for name in old:
        yield Query("reports.drop_part", f"DROP TABLE IF EXISTS {name}")()
    return len(old)
