"""Runs that ended long ago are deleted whole, and never while they are resumed."""

from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from lab.plan_engine import PlanEngine
from precast.app.plans import list_plan_parts
from precast.base.clock import ManualClock
from precast.store.engine.database import Database
from precast.store.engine.location import Location, PostgresLocation
from precast.store.engine.query import Query, Transaction

LOOK = "type: skipped, roles: ['*'], test_pre: {file: /, state: directory}"
TABLES = ("plan_run", "plan_program", "plan_run_data", "plan_approval", "attempt", "job", "task_content")


async def _count(database: Database, table: str) -> int:
    def read() -> Transaction[int]:
        ((count,),) = yield Query("test.count", f"SELECT count(*) FROM {table}")()
        return int(count)

    return await database.read(read)


async def test_run_is_deleted_with_all_its_parts(site: PlanEngine, clock: ManualClock) -> None:
    run = await site.start_plan(f"- {{id: one, {LOOK}}}\n", "a")
    await site.play(run, "a")
    before = clock.now() + timedelta(seconds=1)
    assert await site.jobs.delete_old(before, 10, list_plan_parts(site.database)) == 1
    assert {table: await _count(site.database, table) for table in TABLES} == dict.fromkeys(TABLES, 0)


@pytest.fixture
async def other_connection(location: Location) -> AsyncIterator[asyncpg.Connection]:
    assert isinstance(location, PostgresLocation)
    connection = await asyncpg.connect(location.url)
    yield connection
    await connection.close()


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
async def test_run_that_is_being_resumed_is_not_deleted(
    site: PlanEngine, clock: ManualClock, other_connection: asyncpg.Connection
) -> None:
    run = await site.start_plan(f"- {{id: one, {LOOK}}}\n", "a")
    await site.play(run, "a")
    transaction = other_connection.transaction()
    await transaction.start()
    await other_connection.execute("UPDATE job SET ended_at = NULL, round = 2 WHERE id = $1", run)
    before = clock.now() + timedelta(seconds=1)
    assert await site.jobs.delete_old(before, 10, list_plan_parts(site.database)) == 0
    await transaction.commit()
    assert (await site.show(run)).run.round == 2
