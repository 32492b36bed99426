"""Views of reports and their retention, on both databases."""

import asyncio
from datetime import timedelta

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import InputError, NotFoundError
from precast.services.clocks.guard import ClockGuard
from precast.services.reports.reports import ReportService, prepare_began, prepare_ended, prepare_events
from precast.services.reports.retention import ReportRetention
from precast.services.reports.views import MAX_EVENTS, ReportViews
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.identity.certificates import NodeCertificates
from precast.store.reports.partitions import AHEAD, ReportPartitions
from precast.store.reports.reports import Reports, ReportUpdate
from precast.store.reports.views import ReportFilter, ReportReader
from precast.wire.reports.records import RunEvents, SlowResource, Timings, UneventfulResources, compress_rest
from tests.contract.reports.report_site import AT, began, changed, ended, failed, report_id

PARTS = Query(
    "test.parts",
    "SELECT 'rest', count(*) FROM report_event",
    postgresql="SELECT tableoid::regclass::text, count(*) FROM report_event GROUP BY 1",
)


class World:
    """One server's reports."""

    def __init__(self, database: Database) -> None:
        self.database, self.reports = database, Reports(database)
        self.service = ReportService(database, self.reports)
        self.views = ReportViews(database, ReportReader(database))
        self.partitions = ReportPartitions(database)

    async def take(self, *updates: ReportUpdate) -> None:
        await self.database.write(self.service.store, [(update.node, update) for update in updates])

    async def parts(self) -> dict[str, int]:
        def reading() -> Transaction[dict[str, int]]:
            return {row[0]: row[1] for row in (yield PARTS())}

        return await self.database.read(reading)


@pytest.fixture
async def world(database: Database) -> World:
    for node in ("web1", "web2"):
        await database.write(NodeCertificates(database).lock_or_create, node)
    return World(database)


async def test_report_is_shown_with_the_details_of_its_end(world: World) -> None:
    start = began(is_stale=True, stale_since=AT, stale_why="no server could be asked")
    rest = compress_rest(UneventfulResources(["File[/x]"], {"its tags": ["File[/y]"]}))
    timings = Timings({"plan": 0.25}, [SlowResource("Exec[b]", 3.5)])
    await world.take(prepare_ended("web1", ended(start, timings=timings, rest=rest)))
    view = await world.views.show(report_id(1))
    assert (view.stale_since, view.stale_why, view.report.is_stale) == (AT, "no server could be asked", True)
    assert (view.phases, view.slowest) == ({"plan": 0.25}, [SlowResource("Exec[b]", 3.5)])
    assert (view.rest, view.left_out) == (["File[/x]"], {"its tags": ["File[/y]"]})
    with pytest.raises(NotFoundError, match="there is no report"):
        await world.views.show(report_id(2))


async def test_invalid_rest_is_shown_as_none(world: World) -> None:
    await world.take(prepare_ended("web1", ended(began(1), rest=b"no zlib stream")))
    await world.take(prepare_ended("web1", ended(began(2))))
    assert (await world.views.show(report_id(1))).rest is None
    assert (await world.views.show(report_id(2))).rest is None


async def test_events_continue_after_a_number_and_end_with_the_report(world: World) -> None:
    await world.take(prepare_began("web1", began()))
    await world.take(prepare_events("web1", RunEvents(report_id(1), 1, [changed(f"/{n}") for n in range(1, 4)])))
    page = await world.views.events(report_id(1), 1)
    assert [(event.number, event.resource) for event in page.events] == [(2, "File[/2]"), (3, "File[/3]")]
    assert (page.last, page.report.is_over) == (3, False)
    await world.take(prepare_ended("web1", ended(began(), failed("b"), events=4)))
    page = await world.views.events(report_id(1), 3)
    assert ([event.number for event in page.events], page.last, page.report.is_over) == ([4], 4, True)
    assert (await world.views.events(report_id(1), 4)).events == []


async def test_many_events_come_in_pages_without_a_gap(world: World) -> None:
    await world.take(prepare_began("web1", began()))
    for first in range(1, 2001, 100):
        batch = [changed(f"/{number}") for number in range(first, first + 100)]
        await world.take(prepare_events("web1", RunEvents(report_id(1), first, batch)))
    numbers: list[int] = []
    while not numbers or numbers[-1] < 2000:
        page = await world.views.events(report_id(1), numbers[-1] if numbers else 0)
        assert 0 < len(page.events) <= MAX_EVENTS + 100
        assert page.last == page.events[-1].number
        numbers += [event.number for event in page.events]
    assert numbers == list(range(1, 2001))


