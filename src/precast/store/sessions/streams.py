"""Numbered streams: records of one owner in one order without gaps, readable from any number on.

Numbering a record locks the stream's row until the commit. So numbers are committed in their order, and "everything after 17" can
never miss an 18 that commits later than a 19. Different streams do not wait for each other.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store import issues
from precast.store.engine.database import Database
from precast.store.engine.interface import Completion
from precast.store.engine.query import Query, Rows, Transaction, Wake, batch, insert, json_list

# When this many records are not trimmed yet, the next append is refused with STREAM-001.
MAX_RECORDS = 100_000
TRIM_BATCH = 1_000

# Reserves the next numbers and locks the row until the commit. `last` is their count.
NUMBER = insert(
    "streams.number",
    "stream",
    "name text, last number, trimmed number",
    "ON CONFLICT (name) DO UPDATE SET last = stream.last + excluded.last RETURNING name, last, trimmed",
    key=("name",),
)
APPEND = insert(
    "streams.append", "stream_record", "stream text, number number, body bytes, at number", key=("stream", "number")
)
READ = Query(
    "streams.read",
    """
    -- The records of many streams, each after a number and up to a count; one row also for a stream without such records. `items` are
    -- lists of name, number and count.
    WITH wanted (place, name, after, most) AS (
        SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:items)
    )
    SELECT wanted.place, stream.last, stream.trimmed, record.number, record.body, record.at
    FROM wanted JOIN stream ON stream.name = wanted.name
    LEFT JOIN stream_record AS record ON record.stream = wanted.name AND record.number > wanted.after
        AND record.number <= max(wanted.after, stream.trimmed) + wanted.most
    """,
    postgresql="""
    SELECT place - 1, ends.last, ends.trimmed, record.number, record.body, record.at
    FROM jsonb_array_elements(CAST(:items AS JSONB)) WITH ORDINALITY AS items (value, place), LATERAL (
        SELECT last, trimmed FROM stream WHERE name = value ->> 0 LIMIT 1
    ) AS ends LEFT JOIN LATERAL (
        SELECT number, body, at FROM stream_record WHERE stream = value ->> 0 AND number > CAST(value ->> 1 AS BIGINT)
        ORDER BY number LIMIT CAST(value ->> 2 AS BIGINT)
    ) AS record ON TRUE
    """,
)
WAITING = Query(
    "streams.waiting",
    """
    -- Streams with a common prefix that have records which are not trimmed yet.
    SELECT name FROM stream WHERE last > trimmed AND substr(name, 1, :length) = :prefix ORDER BY name LIMIT :limit
    """,
)
MADE_AT = Query("streams.made_at", "SELECT at FROM stream_record WHERE stream = :stream AND number = :number")
STATE = batch(
    "streams.state",
    "name text",
    "SELECT stream.name, last, trimmed FROM input CROSS JOIN stream WHERE stream.name = input.name",
    key=("name",),
)
LOCK = Query(
    "streams.lock",
    "SELECT last, trimmed FROM stream WHERE name = :stream",
    postgresql="SELECT last, trimmed FROM stream WHERE name = :stream FOR UPDATE",
)
BEGIN = Query(
    "streams.begin", "INSERT INTO stream (name, last, trimmed) VALUES (:stream, 0, 0) ON CONFLICT (name) DO NOTHING"
)
MOVE_UP = Query("streams.move_up", "UPDATE stream SET last = last + :by, trimmed = trimmed + :by WHERE name = :stream")
RENUMBER = Query("streams.renumber", "UPDATE stream_record SET number = number + :by WHERE stream = :stream")
TRIM_TO = Query(
    "streams.trim_to",
    """
    -- Moves the lower ends of streams up, each by at most one batch and never beyond the last number. `items` are pairs of name and number.
    UPDATE stream SET trimmed = min(wanted.through, trimmed + :batch, last)
    FROM (SELECT json_extract(value, '$[0]') AS name, json_extract(value, '$[1]') AS through FROM json_each(:items)) AS wanted
    WHERE stream.name = wanted.name AND trimmed < wanted.through AND trimmed < last
    RETURNING name, trimmed
    """,
    postgresql="""
    -- Locks the rows in the order of the items.
    UPDATE stream SET trimmed = least(wanted.through, trimmed + :batch, last) FROM (
        SELECT locked.name, CAST(value ->> 1 AS BIGINT) AS through
        FROM jsonb_array_elements(CAST(:items AS JSONB)) AS items (value), LATERAL (
            SELECT name FROM stream WHERE name = value ->> 0 AND trimmed < CAST(value ->> 1 AS BIGINT) AND trimmed < last FOR UPDATE
        ) AS locked
    ) AS wanted
    WHERE stream.name = wanted.name AND trimmed < wanted.through AND trimmed < last
    RETURNING stream.name, trimmed
    """,
)
DELETE_RECORDS = Query("streams.delete_records", "DELETE FROM stream_record WHERE stream = :stream")
DELETE = Query("streams.delete", "DELETE FROM stream WHERE name = :stream")
REMOVE = Query(
    "streams.remove",
    """
    DELETE FROM stream_record WHERE (stream, number) IN (
        SELECT record.stream, record.number FROM json_each(:items) AS items JOIN stream_record AS record
            ON record.stream = json_extract(items.value, '$[0]') AND record.number <= json_extract(items.value, '$[1]')
    )
    """,
    postgresql="""
    -- By the place of each row, which the lock of its stream keeps.
    DELETE FROM stream_record WHERE ctid = ANY (ARRAY(
        SELECT record.place FROM jsonb_array_elements(CAST(:items AS JSONB)) AS items (value), LATERAL (
            SELECT ctid AS place FROM stream_record WHERE stream = value ->> 0 AND number <= CAST(value ->> 1 AS BIGINT) OFFSET 0
        ) AS record
    ))
    """,
)


class StreamRecord(msgspec.Struct, frozen=True):
    """One record of a stream."""

    number: int
    body: bytes
    at: datetime


class StreamPage(msgspec.Struct, frozen=True):
    """Records in order. A reader that asked for records after a number below `trimmed` has missed some."""

    records: list[StreamRecord]
    last: int
    trimmed: int


# A stream, the number after which to read, and the most records.
_Wanted = tuple[str, int, int]


class Streams:
    """All streams of one database."""

    def __init__(self, database: Database, max_records: int = MAX_RECORDS) -> None:
        self._database = database
        self._max_records = max_records

    async def append(self, stream: str, bodies: Sequence[bytes]) -> int:
        """Append records and return the number of the last one. Raises UnavailableError STREAM-001 if the reader is too far behind."""
        return await self._database.write(self.append_records, stream, bodies)

    def append_records(self, stream: str, bodies: Sequence[bytes]) -> Transaction[int]:
        """Append records within the caller's transaction; the number of the last one. Raises STREAM-001 if the stream is full."""
        last: int
        ((_, last, trimmed),) = yield NUMBER(name=stream, last=len(bodies), trimmed=0)
        if last - trimmed > self._max_records:
            raise issues.STREAM_FULL.error(stream=stream, limit=self._max_records)
        now = to_micros(self._database.clock.now())
        first = last - len(bodies) + 1
        yield APPEND.many_tuples([(stream, number, body, now) for number, body in enumerate(bodies, first)])
        yield Wake(topic(stream))
        return last

    def renumber_after(
        self, stream: str, last_read: int, at: datetime | None, *, is_restored: bool
    ) -> Transaction[None]:
        """Make sure that no record gets a number through `last_read`, which the reader already has from before this database was restored
        from a backup. Waiting records are renumbered.

        The database was restored if the stream has not reached that number; if its record of that number is not the reader's, which was
        made `at` another time; and if the caller knows it (`is_restored`), whatever number the stream has reached since.
        """

        def is_behind(last: int, trimmed: int) -> Transaction[bool]:
            if last_read <= trimmed or last_read > last:
                return last_read > last
            return is_restored or (yield from _is_different_record(stream, last_read, at))

        state = yield STATE(name=stream)
        # Numbers only grow and records never change, so this check is final without a lock. It nearly always ends here, without
        # waiting for a transaction that has locked the stream.
        if state and not (yield from is_behind(*state[0][1:])):
            return
        yield BEGIN(stream=stream)
        ((last, trimmed),) = yield LOCK(stream=stream)
        if (yield from is_behind(last, trimmed)):
            # Beyond all of its own numbers, so that no two records collide.
            by = max(last_read, last) - trimmed
            yield MOVE_UP(stream=stream, by=by)
            yield RENUMBER(stream=stream, by=by)

    def has_room(self, stream: str) -> Transaction[bool]:
        """Whether the stream can take another record."""
        state = yield STATE(name=stream)
        return not state or state[0][1] - state[0][2] < self._max_records

    async def read(self, stream: str, after: int, limit: int = 1_000) -> StreamPage:
        """Read up to `limit` records with numbers above `after`; an unknown stream is empty."""
        wanted = [(stream, after, limit)]
        rows = self._database.read_immediately(READ(items=json_list(wanted)))
        if rows is not None:
            return _pages(wanted, rows)[0]
        return await self._database.read_item(_read_pages, wanted[0])

    async def list_waiting(self, prefix: str, limit: int = 10_000) -> list[str]:
        """List the streams with this prefix that have records; their names without the prefix."""
        return await self._database.read(_list_waiting, prefix, limit)

    async def trim(self, stream: str, through: int) -> None:
        """Delete the records up to this number, in small transactions; the numbers are never given again.

        Cancelling leaves some of them deleted.
        """
        while True:
            trimmed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            self.trim_batch(stream, through, trimmed)
            if await trimmed >= through:
                return

    def trim_batch(self, stream: str, through: int, completion: Completion[int]) -> None:
        """Delete up to `TRIM_BATCH` records up to this number, in one transaction with other streams that are trimmed at the same time.

        The completion gets the number up to which nothing is left to trim.
        """
        self._database.write_item(_trim_batches, (stream, through), completion)

    def delete(self, stream: str) -> Transaction[None]:
        """Delete a stream and all of its records; a new one of that name begins with 1."""
        yield DELETE_RECORDS(stream=stream)
        yield DELETE(stream=stream)


