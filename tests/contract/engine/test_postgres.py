"""Behaviour that needs several servers on one PostgreSQL."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import asyncpg
import pytest

from lab.postgres import PostgresServer
from precast.base.clock import AnchoredClock, ManualClock, SystemClock
from precast.base.errors import InputError, UnavailableError
from precast.store.engine import postgres, postgres_wakeups
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import PostgresLocation
from precast.store.engine.query import Query, Transaction
from precast.store.schema import check
from precast.store.schema.check import Level
from precast.store.schema.migrations import Migration
from precast.store.schema.migrations.all import MIGRATIONS
from precast.store.schema.schema import Schema
from precast.store.sessions.streams import Streams, topic

NOTHING = Query("test.nothing", "SELECT 1")
TRANSACTION = Query("test.transaction", "SELECT 1", postgresql="SELECT CAST(pg_current_xact_id() AS TEXT)")
BACKEND = Query("test.backend", "SELECT 1", postgresql="SELECT pg_backend_pid()")
WAIT_FOR_ADMIN = Query("test.wait", "SELECT 1", postgresql="SELECT pg_advisory_xact_lock(1)")


@pytest.fixture
def location(postgres: PostgresServer, migrated_template: str) -> Iterator[PostgresLocation]:
    name = postgres.create_database(migrated_template)
    yield PostgresLocation(postgres.url(name))
    postgres.drop_database(name)


async def test_streams_do_not_wait_for_each_other(database: Database, other_database: Database) -> None:
    loop = asyncio.get_running_loop()
    has_number, may_commit = asyncio.Event(), asyncio.Event()
    streams = Streams(database)

    def append_slowly() -> Transaction[int]:
        last = yield from streams.append_records("a", [b"slow"])
        loop.call_soon_threadsafe(has_number.set)
        while not may_commit.is_set():
            yield NOTHING()
        return last

    slow = asyncio.create_task(database.write(append_slowly))
    await has_number.wait()
    assert await Streams(other_database).append("b", [b"quick"]) == 1
    assert not slow.done()
    may_commit.set()
    assert await slow == 1


async def test_write_that_locks_many_rows_is_committed_alone(database: Database) -> None:
    def transaction() -> Transaction[str]:
        ((transaction_id,),) = yield TRANSACTION()
        return str(transaction_id)

    apart, *others = await asyncio.gather(
        database.write_alone(transaction), *(database.write(transaction) for _ in range(5))
    )
    assert len(set(others)) < len(others), "these writes should share a transaction"
    assert apart not in others


async def test_wakeup_reaches_another_server(database: Database, other_database: Database) -> None:
    with other_database.wakeups.subscribe(topic("a")) as subscription:
        await Streams(database).append("a", [b"x"])
        assert await subscription.wait(10)
        assert [record.number for record in (await Streams(other_database).read("a", 0)).records] == [1]


async def test_wakeups_of_many_topics_are_few_notifications(
    database: Database, other_database: Database, location: PostgresLocation
) -> None:
    """NOTIFY takes an instance-wide lock, so topics are sent together; and no payload is ever too long."""
    heard: list[str] = []
    listener = await asyncpg.connect(location.url)
    await listener.add_listener(postgres_wakeups.CHANNEL, lambda *message: heard.append(str(message[3])))
    topics = [f"work.{number:04}" * 5 for number in range(1000)]
    with other_database.wakeups.subscribe(topics[-1]) as subscription:
        database.wakeups.publish(topics)
        assert await subscription.wait(10)
    while sum(len(message.split("\n")) - 1 for message in heard) < 1000:
        await listener.fetchval("SELECT 1")
    assert len(heard) <= 1000 * 45 // postgres_wakeups.MAX_PAYLOAD_BYTES + 2
    assert all(len(message) < 8000 for message in heard)
    await listener.close()


async def test_wakeups_recover_after_their_connection_was_lost(
    database: Database, other_database: Database, location: PostgresLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_wakeups, "RECONNECT_S", 0.01)
    admin = await asyncpg.connect(location.url)
    with other_database.wakeups.subscribe(topic("a")) as subscription:
        await admin.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE query LIKE '%clock_timestamp%' AND pid <> pg_backend_pid()
            """
        )
        # Reconnecting wakes all subscribers once, because missed wake-ups are unknown.
        assert await subscription.wait(10)
        await database.wakeups.wait_until_listening()
        await other_database.wakeups.wait_until_listening()
        await Streams(database).append("a", [b"x"])
        assert await subscription.wait(10)
    await admin.close()


