"""Every due time is handled exactly once: for any schedule and clock, with two schedulers, and with a process that dies at any write."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precast.base.clock import ManualClock
from precast.services.actions.schedule import DueDecision, Schedule, decide
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.local import open_local_signer
from precast.services.windows.cron import parse_cron
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import Location
from precast.store.engine.query import Query, Transaction
from precast.wire.actions.bodies import ActionTimes, NewAction
from precast.wire.nodes.bodies import TargetsBody
from tests.contract.actions.action_site import ANN, FACTS, ActionSite

START = datetime(2030, 3, 30, tzinfo=UTC)
CRONS = st.sampled_from(["* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "15,45 1-3 * * sun", "0 0 29 2 *"])
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe"])
POLICIES = st.sampled_from(["once", "skip", "all"])
LIMITS = st.integers(1, 5)
DEADLINES = st.one_of(st.none(), st.integers(60, 7200).map(lambda seconds: timedelta(seconds=seconds)))


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    until = draw(st.one_of(st.none(), st.integers(1, 200).map(lambda hours: START + timedelta(hours=hours))))
    cron = draw(st.one_of(st.none(), st.builds(parse_cron, CRONS, ZONES)))
    return Schedule(cron, until, draw(DEADLINES), draw(POLICIES), draw(LIMITS))


def due_times(schedule: Schedule, first: datetime, now: datetime) -> list[datetime]:
    found: list[datetime] = []
    due_at: datetime | None = first
    while due_at is not None and due_at <= now:
        found.append(due_at)
        due_at = schedule.next_after(due_at)
    return found


@given(schedules(), st.lists(st.integers(1, 200_000), min_size=1, max_size=12))
def test_decisions_cover_each_due_time_once(schedule: Schedule, steps: list[int]) -> None:
    first = schedule.next_after(START) if schedule.cron is not None else START
    if first is None:
        return
    now, next_at = START, first
    decisions: list[DueDecision] = []
    for step in steps:
        now += timedelta(seconds=step)
        is_over = False
        while not is_over and next_at <= now:
            decision = decide(schedule, next_at, now)
            decisions.append(decision)
            is_over = decision.next_at is None
            next_at = decision.next_at or next_at
        if is_over:
            break
    expected = due_times(schedule, first, now)
    started = [decision.starts_at for decision in decisions if decision.starts_at is not None]
    rows = [missed for decision in decisions for missed in decision.missed]
    assert len(started) + sum(missed.count for missed in rows) == len(expected)
    named = [*started, *(missed.due_at for missed in rows)]
    assert len(set(named)) == len(named)
    assert set(named) <= set(expected)


class Killed(BaseException):
    """The process has died."""


class TrustingGuard:
    """A guard that never holds anything, so that the clock's steps reach the scheduler."""

    is_held = False


