"""Migrations on both databases: each is applied once and in order, expand before contract, and a newer schema is refused."""

import asyncio
import hashlib

import msgspec
import pytest

from precast.base.errors import ConflictError
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.queue.kinds import WorkKind
from precast.store.queue.queue import WorkQueue
from precast.store.schema.migrations import Migration
from precast.store.schema.migrations.all import MIGRATIONS
from precast.store.schema.schema import Schema
from precast.store.schema.tables import TABLES
from precast.store.sessions.streams import Streams

OLD = Migration(1, "notes", runs_with=1, expand=("CREATE TABLE note (id {int} PRIMARY KEY, text TEXT)",))
# The new column is added beside the old one, which is dropped only when no old program is left.
NEW = Migration(
    2,
    "titles",
    runs_with=1,
    expand=("ALTER TABLE note ADD COLUMN title TEXT",),
    contract=("ALTER TABLE note DROP COLUMN text",),
)
COLUMNS = Query(
    "test.columns",
    "SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.type = 'table'",
    postgresql="SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()",
)
# A released migration never changes. A new one adds a line here. No release exists yet: until then the first schema may change.
RELEASED = {
    1: "b13c34",
}
# A made-up migration after the real ones, as a future release would bring it.
FUTURE = Migration(
    len(MIGRATIONS) + 1,
    "a future release",
    runs_with=len(MIGRATIONS),
    expand=("CREATE TABLE future (id {int} PRIMARY KEY)", "ALTER TABLE stream ADD COLUMN future TEXT"),
)


@pytest.fixture
async def empty(empty_location: Location) -> Database:
    return await connect(empty_location, may_create=True)


def read_columns() -> Transaction[dict[str, set[str]]]:
    columns: dict[str, set[str]] = {}
    for table, column in (yield COLUMNS()):
        columns.setdefault(table, set()).add(column)
    return columns


async def test_expand_applies_each_migration_once(empty: Database) -> None:
    schema = Schema(empty, [OLD, NEW])
    assert [migration.number for migration in await schema.expand()] == [1, 2]
    assert await schema.expand() == []
    assert (await empty.read(read_columns))["note"] == {"id", "text", "title"}
    assert [(row.number, row.name, row.contracted_at) for row in await schema.list_applied()] == [
        (1, "notes", None),
        (2, "titles", None),
    ]
    await empty.close()


async def test_two_servers_starting_at_once_migrate_once(empty: Database, empty_location: Location) -> None:
    others = [await connect(empty_location, may_create=True) for _ in range(3)]
    applied = await asyncio.gather(*(Schema(database).expand() for database in [empty, *others]))
    assert sorted(len(migrations) for migrations in applied) == [0, 0, 0, len(MIGRATIONS)]
    for database in [empty, *others]:
        await database.close()


async def test_previous_program_runs_on_the_expanded_schema(empty: Database) -> None:
    await Schema(empty, [OLD, NEW]).expand()
    previous = Schema(empty, [OLD])
    await previous.verify()
    assert await previous.expand() == []
    await empty.close()


async def test_previous_release_works_on_the_expanded_schema(empty: Database) -> None:
    """Today's program on the schema of a future release: its queue and its streams work."""
    await Schema(empty, [*MIGRATIONS, FUTURE]).expand()
    previous = Schema(empty)
    await previous.verify()
    assert await previous.expand() == []
    queue, streams = WorkQueue(empty, [WorkKind("compile")]), Streams(empty)
    await queue.enqueue("compile", "web1", b"x")
    (claim,) = await queue.claim("compile", "worker", limit=1, lease_s=60)
    assert (claim.key, claim.payload) == ("web1", b"x")
    await queue.complete(claim)
    assert await queue.claim("compile", "worker", limit=1, lease_s=60) == []
    await streams.append("events", [b"1", b"2"])
    assert [record.body for record in (await streams.read("events", 0)).records] == [b"1", b"2"]
    await empty.close()


async def test_previous_program_is_refused_after_the_contraction(empty: Database) -> None:
    newer = Schema(empty, [OLD, NEW])
    await newer.expand()
    assert [migration.number for migration in await newer.contract()] == [2]
    assert await newer.contract() == []
    assert (await empty.read(read_columns))["note"] == {"id", "title"}
    previous = Schema(empty, [OLD])
    for attempt in (previous.verify(), previous.expand(), previous.contract()):
        with pytest.raises(ConflictError) as caught:
            await attempt
        assert caught.value.code == "STORE-020"
        assert "schema 2, which needs a program with schema 2 or newer; this program has 1" in caught.value.message
    await newer.verify()
    await empty.close()


async def test_database_with_a_migration_of_another_name_is_refused(empty: Database) -> None:
    await Schema(empty, [OLD]).expand()
    released = Schema(empty, [msgspec.structs.replace(OLD, name="another first schema"), NEW])
    for attempt in (released.verify(), released.expand(), released.contract()):
        with pytest.raises(ConflictError, match="made by an unreleased program: its migration 1 is") as caught:
            await attempt
        assert caught.value.code == "STORE-022"
    await empty.close()


async def test_old_database_is_refused_until_it_is_migrated(empty: Database) -> None:
    newer = Schema(empty, [OLD, NEW])
    with pytest.raises(ConflictError, match="schema 0, this program needs 2"):
        await newer.verify()
    await Schema(empty, [OLD]).expand()
    with pytest.raises(ConflictError, match="schema 1, this program needs 2") as caught:
        await newer.verify()
    assert caught.value.hint == "run `precast db migrate`"
    await newer.expand()
    await newer.verify()
    await empty.close()


async def test_failing_migration_leaves_the_old_schema_whole(empty: Database) -> None:
    broken = Migration(
        2, "broken", runs_with=1, expand=("CREATE TABLE half (id {int})", "CREATE TABLE note (id {int})")
    )
    await Schema(empty, [OLD]).expand()
    with pytest.raises(Exception, match="note"):
        await Schema(empty, [OLD, broken]).expand()
    assert "half" not in await empty.read(read_columns)
    assert [row.number for row in await Schema(empty, [OLD]).list_applied()] == [1]
    await empty.close()


async def test_database_with_tables_of_another_program_is_refused(empty: Database) -> None:
    def create() -> Transaction[None]:
        yield Query("test.create", "CREATE TABLE customer (id INTEGER PRIMARY KEY)")()

    await empty.write(create)
    with pytest.raises(ConflictError) as caught:
        await Schema(empty).expand()
    assert caught.value.code == "STORE-004"
    assert (await empty.read(read_columns)).keys() == {"customer"}
    await empty.close()


async def test_declared_tables_are_those_of_the_schema(database: Database) -> None:
    real = await database.read(read_columns)
    bookkeeping = {"schema_migration", "work_fence", "sqlite_sequence", "site_term"}
    partitions = {"fact_history_rest", "report_page_rest", "report_event_rest"}
    assert {name: columns for name, columns in real.items() if name not in bookkeeping | partitions} == {
        table.name: set(table.columns) for table in TABLES
    }


def test_migrations_are_numbered_and_run_with_the_one_before() -> None:
    assert [migration.number for migration in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))
    assert all(migration.runs_with <= max(migration.number - 1, 1) for migration in MIGRATIONS)


def test_released_migrations_never_change() -> None:
    def digest(migration: Migration) -> str:
        queries = [
            query
            for dialect in Dialect
            for query in migration.expand_queries(dialect) + migration.contract_queries(dialect)
        ]
        return hashlib.sha256("\n".join(query.sqlite for query in queries).encode()).hexdigest()[:6]

    assert {migration.number: digest(migration) for migration in MIGRATIONS} == RELEASED