async def test_clock_of_a_busy_server_follows_the_databases(location: PostgresLocation) -> None:
    """A jump of the database's clock must reach every server within seconds: until then, they disagree about leases."""
    database = await connect(location)
    clock = database.clock
    assert isinstance(clock, AnchoredClock)
    await database.wakeups.wait_until_listening()  # it has read the clock when it connected
    clock.anchor(clock.now() + timedelta(hours=1))  # as if the database's clock had been set since
    async with asyncio.timeout(30):
        while clock.now() - SystemClock().now() > timedelta(minutes=30):
            database.wakeups.publish(["busy"])
            await asyncio.sleep(0.05)
    await database.close()


async def test_connection_lost_before_the_commit_is_retried(database: Database, location: PostgresLocation) -> None:
    admin = await asyncpg.connect(location.url)
    tries: list[int] = []
    ends: list[asyncio.Future[str]] = []

    def lose_the_first() -> Transaction[int]:
        ((pid,),) = yield BACKEND()
        tries.append(pid)
        if len(tries) == 1:
            ends.append(asyncio.ensure_future(admin.execute("SELECT pg_terminate_backend($1)", pid)))
        while len(tries) == 1:
            yield BACKEND()
        return len(tries)

    assert await database.write(lose_the_first) == 2
    await asyncio.gather(*ends)
    await admin.close()


async def test_committer_caches_its_connection_until_it_is_lost(database: Database, location: PostgresLocation) -> None:
    admin = await asyncpg.connect(location.url)

    def fail() -> Transaction[int]:
        yield from read_backend()
        raise ValueError("a fault of the transaction")

    def read_backend() -> Transaction[int]:
        ((pid,),) = yield BACKEND()
        return int(pid)

    def wait_for_admin() -> Transaction[None]:
        yield WAIT_FOR_ADMIN()

    first = await database.write(read_backend)
    await admin.execute("SELECT pg_advisory_lock(1)")
    # A reader has acquired the connection that the pool would hand out next.
    reader = asyncio.create_task(database.read(wait_for_admin))
    while not await admin.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
        pass
    assert await database.write(read_backend) == first
    await admin.execute("SELECT pg_advisory_unlock(1)")
    await reader
    with pytest.raises(ValueError, match="a fault of the transaction"):
        await database.write(fail)
    for _ in range(5):
        last = await database.write(read_backend)
        await admin.execute("SELECT pg_terminate_backend($1, 5000)", last)
        assert await database.write(read_backend) != last
    async with asyncio.TaskGroup() as many:  # readers take all other connections
        for _ in range(30):
            many.create_task(database.read(read_backend))
            many.create_task(database.write(read_backend))
    await admin.close()


