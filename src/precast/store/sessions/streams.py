"""Numbered streams: records of one owner in one order, without gaps, read from any number on.

A number is given under the stream's row, which stays locked until the commit. So numbers are committed in their order, and
"everything after 17" can never miss an 18 that commits later than a 19. Different streams do not wait for each other.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store import issues
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction, Wake

# When this many records wait to be trimmed, the next append is refused with STREAM-001.
MAX_RECORDS = 100_000
TRIM_BATCH = 1_000

NUMBER = Query(
    "streams.number",
    """
    -- Take the next numbers; the row is ours until the commit.
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
    -- Streams with a common prefix that hold records which nobody has trimmed yet.
    SELECT name FROM stream WHERE last > trimmed AND substr(name, 1, :length) = :prefix ORDER BY name LIMIT :limit
    """,
)
MADE_AT = Query("streams.made_at", "SELECT at FROM stream_record WHERE stream = :stream AND number = :number")
STATE = Query("streams.state", "SELECT last, trimmed FROM stream WHERE name = :stream")
HOLD = Query(
    "streams.hold",
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
    -- Move the lower end up by one batch at most, never past the last number.
    UPDATE stream SET trimmed = CASE
        WHEN :through < trimmed + :batch AND :through < last THEN :through
        WHEN trimmed + :batch < last THEN trimmed + :batch
        ELSE last END
    WHERE name = :stream AND trimmed < :through AND trimmed < last
    RETURNING trimmed
    """,
)
FORGET_RECORDS = Query("streams.forget_records", "DELETE FROM stream_record WHERE stream = :stream")
FORGET = Query("streams.forget", "DELETE FROM stream WHERE name = :stream")
REMOVE = Query("streams.remove", "DELETE FROM stream_record WHERE stream = :stream AND number <= :through")


class Record(msgspec.Struct, frozen=True):
    """One record of a stream."""

    number: int
    body: bytes
    at: datetime


class Page(msgspec.Struct, frozen=True):
    """Records in order. A reader who asks for records after a number below `trimmed` has missed some."""

    records: list[Record]
    last: int
    trimmed: int


class Streams:
    """All streams of one database."""

    def __init__(self, database: Database, max_records: int = MAX_RECORDS) -> None:
        self._database = database
        self._max_records = max_records

    async def append(self, stream: str, bodies: Sequence[bytes]) -> int:
        """Add records; the number of the last one. Raises UnavailableError STREAM-001 if the reader is too far behind."""
        return await self._database.write(self.appending, stream, bodies)

    def appending(self, stream: str, bodies: Sequence[bytes]) -> Transaction[int]:
        """The same as a part of another transaction."""
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

    def numbering_after(self, stream: str, past: int, at: datetime | None, *, is_set_back: bool) -> Transaction[None]:
        """Give no number through this one: the reader has them, from a time that this database does not know. What waits gets others.

        That it is so is known if the stream has not come so far; if its record of that number is another than the reader's, which was made
        `at` a moment; and if it `is_set_back`, whatever it has come to since.
        """

        def is_behind(last: int, trimmed: int) -> Transaction[bool]:
            if past <= trimmed or past > last:
                return past > last
            return is_set_back or (yield from _is_other(stream, past, at))

        state = yield STATE(stream=stream)
        # Numbers only grow and records stay as they are, so this is certain; and nearly always so, without waiting for anybody who holds
        # the stream.
        if state and not (yield from is_behind(*state[0])):
            return
        yield BEGIN(stream=stream)
        ((last, trimmed),) = yield HOLD(stream=stream)
        if (yield from is_behind(last, trimmed)):
            # Beyond all of its own numbers, so that no two records meet.
            by = max(past, last) - trimmed
            yield MOVE_UP(stream=stream, by=by)
            yield RENUMBER(stream=stream, by=by)

    def has_room(self, stream: str) -> Transaction[bool]:
        """Whether another record would be taken."""
        state = yield STATE(stream=stream)
        return not state or state[0][0] - state[0][1] < self._max_records

    async def read(self, stream: str, after: int, limit: int = 1_000) -> Page:
        """Up to `limit` records with numbers above `after`; an unknown stream is an empty one."""
        return await self._database.read(_reading, stream, after, limit)

    async def waiting(self, prefix: str, limit: int = 10_000) -> list[str]:
        """The names, without the prefix, of its streams that hold records."""
        return await self._database.read(_reading_waiting, prefix, limit)

    async def trim(self, stream: str, through: int) -> None:
        """Drop the records up to this number, in small transactions; the numbers are never given again.

        Cancelling leaves some of them dropped.
        """
        while (await self._database.write(_trimming, stream, through)) < through:
            pass

    def forgetting(self, stream: str) -> Transaction[None]:
        """Remove a stream and all of its records; a new one of that name begins with 1."""
        yield FORGET_RECORDS(stream=stream)
        yield FORGET(stream=stream)


def topic(stream: str) -> str:
    """What readers of a stream subscribe to."""
    return f"stream.{stream}"


def _reading(stream: str, after: int, limit: int) -> Transaction[Page]:
    state = yield STATE(stream=stream)
    if not state:
        return Page([], 0, 0)
    ((last, trimmed),) = state
    rows = yield READ(stream=stream, after=after, limit=limit)
    return Page([Record(number, body, from_micros(at)) for number, body, at in rows], last, trimmed)


def _is_other(stream: str, number: int, at: datetime | None) -> Transaction[bool]:
    """Whether the record of this number was made at another moment; if that is not known, it is the same."""
    if at is None:
        return False
    rows = yield MADE_AT(stream=stream, number=number)
    return bool(rows) and from_micros(rows[0][0]) != at


def _reading_waiting(prefix: str, limit: int) -> Transaction[list[str]]:
    rows = yield WAITING(prefix=prefix, length=len(prefix), limit=limit)
    return [str(name).removeprefix(prefix) for (name,) in rows]


def _trimming(stream: str, through: int) -> Transaction[int]:
    """Drop one batch; the number up to which there is nothing more to do for the caller."""
    rows = yield TRIM_TO(stream=stream, through=through, batch=TRIM_BATCH)
    if not rows:
        return through
    ((trimmed,),) = rows
    yield REMOVE(stream=stream, through=trimmed)
    return int(trimmed)
