"""Content by its digest, in chunks, and who names it.

A blob appears when its last chunk is there: until then it has a size and no `whole_at`, and nobody can read it. Whoever stores
content has checked that it has this digest, so two who store the same write the same chunks. What no reference names may be
collected when it is old enough; a reference to what is gone cannot be made, because the database refuses it.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from precast.base.clock import to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction, json_list

CHUNK_BYTES = 256 * 1024
# Digests in one question, and references in one statement.
MANY = 2_000

BEGIN = Query(
    "blobs.begin",
    """
    INSERT INTO blob (digest, size, created_at) VALUES (:digest, :size, :now)
    ON CONFLICT (digest) DO UPDATE SET created_at = excluded.created_at WHERE blob.whole_at IS NULL
    """,
)
ADD_CHUNK = Query(
    "blobs.add_chunk",
    "INSERT INTO blob_chunk (digest, number, data) VALUES (:digest, :number, :data) ON CONFLICT (digest, number) DO NOTHING",
)
FINISH = Query(
    "blobs.finish",
    """
    -- Only if all of it is there: a collection may have taken chunks of an upload that was slow.
    UPDATE blob SET whole_at = :now WHERE digest = :digest AND whole_at IS NULL
        AND (SELECT count(*) FROM blob_chunk WHERE digest = :digest) = :chunks
    """,
)
WHOLE = Query(
    "blobs.whole",
    """
    SELECT digest, size FROM blob
    WHERE digest IN (SELECT value FROM json_each(:digests)) AND whole_at IS NOT NULL
    """,
    postgresql="""
    SELECT digest, size FROM blob
    WHERE digest = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB)))) AND whole_at IS NOT NULL
    """,
)
TOUCH = Query(
    "blobs.touch",
    """
    -- Whoever was told that it is there has time to name it. What is named already needs none.
    UPDATE blob SET created_at = :now
    WHERE digest IN (SELECT value FROM json_each(:digests)) AND created_at < :before_at
        AND NOT EXISTS (SELECT 1 FROM blob_reference WHERE blob_reference.digest = blob.digest)
    """,
    postgresql="""
    UPDATE blob SET created_at = :now
    WHERE digest = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB)))) AND created_at < :before_at
        AND NOT EXISTS (SELECT 1 FROM blob_reference WHERE blob_reference.digest = blob.digest)
    """,
)
CHUNKS = Query(
    "blobs.chunks",
    """
    SELECT data FROM blob_chunk WHERE digest = :digest AND number >= :first AND number < :end
    ORDER BY number LIMIT :limit
    """,
)
REFER = Query(
    "blobs.refer",
    """
    INSERT INTO blob_reference (digest, owner) SELECT value, :owner FROM json_each(:digests) WHERE true
    ON CONFLICT (digest, owner) DO NOTHING
    """,
    postgresql="""
    INSERT INTO blob_reference (digest, owner)
    SELECT value, CAST(:owner AS TEXT) FROM jsonb_array_elements_text(CAST(:digests AS JSONB)) AS named (value)
    ORDER BY value ON CONFLICT (digest, owner) DO NOTHING
    """,
)
REFERS = Query("blobs.refers", "SELECT 1 FROM blob_reference WHERE digest = :digest AND owner = :owner")
FORGET_REFERENCES = Query(
    "blobs.forget_references",
    """
    -- Some at a time: a writer never waits long.
    DELETE FROM blob_reference WHERE owner = :owner AND digest IN (
        SELECT digest FROM blob_reference WHERE owner = :owner LIMIT :limit
    )
    RETURNING digest
    """,
)
UNNAMED = Query(
    "blobs.unnamed",
    """
    -- Old blobs that nobody names, whole or not, from after a digest on: of a page of blobs those that may go.
    SELECT digest, (created_at < :before_at AND NOT EXISTS (
        SELECT 1 FROM blob_reference WHERE blob_reference.digest = blob.digest))
    FROM blob WHERE digest > :after ORDER BY digest LIMIT :limit
    """,
)
HOLD = Query(
    "blobs.hold",
    """
    -- The row, ours until the commit, if it may still go. Whoever names it meanwhile waits for us, and is refused; and if they
    -- were first, the database refuses us.
    UPDATE blob SET whole_at = NULL WHERE digest = :digest AND created_at < :before_at
        AND NOT EXISTS (SELECT 1 FROM blob_reference WHERE digest = :digest)
    RETURNING digest
    """,
)
REMOVE_CHUNKS = Query("blobs.remove_chunks", "DELETE FROM blob_chunk WHERE digest = :digest")
REMOVE = Query("blobs.remove", "DELETE FROM blob WHERE digest = :digest")


class Page(NamedTuple):
    """Blobs of a page that may go, and where the next page begins, if there is one."""

    unnamed: list[str]
    after: str | None


class Blobs:
    """All content of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def has(self, digests: Iterable[str]) -> set[str]:
        """Which of these are there, whole."""
        return set(await self._database.read(self.sizes, list(digests)))

    def sizes(self, digests: Sequence[str]) -> Transaction[dict[str, int]]:
        """The sizes of those that are there, whole."""
        found: dict[str, int] = {}
        for some in _parts(digests):
            found.update((yield WHOLE(digests=json_list(some))))
        return found

    def touching(self, digests: Sequence[str], before: datetime) -> Transaction[None]:
        """Those that nobody names yet are as if they had come now, if they are from before a moment."""
        for some in _parts(digests):
            yield TOUCH(digests=json_list(some), before_at=to_micros(before), now=self._now())

    def putting(self, digest: str, data: bytes) -> Transaction[None]:
        """Content that fits in one chunk, or a few. That it has this digest is the caller's care."""
        chunks = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
        yield from self.beginning(digest, len(data))
        yield from self.adding(digest, 0, chunks)
        yield from self.finishing(digest, len(chunks))

    def beginning(self, digest: str, size: int) -> Transaction[None]:
        """Content that comes in several transactions: first this, then all chunks, then `finishing`."""
        yield BEGIN(digest=digest, size=size, now=self._now())

    def adding(self, digest: str, first: int, chunks: Sequence[bytes]) -> Transaction[None]:
        for number, data in enumerate(chunks, start=first):
            yield ADD_CHUNK(digest=digest, number=number, data=data)

    def finishing(self, digest: str, chunks: int) -> Transaction[bool]:
        """Everything was added: now it can be read. False if some of it is gone again."""
        yield FINISH(digest=digest, chunks=chunks, now=self._now())
        return bool((yield WHOLE(digests=json_list([digest]))))

    async def read(self, digest: str) -> bytes | None:
        """The whole content, for what is small; None if it is not there."""
        return await self._database.read(self.reading, digest)

    def reading(self, digest: str) -> Transaction[bytes | None]:
        if not (yield WHOLE(digests=json_list([digest]))):
            return None
        limit = 1_000_000
        return b"".join(bytes(row[0]) for row in (yield CHUNKS(digest=digest, first=0, end=limit, limit=limit)))

    async def stream(self, digest: str, start: int, end: int) -> AsyncIterator[bytes]:
        """The bytes from `start` to before `end`, a chunk at a time; it ends early if the content is collected meanwhile."""
        for number in range(start // CHUNK_BYTES, -(-end // CHUNK_BYTES)):
            data = await self._database.read(_reading_chunk, digest, number)
            if data is None:
                return
            offset = number * CHUNK_BYTES
            yield data[max(start - offset, 0) : end - offset]

    def referring(self, owner: str, digests: Sequence[str]) -> Transaction[None]:
        """From now on the owner names these; ConflictError STORE-009 if one is not there."""
        for some in _parts(digests):
            yield REFER(owner=owner, digests=json_list(some))

    def refers(self, owner: str, digest: str) -> Transaction[bool]:
        """Whether an owner names this: one look-up."""
        return bool((yield REFERS(owner=owner, digest=digest)))

    def forgetting(self, owner: str, limit: int) -> Transaction[int]:
        """Some of the references of an owner are no more; how many these were."""
        return len((yield FORGET_REFERENCES(owner=owner, limit=limit)))

    async def unnamed(self, before: datetime, after: str, limit: int) -> Page:
        """Of a page of blobs, those from before a moment that nobody names."""
        rows = await self._database.read(_reading_unnamed, before, after, limit)
        return Page([digest for digest, may_go in rows if may_go], rows[-1][0] if len(rows) == limit else None)

    def removing(self, digest: str, before: datetime) -> Transaction[bool]:
        """Remove one, if it is still from before a moment and nobody names it."""
        if not (yield HOLD(digest=digest, before_at=to_micros(before))):
            return False
        yield REMOVE_CHUNKS(digest=digest)
        yield REMOVE(digest=digest)
        return True

    def _now(self) -> int:
        return to_micros(self._database.clock.now())


def _reading_chunk(digest: str, number: int) -> Transaction[bytes | None]:
    rows = yield CHUNKS(digest=digest, first=number, end=number + 1, limit=1)
    return bytes(rows[0][0]) if rows else None


def _reading_unnamed(before: datetime, after: str, limit: int) -> Transaction[list[tuple[str, bool]]]:
    rows = yield UNNAMED(before_at=to_micros(before), after=after, limit=limit)
    return [(digest, bool(may_go)) for digest, may_go in rows]


def _parts(digests: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(digests)
    while some := list(islice(rest, MANY)):
        yield some
