"""Reports on both databases: one row for a run whose records arrive together, records in any grouping, losses, and nodes apart."""

import asyncio
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from precast.base.clock import ManualClock
from precast.services.reports.reports import EndedReport, ReportService, prepare_began, prepare_ended, prepare_events
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction
from precast.store.identity.certificates import NodeCertificates
from precast.store.reports.reports import Reports, ReportUpdate, delete_node_reports
from precast.store.reports.views import ReportCursor, ReportFilter, ReportReader
from precast.wire.reports.events import ResourceReport, Status
from precast.wire.reports.records import RunEvents, SlowResource, Timings, UneventfulResources, compress_rest
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
        self.ended: list[EndedReport] = []
        self.service = ReportService(database, self.reports, [self._record_ended])

    def _record_ended(self, ended_reports: Sequence[EndedReport]) -> Transaction[None]:
        self.ended += ended_reports
        return
        yield  # a unit that asks nothing

    async def take(self, *updates: ReportUpdate) -> None:
        await self.database.write(self.service.store, [(update.node, update) for update in updates])

    async def counts(self) -> tuple[int, ...]:
        return await self.database.read(counting)


@pytest.fixture
async def world(database: Database) -> World:
    for node in ("web1", "web2"):
        await database.write(NodeCertificates(database).lock_or_create, node)
    return World(database)


async def test_run_that_changed_nothing_is_one_row(world: World) -> None:
    await world.take(prepare_ended("web1", ended(began())))
    assert await world.counts() == (1, 0, 0)
    row = await world.reader.find_row(report_id(1))
    assert row is not None
    assert (row.state, row.mode, row.resources, row.changed, row.failed, row.lost) == ("ended", "enforce", 9, 0, 0, 0)
    assert (row.seconds, row.began_at, row.is_complete) == (1.5, AT, True)
    assert world.ended == [EndedReport("web1", report_id(1), "")]


async def test_records_that_arrive_apart_or_together_make_the_same_report(world: World) -> None:
    def updates(node: str, number: int) -> list[ReportUpdate]:
        start = began(number, order="o-1", catalog="c0ffee")
        return [
            prepare_began(node, start),
            prepare_events(node, RunEvents(start.report, 1, [changed("/a"), failed("b")])),
            prepare_events(node, RunEvents(start.report, 3, [changed("/c", is_corrective=True)])),
            prepare_ended(
                node, ended(start, changed("/d"), events=4, summary=summary(changed=3, failed=1, corrective=1))
            ),
        ]

    for update in updates("web1", 1):
        await world.take(update)
    await world.take(*updates("web2", 2))
    apart, together = [await world.reader.find_row(report_id(number)) for number in (1, 2)]
    assert apart is not None
    assert together is not None
    assert msgspec.structs.replace(apart, id="", node="") == msgspec.structs.replace(together, id="", node="")
    assert (apart.changed, apart.failed, apart.corrective, apart.events, apart.lost) == (3, 1, 1, 4, 0)
    for number in (1, 2):
        pages = await world.reader.list_pages(report_id(number), 0, 10)
        resources = [event["resource"] for page in pages for event in msgspec.json.decode(page.body)]
        assert resources == ["File[/a]", "Exec[b]", "File[/c]", "File[/d]"]
        assert [page.first for page in pages] == ([1, 3, 4] if number == 1 else [1]), (
            "records that arrive together are one page"
        )
    assert await world.counts() == (2, 4, 8)


async def test_counts_are_updated_during_a_run(world: World) -> None:
    await world.take(prepare_began("web1", began()))
    await world.take(prepare_events("web1", RunEvents(report_id(1), 1, [changed("/a"), failed("b")])))
    row = await world.reader.find_row(report_id(1))
    assert row is not None
    assert (row.state, row.changed, row.failed, row.events) == ("running", 1, 1, 2)


async def test_events_that_the_node_dropped_are_counted_as_lost(world: World) -> None:
    await world.take(prepare_events("web1", RunEvents(report_id(1), 5, [changed("/e")])))
    await world.take(prepare_ended("web1", ended(began(), events=7)))
    row = await world.reader.find_row(report_id(1))
    assert row is not None
    assert (row.events, row.lost, row.mode) == (7, 6, "enforce")