class MortalDatabase:
    """Writes to a database, and dies before or after one of them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.write_real = database.write
        self.dies_in: int | None = None
        self.is_after = False

    async def write(self, transaction: Callable[..., Transaction[Any]], *args: Any, **kwargs: Any) -> Any:
        if self.dies_in is None:
            return await self.write_real(transaction, *args, **kwargs)
        self.dies_in -= 1
        if self.dies_in == 0 and not self.is_after:
            raise Killed
        value = await self.write_real(transaction, *args, **kwargs)
        if self.dies_in == 0:
            raise Killed
        return value


STEPS = st.lists(
    st.tuples(
        st.integers(-7_200, 20_000),  # how the clock moves, in seconds
        st.integers(0, 3),  # which schedulers run: bits
        st.one_of(st.none(), st.tuples(st.integers(1, 4), st.booleans())),  # at which write the first dies
    ),
    min_size=1,
    max_size=8,
)


async def _clear(database: Database) -> None:
    def delete() -> Transaction[None]:
        for table in ("action_due", "action_node", "action", "attempt", "job", "person_token"):
            yield Query(f"test.clear_{table}", f"DELETE FROM {table}")()

    await database.write(delete)


async def _pass(site: ActionSite, mortal: MortalDatabase, death: tuple[int, bool] | None) -> None:
    mortal.dies_in, mortal.is_after = death if death is not None else (None, False)
    with suppress(Killed):
        await site.scheduler.handle_all()
    mortal.dies_in = None


async def _check(
    location: Location,
    signer: SignerClient,
    directory: Path,
    times: list[ActionTimes],
    steps: list[tuple[int, int, tuple[int, bool] | None]],
) -> None:
    monkeypatch, clock = pytest.MonkeyPatch(), ManualClock(START)
    databases = [await connect(location, clock=clock) for _ in range(2)]
    try:
        await _clear(databases[0])
        sites = [ActionSite(database, signer, directory, f"s{number}") for number, database in enumerate(databases)]
        mortals = [MortalDatabase(database) for database in databases]
        await sites[0].add_person(ANN, expires_at=START + timedelta(days=3650))
        await sites[0].introduce("web1")
        actions = [
            (await sites[0].action_creation.create(NewAction(FACTS, TargetsBody(["web1"]), each), ANN)).id
            for each in times
        ]
        firsts = [(await sites[0].row(action)).next_at for action in actions]
        latest = START
        for site, mortal in zip(sites, mortals, strict=True):
            monkeypatch.setattr(site.database, "write", mortal.write)
            monkeypatch.setattr(site.scheduler, "_clock_guard", TrustingGuard())
        for move, which, death in steps:
            (clock.set_ahead if move >= 0 else clock.set_back)(abs(move))
            if which:
                latest = max(latest, clock.now())
            passes = [
                _pass(site, mortal, death if number == 0 else None)
                for number, (site, mortal) in enumerate(zip(sites, mortals, strict=True))
                if which & (1 << number)
            ]
            await asyncio.gather(*passes)
        clock.set_ahead(max(0.0, (latest - clock.now()).total_seconds()))
        await sites[1].scheduler.handle_all()
        jobs: set[str] = set()
        for action, each, first in zip(actions, times, firsts, strict=True):
            schedule = Schedule(None if each.cron is None else parse_cron(each.cron, each.zone), each.until)
            assert first is not None
            rows = await databases[1].read(sites[1].actions.list_dues, action, 100_000)
            expected = due_times(schedule, first, clock.now())
            assert sum(row.count for row in rows) == len(expected), (each, rows)
            assert {row.due_at for row in rows} <= set(expected)
            started = {row.job for row in rows if row.state == "started"}
            made = {job.id for job in await databases[1].read(sites[1].jobs.list_of_action, action, 1_000)}
            assert started == made
            assert not jobs & made
            jobs |= made
    finally:
        monkeypatch.undo()
        for database in databases:
            await database.close()


TIMES = st.lists(
    st.builds(
        ActionTimes,
        cron=st.sampled_from(["*/20 * * * *", "0 * * * *", "30 2 * * *"]),
        zone=ZONES,
        until=st.one_of(st.none(), st.integers(1, 20).map(lambda hours: START + timedelta(hours=hours, minutes=1))),
        missed=POLICIES,
        missed_limit=LIMITS,
        overlap=st.sampled_from(["skip", "queue-one", "cancel-old"]),
    ).filter(
        lambda times: Schedule(parse_cron(times.cron or "", times.zone), times.until).next_after(START) is not None
    ),
    min_size=1,
    max_size=3,
)


@pytest.fixture
def signer(tmp_path: Path) -> SignerClient:
    files = AuthorityFiles(tmp_path / "authority")
    with files.created(Authority.new(START)):
        pass
    return asyncio.run(open_local_signer(files, ManualClock(START)))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(times=TIMES, steps=STEPS)
def test_due_times_survive_crashes_clocks_and_two_schedulers(
    location: Location,
    signer: SignerClient,
    tmp_path: Path,
    times: list[ActionTimes],
    steps: list[tuple[int, int, tuple[int, bool] | None]],
) -> None:
    asyncio.run(_check(location, signer, tmp_path, times, steps))