async def test_lost_events_do_not_block_a_viewer(world: World) -> None:
    await world.take(prepare_ended("web1", ended(began(), events=7)))
    page = await world.views.events(report_id(1), 0)
    assert (page.events, page.last, page.report.lost) == ([], 7, 7)


async def test_waiting_viewer_is_woken_by_the_next_event(world: World, other_database: Database) -> None:
    """The same holds on another server."""
    await world.take(prepare_began("web1", began()))
    elsewhere = ReportViews(other_database, ReportReader(other_database))
    await other_database.wakeups.wait_until_listening()
    waiting = [
        asyncio.create_task(views.events(report_id(1), 0, 60.0)) for views in (world.views, world.views, elsewhere)
    ]
    await asyncio.sleep(0)
    await world.take(prepare_events("web1", RunEvents(report_id(1), 1, [changed("/a")])))
    async with asyncio.timeout(20):
        for page in await asyncio.gather(*waiting):
            assert [event.resource for event in page.events] == ["File[/a]"]


async def test_list_continues_after_the_previous_page(world: World, clock: ManualClock) -> None:
    for number in range(1, 6):
        await world.take(prepare_ended("web1", ended(began(number))))
        clock.advance(number % 2)  # some at the same moment
    ids: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await world.views.newest(ReportFilter(), after, 2)
        ids += [report.id for report in page.reports]
        after = page.after
    assert ids == [report_id(number) for number in (5, 4, 3, 2, 1)]
    for bad in ("x", "1", "1.", "99999999999999999999.x", "1.x/y"):
        with pytest.raises(InputError, match="after="):
            await world.views.newest(ReportFilter(), bad)


async def test_old_reports_are_deleted_by_partition_or_in_batches(
    world: World, database: Database, clock: ManualClock
) -> None:
    retention = ReportRetention(
        database, world.reports, world.partitions, ClockGuard(database, "boot"), timedelta(days=10)
    )
    await retention.trim()
    await world.take(prepare_ended("web1", ended(began(1), changed("/a"), events=1)))
    clock.advance(9 * 86_400)
    await retention.trim()
    await world.take(prepare_ended("web1", ended(began(2), changed("/a"), events=1)))
    assert [report.id for report in (await world.views.newest(ReportFilter())).reports] == [report_id(2), report_id(1)]
    clock.advance(2 * 86_400)
    await retention.trim()
    assert [report.id for report in (await world.views.newest(ReportFilter())).reports] == [report_id(2)]
    parts = await world.parts()
    assert sum(parts.values()) == 1
    if database.dialect is Dialect.POSTGRESQL:
        assert list(parts) == [f"report_event_{clock.now() - timedelta(days=2):%Y%m%d}"]


async def test_reports_are_never_deleted_without_a_retention(
    world: World, database: Database, clock: ManualClock
) -> None:
    await world.take(prepare_ended("web1", ended(began(1), changed("/a"), events=1)))
    clock.advance(4000 * 86_400)
    assert (
        await ReportRetention(
            database, world.reports, world.partitions, ClockGuard(database, "boot"), timedelta(0)
        ).trim()
        == 0
    )
    assert len((await world.views.newest(ReportFilter())).reports) == 1


async def test_partitions_are_created_ahead_unless_the_default_has_their_rows(world: World, clock: ManualClock) -> None:
    await world.take(prepare_ended("web1", ended(began(1), changed("/a"), events=1)))
    made = await world.partitions.prepare(clock.now())
    if world.database.dialect is Dialect.SQLITE:
        assert made == 0
        return
    assert made == 2 * AHEAD, "today has rows already"
    assert await ReportPartitions(world.database).prepare(clock.now()) == 0
    assert await world.parts() == {"report_event_rest": 1}
    clock.advance(86_400)
    assert await world.partitions.prepare(clock.now()) == 2
    await world.take(prepare_ended("web1", ended(began(2), changed("/a"), events=1)))
    assert await world.parts() == {"report_event_rest": 1, f"report_event_{clock.now():%Y%m%d}": 1}
    # Rows of the default partition are deleted one by one.
    assert await world.partitions.drop(clock.now()) == 0
    assert await world.reports.trim(clock.now(), 100) == 3


async def test_silent_run_is_ended_by_retention(world: World, database: Database, clock: ManualClock) -> None:
    await world.take(prepare_began("web1", began()))
    clock.advance(6 * 3600)
    await ReportRetention(
        database, world.reports, world.partitions, ClockGuard(database, "boot"), timedelta(days=1)
    ).trim()
    row = (await world.views.show(report_id(1))).report
    assert (row.state, row.why) == ("broken-off", "it reported nothing for 5 hours")
