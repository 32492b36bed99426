"""Final acts by age while a clock is wrong, on both databases: nothing is deleted or given up, and everything goes on afterwards."""

import logging
from datetime import timedelta

import pytest

from precast.base.clock import ManualClock
from precast.base.clock_differences import TOLERANCE
from precast.services.clocks.guard import ClockGuard
from precast.services.clocks.judgement import MAX_OFF
from precast.services.reports.reports import ReportService, prepare_began, prepare_ended
from precast.services.reports.retention import ReportRetention
from precast.services.reports.views import ReportViews
from precast.store.clocks import confirm_clock
from precast.store.engine.database import Database
from precast.store.identity.certificates import NodeCertificates
from precast.store.reports.partitions import ReportPartitions
from precast.store.reports.reports import Reports
from precast.store.reports.views import ReportFilter, ReportReader
from tests.contract.identity.identity_site import Site, new_key
from tests.contract.reports.report_site import began, changed, ended, report_id

DAY_S = 86_400.0
HOUR_S = 3600.0
KEEP = timedelta(days=30)


class World:
    """The reports of a server, and its guard. `restart` makes a new process, on the same boot of the machine or on a later one."""

    def __init__(self, database: Database, boot_id: str = "boot 1") -> None:
        self.database, self.guard = database, ClockGuard(database, boot_id)
        self.service, self.views = (
            ReportService(database, Reports(database)),
            ReportViews(database, ReportReader(database)),
        )
        self.retention = ReportRetention(database, Reports(database), ReportPartitions(database), self.guard, keep=KEEP)

    def restart(self, boot_id: str = "boot 1") -> "World":
        return World(self.database, boot_id)

    async def report(self, number: int) -> None:
        start = began(number)
        updates = [prepare_began("web1", start), prepare_ended("web1", ended(start, changed("/a"), events=1))]
        await self.database.write(self.service.store, [(update.node, update) for update in updates])

    async def begin(self, number: int) -> None:
        await self.database.write(self.service.store, [("web1", prepare_began("web1", began(number)))])

    async def reports(self) -> list[str]:
        return sorted(report.id for report in (await self.views.newest(ReportFilter())).reports)


@pytest.fixture
async def world(database: Database) -> World:
    await database.write(NodeCertificates(database).lock_or_create, "web1")
    world = World(database)
    await world.retention.trim()
    return world


@pytest.mark.parametrize("jump_s", [HOUR_S, 40 * DAY_S, -HOUR_S, -40 * DAY_S])
async def test_jump_of_the_clock_holds_deletion_until_the_clock_is_back(
    world: World, clock: ManualClock, caplog: pytest.LogCaptureFixture, jump_s: float
) -> None:
    await world.report(1)
    clock.set_ahead(jump_s)
    clock.advance(60)
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            await world.retention.trim()
    assert world.guard.is_held
    assert await world.reports() == [report_id(1)]
    assert len([record for record in caplog.records if record.name == "precast.clock"]) == 1, "said once"
    clock.set_ahead(-jump_s)
    await world.retention.trim()
    assert not world.guard.is_held
    assert await world.reports() == [report_id(1)]
    clock.advance(31 * DAY_S)
    if jump_s > 0:
        await world.retention.trim()
        assert await world.reports() == [], "it goes on"


async def test_restart_with_a_wrong_clock_is_noticed_on_the_same_boot_and_on_a_later_one(
    world: World, clock: ManualClock
) -> None:
    await world.report(1)
    clock.set_ahead(HOUR_S)
    assert not (await world.restart().guard.check()).is_trusted
    assert (await world.restart("boot 2").guard.check()).is_trusted, "the machine may have been off for an hour"
    clock.set_ahead(40 * DAY_S)
    late = world.restart("boot 3")
    await late.retention.trim()
    assert "40 days ahead of" in late.guard.judgement.why
    assert await late.reports() == [report_id(1)]


async def test_operator_confirms_a_clock_and_every_server_goes_on(world: World, clock: ManualClock) -> None:
    other = world.restart("another machine")
    await other.guard.check()
    await world.report(1)
    clock.set_ahead(40 * DAY_S)
    for server in (world, other):
        assert not (await server.guard.check()).is_trusted
    await world.database.write(confirm_clock, clock.now())
    for server in (world, other, world.restart()):
        assert (await server.guard.check()).is_trusted
    await world.retention.trim()
    assert await world.reports() == []