async def test_deadlock_between_two_servers_is_resolved_by_a_retry(
    database: Database, other_database: Database
) -> None:
    async def append_both(which: Database, first: str, second: str, met: asyncio.Barrier) -> int:
        streams = Streams(which)
        arrived: list[asyncio.Task[object]] = []

        def transaction() -> Transaction[int]:
            yield from streams.append_records(first, [b"x"])
            if not arrived:
                arrived.append(asyncio.ensure_future(met.wait()))
            while not arrived[0].done():
                yield NOTHING()
            return (yield from streams.append_records(second, [b"x"]))

        return await which.write(transaction)

    met = asyncio.Barrier(2)
    await asyncio.gather(append_both(database, "a", "b", met), append_both(other_database, "b", "a", met))
    for name in ("a", "b"):
        assert [record.number for record in (await Streams(database).read(name, 0)).records] == [1, 2]


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit"])
async def test_server_that_would_lose_data_is_refused(setting: str) -> None:
    with PostgresServer(settings={setting: "off"}) as server:
        with pytest.raises(InputError) as caught:
            await connect(PostgresLocation(server.url()))
        assert caught.value.code == "STORE-015"
        assert f"{setting} is off" in caught.value.message


async def test_every_setting_that_would_lose_data_is_named() -> None:
    settings = {"fsync": "off", "full_page_writes": "off"}
    with (
        PostgresServer(settings=settings) as server,
        pytest.raises(InputError, match="fsync is off, full_page_writes is off"),
    ):
        await connect(PostgresLocation(server.url()))


async def test_role_that_would_lose_data_is_refused(location: PostgresLocation) -> None:
    admin = await asyncpg.connect(location.url)
    name = await admin.fetchval("SELECT current_database()")
    await admin.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    await admin.close()
    with pytest.raises(InputError, match="synchronous_commit is off"):
        await connect(location)


async def test_check_warns_without_a_synchronous_standby(database: Database) -> None:
    findings = await check.inspect(database)
    assert [finding.text for finding in findings if finding.level is Level.WARNING] == [
        "no synchronous standby: an acknowledged write is on one machine only"
    ]
    assert {finding.text for finding in findings if finding.level is Level.OK} == {
        f"schema {MIGRATIONS[-1].number}",
        "fsync is on",
        "full_page_writes is on",
        "synchronous_commit is on",
    }


async def test_server_restart_is_survived(clock: ManualClock) -> None:
    with PostgresServer() as server:
        database = await connect(PostgresLocation(server.url()), clock=clock)
        await Schema(database).expand()
        streams = Streams(database)
        await streams.append("a", [b"1"])
        server.kill()
        with pytest.raises(UnavailableError) as caught:
            await streams.append("a", [b"2"])
        assert caught.value.code in ("STORE-007", "STORE-008")
        server.start()
        assert await streams.append("a", [b"3"]) == 2
        await database.close()


async def test_commit_interrupted_by_a_server_crash_has_an_unknown_outcome() -> None:
    """COMMIT was sent and the answer was lost: only the database knows the outcome."""
    with PostgresServer() as server:
        database = await connect(PostgresLocation(server.url()))
        await Schema(database).expand()

        def die_at_commit() -> Transaction[None]:
            yield from Streams(database).append_records("a", [b"x"])
            server.kill()

        with pytest.raises(UnavailableError) as caught:
            await database.write(die_at_commit)
        assert caught.value.code == "STORE-008"
        assert "try again" in caught.value.hint
        await database.close()


async def test_all_servers_use_the_clock_of_the_database(location: PostgresLocation) -> None:
    database = await connect(location)
    admin = await asyncpg.connect(location.url)
    there = await admin.fetchval("SELECT clock_timestamp()")
    assert abs((database.clock.now() - there).total_seconds()) < 5
    await admin.close()
    await database.close()


SLOW = "SELECT 1 FROM (SELECT pg_sleep(0.4)) AS slow"


async def test_schema_change_may_take_longer_than_other_statements(
    location: PostgresLocation, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "COMMAND_S", 0.2)
    database = await connect(location, clock=clock)

    def slowly() -> Transaction[None]:
        yield Query("test.slow", "SELECT 1", postgresql=SLOW)()

    with pytest.raises(UnavailableError):
        await database.write(slowly)
    slow = Migration(len(MIGRATIONS) + 1, "slow", runs_with=1, expand=(SLOW,))
    assert await Schema(database, [*MIGRATIONS, slow]).expand() == [slow]
    await database.close()
