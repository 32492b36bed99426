"""Content by digest on both databases: whole or not there, named or collected."""

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
    await database.write(Blobs(database).putting, digest, data)
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


async def test_content_cannot_be_seen_before_its_last_chunk(database: Database, blobs: Blobs) -> None:
    digest = digests.of_bytes(LARGE)
    chunks = [LARGE[at : at + CHUNK_BYTES] for at in range(0, len(LARGE), CHUNK_BYTES)]
    await database.write(blobs.beginning, digest, len(LARGE))
    await database.write(blobs.adding, digest, 0, chunks[:2])
    assert not await database.write(blobs.finishing, digest, len(chunks))
    assert (await blobs.has([digest]), await blobs.read(digest)) == (set(), None)
    await database.write(blobs.adding, digest, 2, chunks[2:])
    assert await database.write(blobs.finishing, digest, len(chunks))
    assert (await blobs.has([digest]), await blobs.read(digest)) == ({digest}, LARGE)


async def test_same_content_is_kept_once(database: Database, blobs: Blobs) -> None:
    first, second = await put(database, LARGE), await put(database, LARGE)
    assert first == second
    assert await blobs.read(first) == LARGE


async def test_has_tells_those_that_are_there(database: Database, blobs: Blobs) -> None:
    known = {await put(database, b"%d" % number) for number in range(5)}
    assert await blobs.has([*known, "0" * 64]) == known
    assert await blobs.has([]) == set()


async def test_what_is_named_stays_and_what_is_not_goes_when_it_is_old(
    database: Database, blobs: Blobs, clock: ManualClock
) -> None:
    named, unnamed = await put(database, b"named"), await put(database, b"unnamed")
    await database.write(blobs.referring, "tree:1", [named])
    assert (await blobs.unnamed(clock.now() - HOUR, "", 10)).unnamed == []
    clock.advance(2 * 3600)
    before = clock.now() - HOUR
    assert (await blobs.unnamed(before, "", 10)).unnamed == [unnamed]
    assert [await database.write(blobs.removing, one, before) for one in (named, unnamed)] == [False, True]
    assert await blobs.has([named, unnamed]) == {named}
    assert await database.write(blobs.forgetting, "tree:1", 10) == 1
    assert (await blobs.unnamed(before, "", 10)).unnamed == [named]


async def test_touching_gives_time_only_to_what_nobody_names(
    database: Database, blobs: Blobs, clock: ManualClock
) -> None:
    digest = await put(database, b"waits for its tree")
    clock.advance(2 * 3600)
    before = clock.now() - HOUR
    await database.write(blobs.touching, [digest], before)
    assert (await blobs.unnamed(before, "", 10)).unnamed == []
    assert not await database.write(blobs.removing, digest, before)


async def test_reference_to_what_is_not_there_is_refused(database: Database, blobs: Blobs) -> None:
    with pytest.raises(ConflictError) as caught:
        await database.write(blobs.referring, "tree:1", ["0" * 64])
    assert caught.value.code == "STORE-009"
    assert await database.write(blobs.forgetting, "tree:1", 10) == 0


async def test_reference_is_one_look_up(database: Database, blobs: Blobs) -> None:
    digest = await put(database, b"x")
    await database.write(blobs.referring, "catalog:7", [digest, digest])
    assert await database.read(blobs.refers, "catalog:7", digest)
    assert not await database.read(blobs.refers, "catalog:8", digest)


async def test_of_a_collection_and_a_reference_that_race_one_wins(
    database: Database, other_database: Database, clock: ManualClock
) -> None:
    """Whichever is first: either the content is named and there, or it is neither."""
    blobs = Blobs(database)
    for number in range(20):
        digest = await put(database, b"raced for %d" % number)
        clock.advance(2 * 3600)
        results = await asyncio.gather(
            database.write(blobs.removing, digest, clock.now()),
            other_database.write(Blobs(other_database).referring, f"tree:{number}", [digest]),
            return_exceptions=True,
        )
        is_named = await database.read(blobs.refers, f"tree:{number}", digest)
        assert await blobs.has([digest]) == ({digest} if is_named else set()), results
        assert all(not isinstance(one, BaseException) or isinstance(one, PrecastError) for one in results)


async def test_pages_of_a_collection_go_through_everything(
    database: Database, blobs: Blobs, clock: ManualClock
) -> None:
    all_of_them = sorted([await put(database, b"%d" % number) for number in range(7)])
    clock.advance(3600)
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await blobs.unnamed(clock.now(), after, 3)
        found += page.unnamed
        after = page.after
    assert found == all_of_them