async def test_event_number_that_arrives_twice_counts_once(world: World, clock: ManualClock) -> None:
    start, other = began(1), began(2)
    twice = [prepare_events("web1", RunEvents(start.report, 1, [changed(path)])) for path in ("/a", "/b")]
    await world.take(prepare_began("web1", start), *twice, prepare_ended("web2", ended(other, changed("/c"), events=1)))
    clock.advance(1)
    lists = [await world.reader.list_events(f"File[{path}]", "", ReportCursor(clock.now()), 9) for path in ("/b", "/c")]
    assert [[event.number for event in events] for events in lists] == [[1], [1]]


async def test_node_cannot_write_into_the_report_of_another(world: World) -> None:
    await world.take(prepare_began("web1", began(mode="noop")))
    await world.take(
        prepare_began("web2", began(mode="enforce")),
        prepare_events("web2", RunEvents(report_id(1), 1, [failed("b")])),
    )
    await world.take(prepare_ended("web2", ended(began(), failed("b"), events=1)))
    row = await world.reader.find_row(report_id(1))
    assert row is not None
    assert (row.node, row.mode, row.state, row.failed, row.events) == ("web1", "noop", "running", 0, 0)
    assert await world.counts() == (1, 0, 0)


async def test_run_is_broken_off_when_the_next_run_begins(world: World) -> None:
    await world.take(prepare_began("web1", began(1)))
    await world.take(prepare_began("web2", began(3)))
    await world.take(prepare_began("web1", began(2)))
    rows = [await world.reader.find_row(report_id(number)) for number in (1, 2, 3)]
    assert [row.state for row in rows if row is not None] == ["broken-off", "running", "running"]


async def test_silent_run_is_broken_off_and_may_still_end(world: World, clock: ManualClock) -> None:
    await world.take(prepare_began("web1", began()))
    clock.advance(60)
    assert await world.reports.break_off(clock.now() - timedelta(seconds=60), "nothing was heard") == 0
    assert await world.reports.break_off(clock.now(), "nothing was heard") == 1
    row = await world.reader.find_row(report_id(1))
    assert row is not None
    assert (row.state, row.why) == ("broken-off", "nothing was heard")
    await world.take(prepare_ended("web1", ended(began())))
    row = await world.reader.find_row(report_id(1))
    assert row is not None
    assert (row.state, row.why) == ("ended", "")


async def test_end_without_a_summary_keeps_the_counts_so_far(world: World) -> None:
    await world.take(prepare_events("web1", RunEvents(report_id(1), 1, [changed("/a"), failed("b")])))
    await world.take(prepare_ended("web1", ended(began(), events=2, how="broken-off", summary=None, why="killed")))
    row = await world.reader.find_row(report_id(1))
    assert row is not None
    assert (row.state, row.changed, row.failed, row.resources, row.why) == ("broken-off", 1, 1, 9, "killed")


async def test_lists_are_filtered_and_newest_first(world: World, clock: ManualClock) -> None:
    job = str(uuid.UUID(int=7))
    orders = {5: f"{job}.1.1", 6: f"{job}.1.2"}
    for number in range(1, 7):
        node = "web1" if number % 2 else "web2"
        bad = summary(failed=1) if number in (2, 3) else summary(changed=1) if number == 4 else summary()
        await world.take(prepare_ended(node, ended(began(number, order=orders.get(number, "")), summary=bad)))
        clock.advance(1)

    async def ids(wanted: ReportFilter, limit: int = 10) -> list[int]:
        rows = await world.reader.list_newest(wanted, ReportCursor(clock.now()), limit)
        return [int(report.row.id[-4:], 16) for report in rows]

    assert await ids(ReportFilter()) == [6, 5, 4, 3, 2, 1]
    assert await ids(ReportFilter(node="web1")) == [5, 3, 1]
    assert await ids(ReportFilter(is_failed=True)) == [3, 2]
    assert await ids(ReportFilter(is_changed=True)) == [4]
    assert await ids(ReportFilter(order=job)) == [6, 5]
    assert await ids(ReportFilter(order=orders[5])) == [5]
    assert await ids(ReportFilter(node="web1", is_failed=True)) == [3]
    assert await ids(ReportFilter(state="running")) == []
    first = await world.reader.list_newest(ReportFilter(), ReportCursor(clock.now()), 4)
    rest = await world.reader.list_newest(ReportFilter(), ReportCursor(first[-1].received_at, first[-1].row.id), 4)
    assert [int(report.row.id[-4:], 16) for report in rest] == [2, 1]


