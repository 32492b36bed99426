"""Content by digest on both databases: stored atomically, referenced or collected."""

import asyncio
from datetime import timedelta

import pytest

from precast.base import digests
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, PrecastError
from precast.store.code.blobs import CHUNK_BYTES, Blobs
from precast.store.engine.database import Database

LARGE = bytes(range(256)) * 1024 * 3 + b"end"
HOUR = timedelta(hours=1)


@pytest.fixture
def blobs(database: Database) -> Blobs:
    return Blobs(database)


async def put(database: Database, data: bytes) -> str:
    digest = digests.of_bytes(data)
    await database.write(Blobs(database).put, digest, data)
    return digest


@pytest.mark.parametrize("data", [b"", b"x", b"x" * CHUNK_BYTES, LARGE], ids=["empty", "small", "one chunk", "large"])
async def test_content_is_read_as_it_was_put(database: Database, blobs: Blobs, data: bytes) -> None:
    digest = await put(database, data)
    assert await blobs.read(digest) == data
    assert b"".join([part async for part in blobs.stream(digest, 0, len(data))]) == data


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, 1), (CHUNK_BYTES - 1, CHUNK_BYTES + 1), (CHUNK_BYTES, 2 * CHUNK_BYTES), (5, len(LARGE)), (7, 7)],
)
async def test_stream_gives_the_bytes_of_a_range(database: Database, blobs: Blobs, start: int, end: int) -> None:
    digest = await put(database, LARGE)
    assert b"".join([part async for part in blobs.stream(digest, start, end)]) == LARGE[start:end]


async def test_content_is_invisible_before_its_last_chunk(database: Database, blobs: Blobs) -> None:
    digest = digests.of_bytes(LARGE)
    chunks = [LARGE[at : at + CHUNK_BYTES] for at in range(0, len(LARGE), CHUNK_BYTES)]
    await database.write(blobs.begin, digest, len(LARGE))
    await database.write(blobs.add_chunks, digest, 0, chunks[:2])
    assert not await database.write(blobs.finish, digest, len(chunks))
    assert (await blobs.filter_stored([digest]), await blobs.read(digest)) == (set(), None)
    await database.write(blobs.add_chunks, digest, 2, chunks[2:])
    assert await database.write(blobs.finish, digest, len(chunks))
    assert (await blobs.filter_stored([digest]), await blobs.read(digest)) == ({digest}, LARGE)


async def test_same_content_is_stored_once(database: Database, blobs: Blobs) -> None:
    first, second = await put(database, LARGE), await put(database, LARGE)
    assert first == second
    assert await blobs.read(first) == LARGE


async def test_stored_digests_are_found(database: Database, blobs: Blobs) -> None:
    known = {await put(database, b"%d" % number) for number in range(5)}
    assert await blobs.filter_stored([*known, "0" * 64]) == known
    assert await blobs.filter_stored([]) == set()


async def test_referenced_content_stays_and_unreferenced_content_is_deleted_when_old(
    database: Database, blobs: Blobs, clock: ManualClock
) -> None:
    named, unnamed = await put(database, b"named"), await put(database, b"unnamed")
    await database.write(blobs.add_references, "tree:1", [named])
    assert (await blobs.list_unreferenced(clock.now() - HOUR, "", 10)).unreferenced == []
    clock.advance(2 * 3600)
    before = clock.now() - HOUR
    assert (await blobs.list_unreferenced(before, "", 10)).unreferenced == [unnamed]
    assert [await database.write(blobs.delete_unreferenced, digest, before) for digest in (named, unnamed)] == [
        False,
        True,
    ]
    assert await blobs.filter_stored([named, unnamed]) == {named}
    assert await database.write(blobs.delete_references, "tree:1", 10) == 1
    assert (await blobs.list_unreferenced(before, "", 10)).unreferenced == [named]


async def test_touching_prolongs_only_unreferenced_content(
    database: Database, blobs: Blobs, clock: ManualClock
) -> None:
    digest = await put(database, b"waits for its tree")
    clock.advance(2 * 3600)
    before = clock.now() - HOUR
    await database.write(blobs.touch, [digest], before)
    assert (await blobs.list_unreferenced(before, "", 10)).unreferenced == []
    assert not await database.write(blobs.delete_unreferenced, digest, before)


async def test_reference_to_missing_content_is_refused(database: Database, blobs: Blobs) -> None:
    with pytest.raises(ConflictError) as caught:
        await database.write(blobs.add_references, "tree:1", ["0" * 64])
    assert caught.value.code == "STORE-009"
    assert await database.write(blobs.delete_references, "tree:1", 10) == 0


async def test_reference_is_one_lookup(database: Database, blobs: Blobs) -> None:
    digest = await put(database, b"x")
    await database.write(blobs.add_references, "catalog:7", [digest, digest])
    assert await database.read(blobs.has_reference, "catalog:7", digest)
    assert not await database.read(blobs.has_reference, "catalog:8", digest)


async def test_of_a_concurrent_collection_and_reference_one_wins(
    database: Database, other_database: Database, clock: ManualClock
) -> None:
    """Whichever is first: the content is either referenced and stored, or neither."""
    blobs = Blobs(database)
    for number in range(20):
        digest = await put(database, b"raced for %d" % number)
        clock.advance(2 * 3600)
        results = await asyncio.gather(
            database.write(blobs.delete_unreferenced, digest, clock.now()),
            other_database.write(Blobs(other_database).add_references, f"tree:{number}", [digest]),
            return_exceptions=True,
        )
        is_named = await database.read(blobs.has_reference, f"tree:{number}", digest)
        assert await blobs.filter_stored([digest]) == ({digest} if is_named else set()), results
        assert all(not isinstance(result, BaseException) or isinstance(result, PrecastError) for result in results)


async def test_pages_of_a_collection_cover_everything(database: Database, blobs: Blobs, clock: ManualClock) -> None:
    all_of_them = sorted([await put(database, b"%d" % number) for number in range(7)])
    clock.advance(3600)
    unreferenced: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await blobs.list_unreferenced(clock.now(), after, 3)
        unreferenced += page.unreferenced
        after = page.after
    assert unreferenced == all_of_them