async def test_reports_received_while_the_clock_was_behind_are_kept_as_long_as_all_others(
    world: World, clock: ManualClock
) -> None:
    """They have a time that is too low: right after the correction they look older than the retention."""
    clock.set_back(40 * DAY_S)
    await world.report(1)
    clock.advance(4)
    await world.guard.check()
    await world.report(2)
    clock.set_ahead(40 * DAY_S)
    await world.retention.trim()
    assert await world.reports() == [report_id(1), report_id(2)]
    for server in (world, world.restart("later boot")):
        clock.advance(14 * DAY_S)
        await world.guard.check()
        await server.retention.trim()
        assert await server.reports() == [report_id(1), report_id(2)]
    clock.advance(3 * DAY_S)
    await world.retention.trim()
    assert await world.reports() == []


async def test_reports_received_while_the_clock_was_ahead_are_listed_and_their_days_get_partitions_again(
    world: World, clock: ManualClock
) -> None:
    clock.set_ahead(40 * DAY_S)
    await world.retention.trim()
    await world.report(1)
    clock.set_back(40 * DAY_S)
    await world.retention.trim()
    await world.report(2)
    assert await world.reports() == [report_id(1), report_id(2)]
    for _ in range(45):
        clock.advance(DAY_S)
        await world.retention.trim()
    await world.report(3)
    assert await world.reports() == [report_id(1), report_id(3)], "the second is old enough, the first is not yet"


async def test_run_that_is_under_way_is_not_broken_off_by_a_jump(world: World, clock: ManualClock) -> None:
    await world.begin(1)
    clock.set_ahead(6 * HOUR_S)
    await world.retention.trim()
    assert (await world.views.show(report_id(1))).report.state == "running"


async def test_server_clock_that_differs_from_the_databases_is_named_and_holds_only_that_server(
    database: Database, clock: ManualClock
) -> None:
    own = ManualClock(clock.now() + timedelta(hours=3))
    wrong, right = ClockGuard(database, "a", own), ClockGuard(database, "b", clock)
    assert (await right.check()).is_trusted
    assert "the clock of this server is 3 hours ahead of the database's" in (await wrong.check()).why
    assert await wrong.cutoff(KEEP) is None
    assert await right.cutoff(KEEP) == clock.now() - KEEP


async def test_database_whose_clock_jumps_is_named_by_a_server_whose_clock_did_not(
    database: Database, clock: ManualClock
) -> None:
    own = ManualClock(clock.now())
    guard = ClockGuard(database, "a", own, is_remote=True)
    await guard.check()
    clock.set_ahead(40 * DAY_S)
    assert "the clock of the database is 40 days ahead of this server's" in (await guard.check()).why
    own.set_ahead(40 * DAY_S)
    assert (await guard.check()).is_trusted, "two machines agree"
    near = ClockGuard(database, "a", own)
    await near.check()
    clock.set_ahead(40 * DAY_S)
    own.set_ahead(40 * DAY_S)
    assert not (await near.check()).is_trusted, "it is one machine with one clock"


async def test_small_corrections_and_a_night_without_power_hold_nothing(world: World, clock: ManualClock) -> None:
    clock.set_ahead(TOLERANCE.total_seconds() - 1)
    assert (await world.guard.check()).is_trusted
    clock.set_back(TOLERANCE.total_seconds() - 1)
    assert (await world.guard.check()).is_trusted
    clock.set_ahead(MAX_OFF.total_seconds() - 1)
    assert (await world.restart("next morning").guard.check()).is_trusted


async def test_request_for_a_certificate_is_not_deleted_by_a_clock_that_jumped(site: Site, clock: ManualClock) -> None:
    await site.guard.check()
    key = new_key()
    await site.request("web1", key)
    clock.set_ahead(40 * DAY_S)
    await site.request("web2", new_key())
    clock.set_back(40 * DAY_S)
    assert [request.node for request in await site.requests.list_pending(("", ""), 10)] == ["web1", "web2"]