async def test_events_of_a_resource_are_found_across_nodes(world: World, clock: ManualClock) -> None:
    await world.take(prepare_ended("web1", ended(began(1), failed("b"), changed("/a"), events=2)))
    clock.advance(1)
    await world.take(prepare_ended("web2", ended(began(2), changed("/a"), events=1)))
    clock.advance(1)
    events = await world.reader.list_events("File[/a]", "", ReportCursor(clock.now()), 10)
    assert [(event.node, event.status) for event in events] == [("web2", "changed"), ("web1", "changed")]
    (bad,) = await world.reader.list_events("", "", ReportCursor(clock.now()), 10)
    assert (bad.node, bad.resource, bad.message) == ("web1", "Exec[b]", "returned 1 instead of 0")


async def test_detail_is_stored_completely(world: World) -> None:
    rest = compress_rest(UneventfulResources(["File[/x]"], {"its tags": ["File[/y]"]}))
    timings = Timings({"plan": 0.25}, [SlowResource("Exec[b]", 3.5)])
    await world.take(
        prepare_ended(
            "web1", ended(began(is_stale=True, stale_since=AT, stale_why="server away"), timings=timings, rest=rest)
        )
    )
    stored = await world.reader.find(report_id(1))
    assert stored is not None
    assert stored.rest == rest
    assert await world.reader.list_pages(report_id(1), 0, 10) == [], "the rest is no event"
    detail = msgspec.json.decode(stored.detail)
    assert detail["phases"] == {"plan": 0.25}
    assert detail["slowest"] == [{"resource": "Exec[b]", "seconds": 3.5}]
    assert detail["stale_why"] == "server away"
    assert stored.row.is_stale


async def test_nul_characters_are_replaced(world: World) -> None:
    bad = ResourceReport("File[a\0b]", Status.FAILED, reason="no\0", events=())
    start = began(catalog="a\0", order="\0")
    await world.take(prepare_ended("web1", ended(start, bad, events=1, why="\0")))
    (event,) = await world.reader.list_events("", "", ReportCursor(datetime(2100, 1, 1, tzinfo=UTC)), 10)
    assert event.resource == "File[a�b]"


async def test_old_reports_are_trimmed_in_batches_and_all_reports_of_a_node_are_deleted(
    world: World, clock: ManualClock
) -> None:
    for number in (1, 2, 3):
        await world.take(prepare_ended("web1", ended(began(number), changed("/a"), changed("/b"), events=2)))
    clock.advance(10)
    await world.take(prepare_ended("web2", ended(began(4), changed("/a"), events=1)))
    assert await world.reports.trim(clock.now(), 2) == 6
    while await world.reports.trim(clock.now(), 2):
        pass
    assert await world.counts() == (1, 1, 1)
    await world.database.write(delete_node_reports, "web1")
    assert await world.counts() == (1, 1, 1)
    await world.database.write(delete_node_reports, "web2")
    assert await world.counts() == (0, 0, 0)


async def test_concurrent_reports_of_many_nodes_are_stored_once_each(world: World, database: Database) -> None:
    for number in range(40):
        await database.write(NodeCertificates(database).lock_or_create, f"db{number}")

    async def send(number: int) -> None:
        start = began(100 + number)
        await world.take(prepare_began(f"db{number}", start))
        await world.take(prepare_events(f"db{number}", RunEvents(start.report, 1, [changed("/a")] * 20)))
        await world.take(prepare_ended(f"db{number}", ended(start, events=20)))

    await asyncio.gather(*map(send, range(40)))
    assert await world.counts() == (40, 40, 800)
