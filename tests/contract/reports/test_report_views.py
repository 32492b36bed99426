"""Reports as people see them, and how they are forgotten, on both databases."""

import asyncio
from datetime import timedelta

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import InputError, NotFoundError
from precast.services.reports.reports import ReportService, prepare_began, prepare_ended, prepare_events
from precast.services.reports.retention import ReportRetention
from precast.services.reports.views import MAX_EVENTS, ReportViews
from precast.store.engine.database import Database
from precast.store.engine.query import Dialect, Query, Transaction
from precast.store.identity.certificates import Nodes
from precast.store.reports.partitions import AHEAD, ReportPartitions
from precast.store.reports.reports import Reports, Told
from precast.store.reports.views import ReportReader, Wanted
from precast.wire.reports.records import Rest, RunEvents, Slow, Timings, pack_rest
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

    async def take(self, *told: Told) -> None:
        await self.database.write(self.service.taking, [(one.node, one) for one in told])

    async def parts(self) -> dict[str, int]:
        def reading() -> Transaction[dict[str, int]]:
            return {row[0]: row[1] for row in (yield PARTS())}

        return await self.database.read(reading)


@pytest.fixture
async def world(database: Database) -> World:
    for node in ("web1", "web2"):
        await database.write(Nodes(database).taking, node)
    return World(database)


async def test_report_is_shown_with_what_is_only_known_at_its_end(world: World) -> None:
    start = began(is_stale=True, stale_since=AT, stale_why="no server could be asked")
    rest = pack_rest(Rest(["File[/x]"], {"its tags": ["File[/y]"]}))
    timings = Timings({"plan": 0.25}, [Slow("Exec[b]", 3.5)])
    await world.take(prepare_ended("web1", ended(start, timings=timings, rest=rest)))
    view = await world.views.show(report_id(1))
    assert (view.stale_since, view.stale_why, view.report.is_stale) == (AT, "no server could be asked", True)
    assert (view.phases, view.slowest) == ({"plan": 0.25}, [Slow("Exec[b]", 3.5)])
    assert (view.rest, view.left_out) == (["File[/x]"], {"its tags": ["File[/y]"]})
    with pytest.raises(NotFoundError, match="there is no report"):
        await world.views.show(report_id(2))


async def test_rest_that_is_none_is_shown_as_none(world: World) -> None:
    await world.take(prepare_ended("web1", ended(began(1), rest=b"no zlib stream")))
    await world.take(prepare_ended("web1", ended(began(2))))
    assert (await world.views.show(report_id(1))).rest is None
    assert (await world.views.show(report_id(2))).rest is None


async def test_events_go_on_after_a_number_and_end_with_the_report(world: World) -> None:
    await world.take(prepare_began("web1", began()))
    await world.take(prepare_events("web1", RunEvents(report_id(1), 1, [changed(f"/{n}") for n in range(1, 4)])))
    page = await world.views.events(report_id(1), 1)
    assert [(one.number, one.resource) for one in page.events] == [(2, "File[/2]"), (3, "File[/3]")]
    assert (page.last, page.report.is_over) == (3, False)
    await world.take(prepare_ended("web1", ended(began(), failed("b"), events=4)))
    page = await world.views.events(report_id(1), 3)
    assert ([one.number for one in page.events], page.last, page.report.is_over) == ([4], 4, True)
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
        numbers += [one.number for one in page.events]
    assert numbers == list(range(1, 2001))


async def test_lost_events_do_not_hold_up_a_viewer(world: World) -> None:
    await world.take(prepare_ended("web1", ended(began(), events=7)))
    page = await world.views.events(report_id(1), 0)
    assert (page.events, page.last, page.report.lost) == ([], 7, 7)


async def test_who_waits_is_woken_by_the_next_event(world: World, other_database: Database) -> None:
    """Also on another server."""
    await world.take(prepare_began("web1", began()))
    elsewhere = ReportViews(other_database, ReportReader(other_database))
    await other_database.wakeups.listening()
    waiting = [
        asyncio.create_task(views.events(report_id(1), 0, 60.0)) for views in (world.views, world.views, elsewhere)
    ]
    await asyncio.sleep(0)
    await world.take(prepare_events("web1", RunEvents(report_id(1), 1, [changed("/a")])))
    async with asyncio.timeout(20):
        for page in await asyncio.gather(*waiting):
            assert [one.resource for one in page.events] == ["File[/a]"]


async def test_list_goes_on_where_the_page_before_ended(world: World, clock: ManualClock) -> None:
    for number in range(1, 6):
        await world.take(prepare_ended("web1", ended(began(number))))
        clock.advance(number % 2)  # some at the same moment
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await world.views.newest(Wanted(), after, 2)
        found += [one.id for one in page.reports]
        after = page.after
    assert found == [report_id(number) for number in (5, 4, 3, 2, 1)]
    for bad in ("x", "1", "1.", "99999999999999999999.x", "1.x/y"):
        with pytest.raises(InputError, match="after="):
            await world.views.newest(Wanted(), bad)


async def test_old_reports_are_forgotten_by_part_or_in_bites(
    world: World, database: Database, clock: ManualClock
) -> None:
    retention = ReportRetention(database, world.reports, world.partitions, timedelta(days=10))
    await retention.trim()
    await world.take(prepare_ended("web1", ended(began(1), changed("/a"), events=1)))
    clock.advance(9 * 86_400)
    await retention.trim()
    await world.take(prepare_ended("web1", ended(began(2), changed("/a"), events=1)))
    assert [one.id for one in (await world.views.newest(Wanted())).reports] == [report_id(2), report_id(1)]
    clock.advance(2 * 86_400)
    await retention.trim()
    assert [one.id for one in (await world.views.newest(Wanted())).reports] == [report_id(2)]
    parts = await world.parts()
    assert sum(parts.values()) == 1
    if database.dialect is Dialect.POSTGRESQL:
        assert list(parts) == [f"report_event_{clock.now() - timedelta(days=2):%Y%m%d}"]


async def test_reports_are_kept_for_ever_if_it_is_said_so(world: World, database: Database, clock: ManualClock) -> None:
    await world.take(prepare_ended("web1", ended(began(1), changed("/a"), events=1)))
    clock.advance(4000 * 86_400)
    assert await ReportRetention(database, world.reports, world.partitions, timedelta(0)).trim() == 0
    assert len((await world.views.newest(Wanted())).reports) == 1


async def test_parts_are_made_ahead_and_not_where_the_rest_has_rows(world: World, clock: ManualClock) -> None:
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
    # What is in the rest goes row by row.
    assert await world.partitions.drop(clock.now()) == 0
    assert await world.reports.trim(clock.now(), 100) == 3


async def test_run_that_fell_silent_is_ended_by_retention(world: World, database: Database, clock: ManualClock) -> None:
    await world.take(prepare_began("web1", began()))
    clock.advance(6 * 3600)
    await ReportRetention(database, world.reports, world.partitions, timedelta(days=1)).trim()
    row = (await world.views.show(report_id(1))).report
    assert (row.state, row.why) == ("broken-off", "nothing was heard of it for 5 hours")
