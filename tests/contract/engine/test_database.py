"""Behaviour that both databases share: transactions, groups, snapshots, errors, wake-ups."""

import asyncio
import threading
from functools import partial

import pytest

from precast.base.errors import ConflictError, InputError, InternalError, UnavailableError
from precast.store import issues
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location
from precast.store.engine.query import Computation, Query, Transaction, Wake
from precast.store.engine.query import insert as insert_of
from precast.store.sessions.streams import Streams

CREATE = Query("test.create", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
INSERT = Query("test.insert", "INSERT INTO note (id, text) VALUES (:id, :text)")
ALL = Query("test.all", "SELECT id, text FROM note ORDER BY id")
WRONG = Query("test.wrong", "SELECT nothing FROM note")


def create() -> Transaction[None]:
    yield CREATE()


def insert(number: int, text: str = "x") -> Transaction[int]:
    yield INSERT(id=number, text=text)
    return number


def insert_then_refuse(number: int) -> Transaction[None]:
    yield INSERT(id=number, text="x")
    raise issues.NO_DEAD_LETTER.error(kind="test", key=str(number))


def read_all() -> Transaction[list[tuple[int, str]]]:
    return [(row[0], row[1]) for row in (yield ALL())]


def wrong() -> Transaction[None]:
    yield WRONG()


@pytest.fixture
async def notes(database: Database) -> Database:
    await database.write(create)
    return database


async def test_write_returns_the_value_of_the_transaction(notes: Database) -> None:
    assert await notes.write(insert, 1, text="one") == 1
    assert await notes.read(read_all) == [(1, "one")]


async def test_write_that_raises_stores_nothing(notes: Database) -> None:
    with pytest.raises(Exception, match="no dead letter"):
        await notes.write(insert_then_refuse, 1)
    assert await notes.read(read_all) == []


async def test_group_with_failing_transactions_stores_all_others(notes: Database) -> None:
    def transaction(number: int) -> Transaction[int]:
        if number % 7 == 3:
            yield from insert_then_refuse(number)
        if number % 7 == 5:
            yield INSERT(id=0, text="the same key every time")
        return (yield from insert(number))

    results = await asyncio.gather(
        *(notes.write(transaction, number) for number in range(1, 71)), return_exceptions=True
    )
    stored = {number for number, _ in await notes.read(read_all)}
    first_five = 5  # the first to take key 0 succeeds
    failing = {number for number in range(1, 71) if number % 7 == 3 or (number % 7 == 5 and number != first_five)}
    assert stored == set(range(71)) - failing
    assert [type(result) for result in results if isinstance(result, ConflictError)] == [ConflictError] * 9
    assert {result for result in results if isinstance(result, int)} == set(range(1, 71)) - failing


async def test_constraint_violation_is_a_conflict(notes: Database) -> None:
    await notes.write(insert, 1)
    with pytest.raises(ConflictError) as caught:
        await notes.write(insert, 1)
    assert caught.value.code == "STORE-009"


async def test_invalid_statement_is_an_internal_error_that_names_its_query(notes: Database) -> None:
    with pytest.raises(InternalError, match=r"test\.wrong"):
        await notes.read(wrong)
    with pytest.raises(InternalError, match=r"test\.wrong"):
        await notes.write(wrong)
    assert await notes.write(insert, 1) == 1


async def test_read_transaction_cannot_write(notes: Database) -> None:
    with pytest.raises((InternalError, UnavailableError)):
        await notes.read(insert, 1)
    assert await notes.read(read_all) == []


async def test_many_inserts_all_rows_or_none(notes: Database) -> None:
    def insert_many(numbers: list[int]) -> Transaction[None]:
        yield INSERT.many({"id": number, "text": "x"} for number in numbers)

    await notes.write(insert_many, list(range(500)))
    with pytest.raises(ConflictError):
        await notes.write(insert_many, [1000, 1001, 499])
    assert [number for number, _ in await notes.read(read_all)] == list(range(500))


async def test_many_rows_by_columns_are_the_same_as_one_by_one(notes: Database) -> None:
    add = insert_of("test.add_many", "note", "id int, text text", "ON CONFLICT (id) DO UPDATE SET text = excluded.text")

    def transaction(first: int, count: int, text: str) -> Transaction[None]:
        yield add.many_tuples([(at, f"{text}{at}") for at in range(first, first + count)])

    for first, count, text in ((1, 1, "a"), (2, 150, "a"), (100, 0, "b"), (150, 7, "c"), (3, 1, "d")):
        await notes.write(transaction, first, count, text)
    expected = {at: f"a{at}" for at in range(1, 152)} | {at: f"c{at}" for at in range(150, 157)} | {3: "d3"}
    assert await notes.read(read_all) == sorted(expected.items())


async def test_computation_of_a_transaction_runs_on_the_event_loop(notes: Database) -> None:
    computed: list[int] = []

    def compute(value: int) -> int:
        computed.append(threading.get_ident())
        return 10 // value

    def transaction(value: int) -> Transaction[int]:
        yield INSERT(id=value, text="before")
        computed: int = yield Computation(partial(compute, value))
        yield INSERT(id=value + 100, text=f"computed {computed}")
        return computed

    assert list(await asyncio.gather(notes.write(transaction, 5), notes.write(transaction, 2))) == [2, 5]
    assert set(computed) == {threading.get_ident()}
    with pytest.raises(ZeroDivisionError):
        await notes.write(transaction, 0)
    assert await notes.read(read_all) == [(2, "before"), (5, "before"), (102, "computed 5"), (105, "computed 2")]


async def test_reader_keeps_its_snapshot_while_a_writer_commits(notes: Database, other_database: Database) -> None:
    loop = asyncio.get_running_loop()
    has_read, has_written = asyncio.Event(), threading.Event()

    def read_twice() -> Transaction[tuple[int, int]]:
        before = len((yield ALL()))
        loop.call_soon_threadsafe(has_read.set)
        # SQLite reads in a thread, which may block; PostgreSQL reads on the event loop, which may not: there the
        # writer runs while the statements are awaited.
        while loop_thread != threading.get_ident() and not has_written.wait(10):
            raise AssertionError("the writer waited for the reader")
        while loop_thread == threading.get_ident() and not has_written.is_set():
            yield ALL()
        return before, len((yield ALL()))

    loop_thread = threading.get_ident()
    reading = asyncio.create_task(notes.read(read_twice))
    await has_read.wait()
    await other_database.write(insert, 1)
    has_written.set()
    assert await reading == (0, 0)
    assert await notes.read(read_all) == [(1, "x")]


async def test_parameters_must_be_exactly_those_of_the_query(notes: Database) -> None:
    def forget() -> Transaction[None]:
        yield INSERT(id=1)

    with pytest.raises(TypeError, match=r"test\.insert takes"):
        await notes.write(forget)


async def test_values_are_read_back_unchanged(database: Database) -> None:
    texts = ["", "é", "𝄞", "'; DROP TABLE note; --", "\n\t\\", ":name $1 ?"]
    streams = Streams(database)
    for text in texts:
        await streams.append("texts", [text.encode()])
        await streams.append(text, [b"\x00\xff" * 10])
    assert [record.body.decode() for record in (await streams.read("texts", 0)).records] == texts
    for text in texts:
        assert [record.body for record in (await streams.read(text, 0)).records] == [b"\x00\xff" * 10]


async def test_write_after_close_is_refused(location: Location) -> None:
    database = await connect(location)
    await database.close()
    with pytest.raises(UnavailableError) as caught:
        await database.write(insert, 1)
    assert caught.value.code == "STORE-013"


async def test_close_commits_pending_writes(location: Location) -> None:
    database = await connect(location)
    await database.write(create)
    writes = [asyncio.create_task(database.write(insert, number)) for number in range(300)]
    await asyncio.sleep(0)
    await database.close()
    assert sorted(await asyncio.gather(*writes)) == list(range(300))
    again = await connect(location)
    assert len(await again.read(read_all)) == 300
    await again.close()


async def test_cancelled_write_leaves_the_others_alone(notes: Database) -> None:
    writes = [asyncio.create_task(notes.write(insert, number)) for number in range(50)]
    await asyncio.sleep(0)
    for write in writes[::2]:
        write.cancel()
    await asyncio.gather(*writes, return_exceptions=True)
    stored = {number for number, _ in await notes.read(read_all)}
    assert stored >= set(range(1, 50, 2))


async def test_wake_reaches_a_subscriber_only_after_the_commit(notes: Database, other_database: Database) -> None:
    def insert_and_wake(number: int) -> Transaction[None]:
        yield Wake("note")
        yield INSERT(id=number, text="x")

    with notes.wakeups.subscribe("note") as subscription:
        await notes.write(insert_and_wake, 1)
        assert await subscription.wait(10)
        assert await other_database.read(read_all) == [(1, "x")]


async def test_wake_of_a_failed_transaction_is_not_sent(notes: Database) -> None:
    def wake_and_refuse() -> Transaction[None]:
        yield Wake("note")
        raise issues.PAYLOAD_TOO_LARGE.error(kind="k", key="k", size=1, limit=0)
        yield INSERT(id=1, text="never")

    with notes.wakeups.subscribe("note") as subscription:
        with pytest.raises(InputError):
            await notes.write(wake_and_refuse)
        assert not await subscription.wait(0.01)


async def test_many_wakes_are_one(notes: Database) -> None:
    with notes.wakeups.subscribe("a", "b") as subscription:
        for _ in range(100):
            notes.wakeups.publish(["a", "b"])
        assert await subscription.wait(10)
        assert not await subscription.wait(0.01)
