"""Content by its digest, in chunks, and the references to it.

A blob can be read once its last chunk is stored: until then it has a size and no `whole_at`. The caller that stores content has
checked its digest, so two callers that store the same content write the same chunks. A blob without a reference is deleted when it is
old enough; a reference to a deleted blob violates a foreign key.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from precast.base.clock import to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction, json_list

CHUNK_BYTES = 256 * 1024
# Digests in one statement.
BATCH = 2_000

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
    -- Only if all chunks exist: garbage collection may have deleted those of a slow upload.
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
    -- A caller that was told that the blob exists gets time to refer to it. Blobs with a reference do not need this.
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
REFERRED = Query(
    "blobs.referred",
    """
    SELECT DISTINCT digest FROM blob_reference WHERE digest IN (SELECT value FROM json_each(:digests))
        AND owner IN (SELECT value FROM json_each(:owners))
    """,
    postgresql="""
    SELECT DISTINCT digest FROM blob_reference
    WHERE digest = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:digests AS JSONB))))
        AND owner = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:owners AS JSONB))))
    """,
)
DELETE_REFERENCES = Query(
    "blobs.delete_references",
    """
    -- A few at a time, so that no writer waits long.
    DELETE FROM blob_reference WHERE owner = :owner AND digest IN (
        SELECT digest FROM blob_reference WHERE owner = :owner LIMIT :limit
    )
    RETURNING digest
    """,
)
PAGE = Query(
    "blobs.page",
    """
    -- A page of blobs after a digest, whole or not, each with whether it is old and has no reference.
    SELECT digest, (created_at < :before_at AND NOT EXISTS (
        SELECT 1 FROM blob_reference WHERE blob_reference.digest = blob.digest))
    FROM blob WHERE digest > :after ORDER BY digest LIMIT :limit
    """,
)
LOCK = Query(
    "blobs.lock",
    """
    -- Locks the row until the commit if the blob is still old and without a reference. A transaction that adds a reference
    -- meanwhile waits, and then fails; if it was first, the deletion fails.
    UPDATE blob SET whole_at = NULL WHERE digest = :digest AND created_at < :before_at
        AND NOT EXISTS (SELECT 1 FROM blob_reference WHERE digest = :digest)
    RETURNING digest
    """,
)
REMOVE_CHUNKS = Query("blobs.remove_chunks", "DELETE FROM blob_chunk WHERE digest = :digest")
REMOVE = Query("blobs.remove", "DELETE FROM blob WHERE digest = :digest")


class BlobPage(NamedTuple):
    """The unreferenced blobs of a page, and the digest after which the next page begins, if there is one."""

    unreferenced: list[str]
    after: str | None


class Blobs:
    """All content of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def filter_stored(self, digests: Iterable[str]) -> set[str]:
        """Return those of the digests that are stored completely."""
        return set(await self._database.read(self.find_sizes, list(digests)))

    def find_sizes(self, digests: Sequence[str]) -> Transaction[dict[str, int]]:
        """Return the sizes of those blobs that are stored completely."""
        sizes: dict[str, int] = {}
        for batch in _batches(digests):
            sizes.update((yield WHOLE(digests=json_list(batch))))
        return sizes

    def touch(self, digests: Sequence[str], before: datetime) -> Transaction[None]:
        """Set the age of unreferenced blobs older than `before` to zero."""
        for batch in _batches(digests):
            yield TOUCH(digests=json_list(batch), before_at=to_micros(before), now=self._now())

    def put(self, digest: str, data: bytes) -> Transaction[None]:
        """Store content of one chunk or a few. The caller has checked the digest."""
        chunks = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
        yield from self.begin(digest, len(data))
        yield from self.add_chunks(digest, 0, chunks)
        yield from self.finish(digest, len(chunks))

    def begin(self, digest: str, size: int) -> Transaction[None]:
        """Begin content that is stored in several transactions: first this, then `add_chunks` for all chunks, then `finish`."""
        yield BEGIN(digest=digest, size=size, now=self._now())

    def add_chunks(self, digest: str, first: int, chunks: Sequence[bytes]) -> Transaction[None]:
        for number, data in enumerate(chunks, start=first):
            yield ADD_CHUNK(digest=digest, number=number, data=data)

    def finish(self, digest: str, chunks: int) -> Transaction[bool]:
        """Make the content readable after all chunks were added. False if garbage collection has deleted some of them."""
        yield FINISH(digest=digest, chunks=chunks, now=self._now())
        return bool((yield WHOLE(digests=json_list([digest]))))

    async def read(self, digest: str) -> bytes | None:
        """Read the whole content, for small blobs; None if it is not stored."""
        return await self._database.read(self.read_content, digest)

    def read_content(self, digest: str) -> Transaction[bytes | None]:
        if not (yield WHOLE(digests=json_list([digest]))):
            return None
        limit = 1_000_000
        return b"".join(bytes(row[0]) for row in (yield CHUNKS(digest=digest, first=0, end=limit, limit=limit)))

    async def stream(self, digest: str, start: int, end: int) -> AsyncIterator[bytes]:
        """Yield the bytes from `start` to before `end`, a chunk at a time; ends early if the blob is deleted meanwhile."""
        for number in range(start // CHUNK_BYTES, -(-end // CHUNK_BYTES)):
            data = await self._database.read(_read_chunk, digest, number)
            if data is None:
                return
            offset = number * CHUNK_BYTES
            yield data[max(start - offset, 0) : end - offset]

    def add_references(self, owner: str, digests: Sequence[str]) -> Transaction[None]:
        """Add references of an owner to these blobs. Raises ConflictError STORE-009 if one does not exist."""
        for batch in _batches(digests):
            yield REFER(owner=owner, digests=json_list(batch))

    def has_reference(self, owner: str, digest: str) -> Transaction[bool]:
        """Whether an owner has a reference to this blob."""
        return bool((yield REFERS(owner=owner, digest=digest)))

    def filter_referenced(self, owners: Sequence[str], digests: Sequence[str]) -> Transaction[set[str]]:
        """Return those of the digests that one of the owners refers to."""
        referenced: set[str] = set()
        for batch in _batches(digests):
            rows = yield REFERRED(owners=json_list(owners), digests=json_list(batch))
            referenced.update(row[0] for row in rows)
        return referenced

    def delete_references(self, owner: str, limit: int) -> Transaction[int]:
        """Delete up to `limit` references of an owner. Returns how many."""
        return len((yield DELETE_REFERENCES(owner=owner, limit=limit)))

    async def list_unreferenced(self, before: datetime, after: str, limit: int) -> BlobPage:
        """Return those blobs of a page that are older than `before` and have no reference."""
        rows = await self._database.read(_list_page, before, after, limit)
        return BlobPage([digest for digest, may_go in rows if may_go], rows[-1][0] if len(rows) == limit else None)

    def delete_unreferenced(self, digest: str, before: datetime) -> Transaction[bool]:
        """Delete a blob if it is still older than `before` and has no reference."""
        if not (yield LOCK(digest=digest, before_at=to_micros(before))):
            return False
        yield REMOVE_CHUNKS(digest=digest)
        yield REMOVE(digest=digest)
        return True

    def _now(self) -> int:
        return to_micros(self._database.clock.now())


def _read_chunk(digest: str, number: int) -> Transaction[bytes | None]:
    rows = yield CHUNKS(digest=digest, first=number, end=number + 1, limit=1)
    return bytes(rows[0][0]) if rows else None


def _list_page(before: datetime, after: str, limit: int) -> Transaction[list[tuple[str, bool]]]:
    rows = yield PAGE(before_at=to_micros(before), after=after, limit=limit)
    return [(digest, bool(may_go)) for digest, may_go in rows]


def _batches(digests: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(digests)
    while batch := list(islice(rest, BATCH)):
        yield batch