def topic(stream: str) -> str:
    """The topic that readers of a stream subscribe to."""
    return f"stream.{stream}"


def _read_pages(wanted: Sequence[_Wanted]) -> Transaction[Sequence[StreamPage]]:
    return _pages(wanted, (yield READ(items=json_list(wanted))))


def _pages(wanted: Sequence[_Wanted], rows: Rows) -> list[StreamPage]:
    records: list[list[StreamRecord]] = [[] for _ in wanted]
    ends = [(0, 0)] * len(wanted)
    for place, last, trimmed, number, body, at in rows:
        ends[place] = (last, trimmed)
        if number is not None:
            records[place].append(StreamRecord(number, body, from_micros(at)))
    for found in records:
        found.sort(key=lambda record: record.number)
    return [StreamPage(found, last, trimmed) for found, (last, trimmed) in zip(records, ends, strict=True)]


def _is_different_record(stream: str, number: int, at: datetime | None) -> Transaction[bool]:
    """Whether the record of this number was made at another time than `at`; False if `at` is not known."""
    if at is None:
        return False
    rows = yield MADE_AT(stream=stream, number=number)
    return bool(rows) and from_micros(rows[0][0]) != at


def _list_waiting(prefix: str, limit: int) -> Transaction[list[str]]:
    rows = yield WAITING(prefix=prefix, length=len(prefix), limit=limit)
    return [str(name).removeprefix(prefix) for (name,) in rows]


def _trim_batches(wanted: Sequence[tuple[str, int]]) -> Transaction[Sequence[int]]:
    """Delete one batch of each stream. Returns the numbers up to which nothing is left to trim."""
    through: dict[str, int] = {}
    for stream, number in wanted:
        through[stream] = max(number, through.get(stream, 0))
    # Sorted, so that two servers cannot deadlock.
    rows = yield TRIM_TO(items=json_list(sorted(through.items())), batch=TRIM_BATCH)
    if rows:
        yield REMOVE(items=json_list(tuple(row) for row in rows))
    trimmed: dict[str, int] = dict(rows)
    return [trimmed.get(stream, number) for stream, number in wanted]
