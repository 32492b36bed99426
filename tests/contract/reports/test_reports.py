"""Reports on both databases: one row for a run told at once, parts in any grouping, losses shown, nobody writes another's."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from precast.base.clock import ManualClock
from precast.services.reports.reports import Ended, ReportService, prepare_began, prepare_ended, prepare_events
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.store.identity.certificates import Nodes
from precast.store.reports.reports import Reports, Told, forgetting
from precast.store.reports.views import Place, ReportReader, Wanted
from precast.wire.reports.events import ResourceReport, Status
from precast.wire.reports.records import Rest, RunEvents, Slow, Timings, pack_rest
from tests.contract.reports.report_site import AT, began, changed, ended, failed, report_id, summary

COUNT = Query(
    "test.count",
    "SELECT (SELECT count(*) FROM report), (SELECT count(*) FROM report_page), (SELECT count(*) FROM report_event)",
)


def counting() -> Transaction[tuple[int, ...]]:
    (row,) = yield COUNT()
    return tuple(row)


class World:
    """The report service of one server."""

    def __init__(self, database: Database) -> None:
        self.database, self.reports, self.reader = database, Reports(database), ReportReader(database)
        self.heard: list[Ended] = []
        self.service = ReportService(database, self.reports, [self._hear])

    def _hear(self, found: Sequence[Ended]) -> Transaction[None]:
        self.heard += found
        return
        yield  # a unit that asks nothing

    async def take(self, *told: Told) -> None:
        await self.database.write(self.service.taking, [(one.node, one) for one in told])

    async def counts(self) -> tuple[int, ...]:
        return await self.database.read(counting)


@pytest.fixture
async def world(database: Database) -> World:
    for node in ("web1", "web2"):
        await database.write(Nodes(database).taking, node)
    return World(database)


async def test_run_that_changed_nothing_is_one_row(world: World) -> None:
    await world.take(prepare_ended("web1", ended(began())))
    assert await world.counts() == (1, 0, 0)
    row = await world.reader.row(report_id(1))
    assert row is not None
    assert (row.state, row.mode, row.resources, row.changed, row.failed, row.lost) == ("ended", "enforce", 9, 0, 0, 0)
    assert (row.seconds, row.began_at, row.is_complete) == (1.5, AT, True)
    assert world.heard == [Ended("web1", report_id(1), "")]


async def test_parts_that_come_apart_or_together_make_the_same_report(world: World) -> None:
    def told(node: str, number: int) -> list[Told]:
        start = began(number, order="o-1", catalog="c0ffee")
        return [
            prepare_began(node, start),
            prepare_events(node, RunEvents(start.report, 1, [changed("/a"), failed("b")])),
            prepare_events(node, RunEvents(start.report, 3, [changed("/c", is_corrective=True)])),
            prepare_ended(
                node, ended(start, changed("/d"), events=4, summary=summary(changed=3, failed=1, corrective=1))
            ),
        ]

    for one in told("web1", 1):
        await world.take(one)
    await world.take(*told("web2", 2))
    apart, together = [await world.reader.row(report_id(number)) for number in (1, 2)]
    assert apart is not None
    assert together is not None
    assert msgspec.structs.replace(apart, id="", node="") == msgspec.structs.replace(together, id="", node="")
    assert (apart.changed, apart.failed, apart.corrective, apart.events, apart.lost) == (3, 1, 1, 4, 0)
    for number in (1, 2):
        pages = await world.reader.pages(report_id(number), 0, 10)
        found = [one["resource"] for page in pages for one in msgspec.json.decode(page.body)]
        assert found == ["File[/a]", "Exec[b]", "File[/c]", "File[/d]"]
        assert [page.first for page in pages] == ([1, 3, 4] if number == 1 else [1]), "what came together is one page"
    assert await world.counts() == (2, 4, 8)


async def test_counts_are_live_while_a_run_goes_on(world: World) -> None:
    await world.take(prepare_began("web1", began()))
    await world.take(prepare_events("web1", RunEvents(report_id(1), 1, [changed("/a"), failed("b")])))
    row = await world.reader.row(report_id(1))
    assert row is not None
    assert (row.state, row.changed, row.failed, row.events) == ("running", 1, 1, 2)


async def test_events_that_were_dropped_on_the_node_are_counted_as_lost(world: World) -> None:
    await world.take(prepare_events("web1", RunEvents(report_id(1), 5, [changed("/e")])))
    await world.take(prepare_ended("web1", ended(began(), events=7)))
    row = await world.reader.row(report_id(1))
    assert row is not None
    assert (row.events, row.lost, row.mode) == (7, 6, "enforce")


async def test_number_that_is_told_twice_at_once_counts_once_and_hurts_nobody(world: World, clock: ManualClock) -> None:
    start, other = began(1), began(2)
    twice = [prepare_events("web1", RunEvents(start.report, 1, [changed(path)])) for path in ("/a", "/b")]
    await world.take(prepare_began("web1", start), *twice, prepare_ended("web2", ended(other, changed("/c"), events=1)))
    clock.advance(1)
    found = [await world.reader.events(f"File[{path}]", "", Place(clock.now()), 9) for path in ("/b", "/c")]
    assert [[one.number for one in events] for events in found] == [[1], [1]]


async def test_node_cannot_write_into_the_report_of_another(world: World) -> None:
    await world.take(prepare_began("web1", began(mode="noop")))
    await world.take(
        prepare_began("web2", began(mode="enforce")),
        prepare_events("web2", RunEvents(report_id(1), 1, [failed("b")])),
    )
    await world.take(prepare_ended("web2", ended(began(), failed("b"), events=1)))
    row = await world.reader.row(report_id(1))
    assert row is not None
    assert (row.node, row.mode, row.state, row.failed, row.events) == ("web1", "noop", "running", 0, 0)
    assert await world.counts() == (1, 0, 0)


async def test_run_is_broken_off_when_the_next_one_begins(world: World) -> None:
    await world.take(prepare_began("web1", began(1)))
    await world.take(prepare_began("web2", began(3)))
    await world.take(prepare_began("web1", began(2)))
    rows = [await world.reader.row(report_id(number)) for number in (1, 2, 3)]
    assert [row.state for row in rows if row is not None] == ["broken-off", "running", "running"]


async def test_run_of_which_nothing_is_heard_is_broken_off_and_may_still_end(world: World, clock: ManualClock) -> None:
    await world.take(prepare_began("web1", began()))
    clock.advance(60)
    assert await world.reports.break_off(clock.now() - timedelta(seconds=60), "nothing was heard") == 0
    assert await world.reports.break_off(clock.now(), "nothing was heard") == 1
    row = await world.reader.row(report_id(1))
    assert row is not None
    assert (row.state, row.why) == ("broken-off", "nothing was heard")
    await world.take(prepare_ended("web1", ended(began())))
    row = await world.reader.row(report_id(1))
    assert row is not None
    assert (row.state, row.why) == ("ended", "")


async def test_end_without_sums_keeps_what_was_told(world: World) -> None:
    await world.take(prepare_events("web1", RunEvents(report_id(1), 1, [changed("/a"), failed("b")])))
    await world.take(prepare_ended("web1", ended(began(), events=2, how="broken-off", summary=None, why="killed")))
    row = await world.reader.row(report_id(1))
    assert row is not None
    assert (row.state, row.changed, row.failed, row.resources, row.why) == ("broken-off", 1, 1, 9, "killed")


async def test_lists_are_newest_first_by_what_is_asked_for(world: World, clock: ManualClock) -> None:
    for number in range(1, 7):
        node = "web1" if number % 2 else "web2"
        bad = summary(failed=1) if number in (2, 3) else summary(changed=1) if number == 4 else summary()
        await world.take(prepare_ended(node, ended(began(number, order="o-1" if number > 4 else ""), summary=bad)))
        clock.advance(1)

    async def ids(wanted: Wanted, limit: int = 10) -> list[int]:
        rows = await world.reader.newest(wanted, Place(clock.now()), limit)
        return [int(one.row.id[-4:], 16) for one in rows]

    assert await ids(Wanted()) == [6, 5, 4, 3, 2, 1]
    assert await ids(Wanted(node="web1")) == [5, 3, 1]
    assert await ids(Wanted(is_failed=True)) == [3, 2]
    assert await ids(Wanted(is_changed=True)) == [4]
    assert await ids(Wanted(order="o-1")) == [6, 5]
    assert await ids(Wanted(node="web1", is_failed=True)) == [3]
    assert await ids(Wanted(state="running")) == []
    first = await world.reader.newest(Wanted(), Place(clock.now()), 4)
    rest = await world.reader.newest(Wanted(), Place(first[-1].received_at, first[-1].row.id), 4)
    assert [int(one.row.id[-4:], 16) for one in rest] == [2, 1]


async def test_what_happened_to_a_resource_is_found_across_nodes(world: World, clock: ManualClock) -> None:
    await world.take(prepare_ended("web1", ended(began(1), failed("b"), changed("/a"), events=2)))
    clock.advance(1)
    await world.take(prepare_ended("web2", ended(began(2), changed("/a"), events=1)))
    clock.advance(1)
    found = await world.reader.events("File[/a]", "", Place(clock.now()), 10)
    assert [(one.node, one.status) for one in found] == [("web2", "changed"), ("web1", "changed")]
    (bad,) = await world.reader.events("", "", Place(clock.now()), 10)
    assert (bad.node, bad.resource, bad.message) == ("web1", "Exec[b]", "returned 1 instead of 0")


async def test_detail_is_kept_whole(world: World) -> None:
    rest = pack_rest(Rest(["File[/x]"], {"its tags": ["File[/y]"]}))
    timings = Timings({"plan": 0.25}, [Slow("Exec[b]", 3.5)])
    await world.take(
        prepare_ended(
            "web1", ended(began(is_stale=True, stale_since=AT, stale_why="server away"), timings=timings, rest=rest)
        )
    )
    stored = await world.reader.show(report_id(1))
    assert stored is not None
    assert stored.rest == rest
    assert await world.reader.pages(report_id(1), 0, 10) == [], "the rest is no event"
    detail = msgspec.json.decode(stored.detail)
    assert detail["phases"] == {"plan": 0.25}
    assert detail["slowest"] == [{"resource": "Exec[b]", "seconds": 3.5}]
    assert detail["stale_why"] == "server away"
    assert stored.row.is_stale


async def test_what_a_database_cannot_hold_is_replaced(world: World) -> None:
    bad = ResourceReport("File[a\0b]", Status.FAILED, reason="no\0", events=())
    start = began(catalog="a\0", order="\0")
    await world.take(prepare_ended("web1", ended(start, bad, events=1, why="\0")))
    (found,) = await world.reader.events("", "", Place(datetime(2100, 1, 1, tzinfo=UTC)), 10)
    assert found.resource == "File[a�b]"


async def test_old_reports_are_trimmed_in_bites_and_a_node_is_forgotten_whole(world: World, clock: ManualClock) -> None:
    for number in (1, 2, 3):
        await world.take(prepare_ended("web1", ended(began(number), changed("/a"), changed("/b"), events=2)))
    clock.advance(10)
    await world.take(prepare_ended("web2", ended(began(4), changed("/a"), events=1)))
    assert await world.reports.trim(clock.now(), 2) == 6
    while await world.reports.trim(clock.now(), 2):
        pass
    assert await world.counts() == (1, 1, 1)
    await world.database.write(forgetting, "web1")
    assert await world.counts() == (1, 1, 1)
    await world.database.write(forgetting, "web2")
    assert await world.counts() == (0, 0, 0)


async def test_many_nodes_at_once_are_stored_each_once(world: World, database: Database) -> None:
    for number in range(40):
        await database.write(Nodes(database).taking, f"db{number}")

    async def one(number: int) -> None:
        start = began(100 + number)
        await world.take(prepare_began(f"db{number}", start))
        await world.take(prepare_events(f"db{number}", RunEvents(start.report, 1, [changed("/a")] * 20)))
        await world.take(prepare_ended(f"db{number}", ended(start, events=20)))

    await asyncio.gather(*map(one, range(40)))
    assert await world.counts() == (40, 40, 800)
