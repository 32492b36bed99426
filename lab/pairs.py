"""Pairs of rows that crash tests write and count.

Pair N is a record in a stream and an item in the work queue, stored in one transaction. After any crash the database must have every
acknowledged pair, and no half of a pair.
"""

import msgspec

from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.queue.kinds import WorkKind
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.streams import Streams

KIND = WorkKind("pair", max_items=10_000_000)
STREAM_LIMIT = 10_000_000


class StoredPairs(msgspec.Struct, frozen=True):
    """The numbers that the database has in the stream and in the queue."""

    records: set[int]
    items: set[int]

    @property
    def halves(self) -> set[int]:
        return self.records ^ self.items


class Pairs:
    """Writes and reads pairs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._streams = Streams(database, max_records=STREAM_LIMIT)
        self._queue = WorkQueue(database, [KIND])

    async def write(self, number: int, size_bytes: int = 200) -> None:
        await self._database.write(self._write_pair, number, size_bytes)

    async def read(self) -> StoredPairs:
        records: set[int] = set()
        after = 0
        while page := (await self._streams.read("pairs", after, 5_000)).records:
            records |= {int(record.body.split(b" ")[0]) for record in page}
            after = page[-1].number
        items: set[int] = set()
        last = ("", "")
        while listed := await self._queue.list_waiting(last, 5_000):
            items |= {int(item.key) for item in listed}
            last = (listed[-1].kind, listed[-1].key)
        return StoredPairs(records, items)

    def _write_pair(self, number: int, size_bytes: int) -> Transaction[None]:
        yield from self._streams.append_records("pairs", [f"{number} ".encode() + b"x" * size_bytes])
        yield from self._queue.enqueue_item("pair", str(number), b"")
