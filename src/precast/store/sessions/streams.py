"""Numbered streams: records of one owner in one order without gaps, readable from any number on.

Numbering a record locks the stream's row until the commit. So numbers are committed in their order, and "everything after 17" can
never miss an 18 that commits later than a 19. Different streams do not wait for each other.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store import issues
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction, Wake

# When this many records are not trimmed yet, the next append is refused with STREAM-001.
MAX_RECORDS = 100_000
TRIM_BATCH = 1_000

NUMBER = Query(
    "streams.number",
    """
    -- Reserves the next numbers and locks the row until the commit.
    INSERT INTO stream (name, last, trimmed) VALUES (:stream, :count, 0)
    ON CONFLICT (name) DO UPDATE SET last = stream.last + excluded.last
    RETURNING last, trimmed
    """,
)
APPEND = Query(
    "streams.append", "INSERT INTO stream_record (stream, number, body, at) VALUES (:stream, :number, :body, :now)"
)
READ = Query(
    "streams.read",
    """
    SELECT number, body, at FROM stream_record WHERE stream = :stream AND number > :after
    ORDER BY number LIMIT :limit
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
STATE = Query("streams.state", "SELECT last, trimmed FROM stream WHERE name = :stream")
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
    -- Moves the lower end up by at most one batch, never beyond the last number.
    UPDATE stream SET trimmed = CASE
        WHEN :through < trimmed + :batch AND :through < last THEN :through
        WHEN trimmed + :batch < last THEN trimmed + :batch
        ELSE last END
    WHERE name = :stream AND trimmed < :through AND trimmed < last
    RETURNING trimmed
    """,
)
DELETE_RECORDS = Query("streams.delete_records", "DELETE FROM stream_record WHERE stream = :stream")
DELETE = Query("streams.delete", "DELETE FROM stream WHERE name = :stream")
REMOVE = Query("streams.remove", "DELETE FROM stream_record WHERE stream = :stream AND number <= :through")


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
        ((last, trimmed),) = yield NUMBER(stream=stream, count=len(bodies))
        if last - trimmed > self._max_records:
            raise issues.STREAM_FULL.error(stream=stream, limit=self._max_records)
        now = to_micros(self._database.clock.now())
        first = last - len(bodies) + 1
        yield APPEND.many(
            {"stream": stream, "number": number, "body": body, "now": now} for number, body in enumerate(bodies, first)
        )
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

        state = yield STATE(stream=stream)
        # Numbers only grow and records never change, so this check is final without a lock. It nearly always ends here, without
        # waiting for a transaction that has locked the stream.
        if state and not (yield from is_behind(*state[0])):
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
        state = yield STATE(stream=stream)
        return not state or state[0][0] - state[0][1] < self._max_records

    async def read(self, stream: str, after: int, limit: int = 1_000) -> StreamPage:
        """Read up to `limit` records with numbers above `after`; an unknown stream is empty."""
        return await self._database.read(_read_page, stream, after, limit)

    async def list_waiting(self, prefix: str, limit: int = 10_000) -> list[str]:
        """List the streams with this prefix that have records; their names without the prefix."""
        return await self._database.read(_list_waiting, prefix, limit)

    async def trim(self, stream: str, through: int) -> None:
        """Delete the records up to this number, in small transactions; the numbers are never given again.

        Cancelling leaves some of them deleted.
        """
        while (await self._database.write(_trim_batch, stream, through)) < through:
            pass

    def delete(self, stream: str) -> Transaction[None]:
        """Delete a stream and all of its records; a new one of that name begins with 1."""
        yield DELETE_RECORDS(stream=stream)
        yield DELETE(stream=stream)


def topic(stream: str) -> str:
    """The topic that readers of a stream subscribe to."""
    return f"stream.{stream}"


def _read_page(stream: str, after: int, limit: int) -> Transaction[StreamPage]:
    state = yield STATE(stream=stream)
    if not state:
        return StreamPage([], 0, 0)
    ((last, trimmed),) = state
    rows = yield READ(stream=stream, after=after, limit=limit)
    return StreamPage([StreamRecord(number, body, from_micros(at)) for number, body, at in rows], last, trimmed)


def _is_different_record(stream: str, number: int, at: datetime | None) -> Transaction[bool]:
    """Whether the record of this number was made at another time than `at`; False if `at` is not known."""
    if at is None:
        return False
    rows = yield MADE_AT(stream=stream, number=number)
    return bool(rows) and from_micros(rows[0][0]) != at


def _list_waiting(prefix: str, limit: int) -> Transaction[list[str]]:
    rows = yield WAITING(prefix=prefix, length=len(prefix), limit=limit)
    return [str(name).removeprefix(prefix) for (name,) in rows]


def _trim_batch(stream: str, through: int) -> Transaction[int]:
    """Delete one batch. Returns the number up to which nothing is left to trim."""
    rows = yield TRIM_TO(stream=stream, through=through, batch=TRIM_BATCH)
    if not rows:
        return through
    ((trimmed,),) = rows
    yield REMOVE(stream=stream, through=trimmed)
    return int(trimmed)
