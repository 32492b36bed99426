"""Runs of plans on both databases hold their guarantees, whatever happens to servers, nodes and people, in whatever order.

Nothing begins before what it waits for, without its approval, past its amount or its tolerance; a node has one task at a time, and no task
that is known to have succeeded is carried out again. Every run ends, and after enough resumes as one that nothing has disturbed.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from lab.postgres import PostgresServer
from precast.base.clock import ManualClock
from precast.base.confinement.confine import Level
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.local import open_local_signer
from precast.services.plans.preparing import child, preparation
from precast.services.plans.preparing.messages import PlanningAnswer, PlanningRequest
from precast.store.engine.connect import connect
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.schema.schema import Schema
from tests.property.plans.service_machine import STEPS, PlanMachine


@pytest.fixture(autouse=True)
def plans_are_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are read in this process: a child for each example takes too long."""

    async def plan_here(request: PlanningRequest, level: Level = Level.STRICT) -> PlanningAnswer:
        return child.answer(request)

    monkeypatch.setattr(preparation, "plan_in_child", plan_here)


@contextmanager
def machines(location: Location, directory: Path) -> Iterator[Callable[[], PlanMachine]]:
    """A factory of machines on one database."""
    with asyncio.Runner() as runner:
        clock = ManualClock()
        database = runner.run(connect(location, may_create=True, clock=clock))
        runner.run(Schema(database).expand())
        files = AuthorityFiles(directory / "authority")
        with files.created(Authority.new(clock.now())):
            pass
        signer = runner.run(open_local_signer(files, clock))
        yield partial(PlanMachine, database, clock, signer, runner.run)
        runner.run(database.close())


def explore(location: Location, directory: Path, name: str, examples: int, steps: int) -> None:
    STEPS.clear()
    with machines(location, directory) as factory:
        run_state_machine_as_test(
            cast("type[PlanMachine]", factory),  # anything that makes one when called will do
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    print(f"\nruns of plans on {name}: {dict(STEPS)}")
    assert STEPS["executions"] > examples


@pytest.mark.timeout(600)
def test_runs_on_sqlite_hold_their_guarantees(tmp_path: Path) -> None:
    explore(SqliteLocation(tmp_path / "plans.db"), tmp_path, "SQLite", 40, 40)


@pytest.mark.timeout(600)
def test_runs_on_postgresql_hold_their_guarantees(postgres: PostgresServer, tmp_path: Path) -> None:
    explore(PostgresLocation(postgres.url(postgres.create_database())), tmp_path, "PostgreSQL", 15, 40)


# Examples that the long tests take on each database.
LONG_EXAMPLES = int(os.environ.get("PRECAST_PLAN_EXAMPLES", "5000"))


@pytest.mark.soak
@pytest.mark.timeout(12 * 3600)
def test_runs_on_sqlite_hold_their_guarantees_for_long(tmp_path: Path) -> None:
    explore(SqliteLocation(tmp_path / "plans.db"), tmp_path, "SQLite", LONG_EXAMPLES, 80)


@pytest.mark.soak
@pytest.mark.timeout(12 * 3600)
def test_runs_on_postgresql_hold_their_guarantees_for_long(postgres: PostgresServer, tmp_path: Path) -> None:
    explore(PostgresLocation(postgres.url(postgres.create_database())), tmp_path, "PostgreSQL", LONG_EXAMPLES, 80)
