"""The daily partitions of the report tables on PostgreSQL, so that deleting a day drops two tables. SQLite has no partitions.

A partition is created days before its first row. Rows that are written while their day has no partition go to the default partition. They
prevent that a partition for their day is created, so they stay there and are deleted row by row.
"""

from datetime import UTC, datetime, timedelta

from precast.base.clock import to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction

TABLES = ("report_page", "report_event")
AHEAD = 3
DAY = timedelta(days=1)

PARTITIONS = Query(
    "reports.partitions",
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
    """Creates and drops the partitions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._prepared = ""  # the day for which all partitions exist

    async def prepare(self, now: datetime) -> int:
        """Create the missing partitions for today and the next days. Returns how many."""
        day = f"{now:%Y%m%d}"
        if self._database.dialect is not Dialect.POSTGRESQL or day == self._prepared:
            return 0
        count = 0
        for ahead in range(AHEAD + 1):
            for table in TABLES:
                count += await self._database.write(_create_partition, table, now + ahead * DAY)
        self._prepared = day
        return count

    async def drop(self, before: datetime) -> int:
        """Drop the partitions that contain only older rows. Returns how many."""
        if self._database.dialect is not Dialect.POSTGRESQL:
            return 0
        return sum([await self._database.write(_drop_partitions, table, before) for table in TABLES])


def _list_partitions(table: str) -> Transaction[set[str]]:
    return {row[0] for row in (yield PARTITIONS(name=table))}


def _name(table: str, day: datetime) -> str:
    return f"{table}_{day.astimezone(UTC):%Y%m%d}"


def _create_partition(table: str, day: datetime) -> Transaction[int]:
    name = _name(table, day)
    since = datetime(*day.astimezone(UTC).timetuple()[:3], tzinfo=UTC)
    first, last = to_micros(since), to_micros(since + DAY)
    if name in (yield from _list_partitions(table)) or (yield REST[table](since=first, until=last)):
        return 0
    yield Query(
        "reports.create_partition",
        f"CREATE TABLE IF NOT EXISTS {name} PARTITION OF {table} FOR VALUES FROM ({first}) TO ({last})",
    )()
    return 1


def _drop_partitions(table: str, before: datetime) -> Transaction[int]:
    """Drop the partitions of the days before `before`; a partition is named by its day."""
    limit = _name(table, before)
    old = sorted(name for name in (yield from _list_partitions(table)) if name < limit and name != f"{table}_rest")
    for name in old:
        yield Query("reports.drop_partition", f"DROP TABLE IF EXISTS {name}")()
    return len(old)
