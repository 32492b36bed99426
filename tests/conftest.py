"""Fixtures for all tests: the two databases, a manual clock, and the rule for missing packages."""

import asyncio
import json
import os
import shutil
import signal
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lab.postgres import PostgresServer
from precast.base.clock import ManualClock
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation, parse
from precast.store.schema.schema import Schema
from tools.quick import DURATIONS

ENGINES = ["sqlite", "postgresql"]

# A shell starts background processes with interrupts ignored, and all child processes would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs an optional Debian package which is not installed; under CI=true the test fails instead."""
    for marker in item.iter_markers("needs"):
        (program,) = marker.args
        if shutil.which(program) is None:
            if os.environ.get("CI") == "true":
                pytest.fail(f"{program} is missing, and .ci/run should have installed it")
            pytest.skip(f"needs {program} (a Debian package)")


# Seconds that each test file took in this run, for `make quick` to choose by.
_durations: defaultdict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _durations[report.location[0]] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Merge the durations of this run into what earlier runs recorded; of several processes the controlling one writes."""
    if _durations and not hasattr(session.config, "workerinput"):
        DURATIONS.parent.mkdir(exist_ok=True)
        earlier = json.loads(DURATIONS.read_text()) if DURATIONS.is_file() else {}
        DURATIONS.write_text(json.dumps(earlier | {path: round(spent_s, 2) for path, spent_s in _durations.items()}))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests of this process; every test has its own database."""
    with PostgresServer(is_in_memory=True) as server:
        yield server


@pytest.fixture(scope="session")
def migrated_template(postgres: PostgresServer) -> str:
    """A database with the schema, as a template: copying it is faster than a migration for each test."""
    name = postgres.create_database()
    asyncio.run(_migrate(parse(postgres.url(name))))
    return name


async def _migrate(location: Location) -> None:
    database = await connect(location, may_create=True)
    await Schema(database).expand()
    await database.close()


@pytest.fixture(params=ENGINES)
def empty_location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Location]:
    """The location of a database without tables; the SQLite file does not exist yet."""
    if request.param == "sqlite":
        yield SqliteLocation(tmp_path / "empty.db")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create_database()
    yield PostgresLocation(server.url(name))
    server.drop_database(name)


@pytest.fixture(params=ENGINES)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Location]:
    """A migrated database, closed."""
    if request.param == "sqlite":
        where = SqliteLocation(tmp_path / "precast.db")
        asyncio.run(_migrate(where))
        yield where
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create_database(request.getfixturevalue("migrated_template"))
    yield PostgresLocation(server.url(name))
    server.drop_database(name)


@pytest.fixture
async def database(location: Location, clock: ManualClock) -> AsyncIterator[Database]:
    """A migrated database, open, on the manual clock."""
    opened = await connect(location, clock=clock)
    await opened.wakeups.wait_until_listening()
    yield opened
    await opened.close()


@pytest.fixture
async def other_database(location: Location, clock: ManualClock) -> AsyncIterator[Database]:
    """The same database, opened a second time, as by another server."""
    opened = await connect(location, clock=clock)
    await opened.wakeups.wait_until_listening()
    yield opened
    await opened.close()
