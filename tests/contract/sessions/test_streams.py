"""Numbered streams on both databases."""

import asyncio
from typing import Any

import pytest

from precast.base.errors import UnavailableError
from precast.store.engine.database import Database
from precast.store.engine.lockstep import in_lockstep
from precast.store.engine.query import Query, Transaction
from precast.store.sessions import streams as module
from precast.store.sessions.streams import Streams, topic

HOLDERS = Query(
    "test.holders",
    "SELECT 0",
    postgresql="SELECT count(*) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()",
)


@pytest.fixture
def streams(database: Database) -> Streams:
    return Streams(database)


async def numbers(streams: Streams, stream: str, after: int = 0) -> list[int]:
    return [record.number for record in (await streams.read(stream, after)).records]


async def test_numbers_run_from_one_without_gaps(streams: Streams) -> None:
    assert await streams.append("a", [b"1"]) == 1
    assert await streams.append("a", [b"2", b"3"]) == 3
    assert await streams.append("b", [b"x"]) == 1
    page = await streams.read("a", 0)
    assert [(record.number, record.body) for record in page.records] == [(1, b"1"), (2, b"2"), (3, b"3")]
    assert (page.last, page.trimmed) == (3, 0)


async def test_failed_append_leaves_no_gap(streams: Streams, database: Database) -> None:
    def append_and_raise() -> Transaction[None]:
        yield from streams.append_records("a", [b"lost"])
        raise KeyError("on purpose")

    await streams.append("a", [b"1"])
    with pytest.raises(KeyError):
        await database.write(append_and_raise)
    assert await streams.append("a", [b"2"]) == 2


async def test_concurrent_appends_of_two_servers_have_each_number_once(
    streams: Streams, other_database: Database
) -> None:
    other = Streams(other_database)
    given = await asyncio.gather(*(which.append("a", [b"x"]) for _ in range(50) for which in (streams, other)))
    assert sorted(given) == list(range(1, 101))
    assert await numbers(streams, "a") == list(range(1, 101))


async def test_reader_never_sees_a_later_number_before_an_earlier_one(
    streams: Streams, database: Database, other_database: Database
) -> None:
    """One transaction has allocated its number and stays open; another appends and must wait for it."""
    loop = asyncio.get_running_loop()
    has_number, may_commit = asyncio.Event(), asyncio.Event()
    other = Streams(other_database)
    reader = Streams(other_database)

    def append_slowly() -> Transaction[int]:
        last = yield from streams.append_records("a", [b"slow"])
        loop.call_soon_threadsafe(has_number.set)
        while not may_commit.is_set():
            yield HOLDERS()
        return last

    slow = asyncio.create_task(database.write(append_slowly))
    await has_number.wait()
    quick = asyncio.create_task(other.append("a", [b"quick"]))
    await until_blocked(database, quick)
    assert await numbers(reader, "a") == []
    assert not quick.done()
    may_commit.set()
    assert (await slow, await quick) == (1, 2)
    assert [record.body for record in (await reader.read("a", 0)).records] == [b"slow", b"quick"]


async def until_blocked(database: Database, task: "asyncio.Task[Any]") -> None:
    """Wait until PostgreSQL reports a lock wait; SQLite's writer waits outside the database, so only yield to it."""

    def count_waiting() -> Transaction[int]:
        ((count,),) = yield HOLDERS()
        return int(count)

    for _ in range(200):
        count = await database.read(count_waiting)
        if task.done() or count:
            return


async def test_read_gives_at_most_its_limit_after_a_number(streams: Streams) -> None:
    await streams.append("a", [b"x"] * 30)
    page = await streams.read("a", 10, limit=5)
    assert [record.number for record in page.records] == [11, 12, 13, 14, 15]
    assert await numbers(streams, "a", after=30) == []
    assert await numbers(streams, "unknown") == []


async def test_trimmed_records_are_deleted_and_their_numbers_never_reused(
    streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TRIM_BATCH", 4)
    await streams.append("a", [b"x"] * 10)
    await streams.trim("a", 9)
    page = await streams.read("a", 0)
    assert ([record.number for record in page.records], page.trimmed) == ([10], 9)
    await streams.trim("a", 5)
    await streams.trim("a", 99)
    assert (await streams.read("a", 0)).trimmed == 10
    assert await streams.append("a", [b"y"]) == 11
    assert await numbers(streams, "a") == [11]
    await streams.trim("unknown", 5)


async def test_full_stream_refuses_until_it_is_trimmed(database: Database) -> None:
    streams = Streams(database, max_records=10)
    await streams.append("a", [b"x"] * 10)
    with pytest.raises(UnavailableError) as caught:
        await streams.append("a", [b"y"])
    assert caught.value.code == "STREAM-001"
    await streams.trim("a", 1)
    assert await streams.append("a", [b"y"]) == 11


async def test_streams_in_lockstep_are_appended_to_as_one_after_the_other(streams: Streams, database: Database) -> None:
    await streams.append("b", [b"0"])

    def append() -> Transaction[list[tuple[int, bool]]]:
        def one(name: str, bodies: list[bytes]) -> Transaction[tuple[int, bool]]:
            last = yield from streams.append_records(name, bodies)
            return last, (yield from streams.has_room(name))

        return (
            yield from in_lockstep(
                [one("a", [b"1"]), one("b", [b"2", b"3"]), one("a", [b"4"]), *(one(f"s{n}", [b"5"]) for n in range(70))]
            )
        )

    assert await database.write(append) == [(1, True), (3, True), (2, True), *[(1, True)] * 70]
    assert [record.body for record in (await streams.read("a", 0)).records] == [b"1", b"4"]
    assert [record.body for record in (await streams.read("b", 0)).records] == [b"0", b"2", b"3"]
    pages = await asyncio.gather(*(streams.read(f"s{n}", 0) for n in range(70)))
    assert [len(page.records) for page in pages] == [1] * 70


async def test_many_streams_are_trimmed_at_once(streams: Streams, database: Database) -> None:
    names = [f"s{n}" for n in range(30)]
    for name in names:
        await streams.append(name, [b"x"] * 3)
    await asyncio.gather(*(streams.trim(name, 2) for name in [*names, "unknown", *names]))
    pages = await asyncio.gather(*(streams.read(name, 0) for name in names))
    assert {(page.trimmed, tuple(record.number for record in page.records)) for page in pages} == {(2, (3,))}


async def test_append_wakes_the_streams_readers(streams: Streams, database: Database) -> None:
    with database.wakeups.subscribe(topic("a")) as subscription:
        await streams.append("a", [b"x"])
        assert await subscription.wait(10)
