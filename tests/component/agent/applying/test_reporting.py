"""How a run is reported: a short run by one record, a long run in batches, a broken one by the next run, and all within bounds."""

import random
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from precast.agent.applying.lease import lease_held
from precast.agent.applying.reporting import reporter as reporting
from precast.agent.applying.reporting.encoding import CUT, MAX_REPORT_BYTES, UntouchedNames, encode_report, is_reported
from precast.agent.applying.reporting.reporter import Reporter, close_open_reports
from precast.agent.state.spool import Spool, SpoolLimits
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.base.ids import TimeOrderedIds
from precast.wire.reports import records as wire
from precast.wire.reports.events import Event, Log, ResourceReport, Status, Summary
from precast.wire.reports.records import RunBegan, RunEnded, RunEvents, decompress_rest

LIMITS = SpoolLimits()
SUMMARY = Summary(3, 3, 0, 0, 0, 0, 0, 0, 0, 0.5, False, True)


class World:
    """A local store and the records in its spool."""

    def __init__(self, root: Path) -> None:
        self.root, self.clock = root, ManualClock()
        self.store = self.open()
        self.spool = Spool(self.store, LIMITS)
        self._ids = TimeOrderedIds(self.clock)

    def open(self) -> LocalStore:
        return LocalStore.open(self.root, lambda: "one", self.clock)

    def reporter(self) -> Reporter:
        def describe(store: LocalStore) -> RunBegan:
            return RunBegan(self._ids.new(), "enforce", "hand", store.clock.now(), resources=3)

        return Reporter(describe, LIMITS, self.open)

    def begin(self) -> Reporter:
        reporter = self.reporter()
        with self.store.transaction() as db:
            reporter.begin(self.store, db)
        return reporter

    def end(self, reporter: Reporter, summary: Summary = SUMMARY) -> None:
        reporter.stop()
        with self.store.transaction() as db:
            reporter.end(self.store, db, "ended", summary, {"plan": 0.25})

    def records(self) -> list[tuple[str, bytes]]:
        return [(kind, body) for kind, body in self.store.read("SELECT kind, body FROM record ORDER BY id")]

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.records()]

    def ended(self) -> RunEnded:
        kind, body = self.records()[-1]
        assert kind == wire.ENDED
        return msgspec.json.decode(body, type=RunEnded)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


def changed(title: str, diff: str | None = None) -> ResourceReport:
    ref = f"File[{title}]"
    return ResourceReport(ref, Status.CHANGED, (Event(ref, "success", "changed", "content", diff=diff),))


def unchanged(title: str, *logs: Log) -> ResourceReport:
    return ResourceReport(f"File[{title}]", Status.UNCHANGED, logs=logs)


def skipped(title: str, reason: str) -> ResourceReport:
    return ResourceReport(f"File[{title}]", Status.SKIPPED, reason=reason)


def test_run_that_is_in_sync_is_one_small_record(world: World) -> None:
    reporter = world.begin()
    reporter.start()
    for number in range(1000):
        reporter.add(unchanged(f"/{number}"))
    world.end(reporter)
    ((kind, body),) = world.records()
    assert kind == wire.ENDED
    assert len(body) < 700
    told = world.ended()
    assert (told.how, told.events, told.reports, told.rest) == ("ended", 0, [], b"")
    assert told.summary == SUMMARY
    assert told.timings.phases == {"plan": 0.25}


def test_short_run_is_reported_with_its_end_and_names_the_rest(world: World) -> None:
    reporter = world.begin()
    reporter.start()
    reporter.add(unchanged("/a"))
    reporter.add(changed("/b"))
    reporter.add(skipped("/c", "none of its tags is asked for"))
    reporter.add(skipped("/d", "it depends on File[/b], which failed"))
    world.end(reporter)
    told = world.ended()
    assert [report.resource for report in told.reports] == ["File[/b]", "File[/d]"]
    assert told.events == 2
    rest = decompress_rest(told.rest)
    assert rest is not None
    assert (rest.unchanged, rest.left_out) == (["File[/a]"], {"none of its tags is asked for": ["File[/c]"]})


def test_long_run_is_reported_while_it_takes_place(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    knocks = threading.Semaphore(0)
    monkeypatch.setattr(reporting, "wake_daemon", lambda directory: knocks.release())
    monkeypatch.setattr(reporting, "BATCH_S", 0.01)
    reporter = world.begin()
    reporter.start()
    assert knocks.acquire(timeout=30)
    assert world.kinds() == [wire.BEGAN]
    reporter.add(changed("/a"))
    assert knocks.acquire(timeout=30)
    assert world.kinds() == [wire.BEGAN, wire.EVENTS]
    reporter.add(changed("/b"))
    assert knocks.acquire(timeout=30)
    world.end(reporter)
    told = world.records()
    events = [msgspec.json.decode(body, type=RunEvents) for kind, body in told if kind == wire.EVENTS]
    assert [(batch.first, [report.resource for report in batch.reports]) for batch in events] == [
        (1, ["File[/a]"]),
        (2, ["File[/b]"]),
    ]
    assert (world.ended().events, world.ended().reports) == (2, [])


def test_large_batches_are_written_at_once_and_numbers_have_no_gaps(world: World) -> None:
    reporter = world.begin()
    reporter.start()
    for number in range(3000):
        reporter.add(changed(f"/{number}", diff="x" * 1000))
    world.end(reporter)
    numbers: list[int] = []
    for kind, body in world.records():
        if kind == wire.EVENTS:
            batch = msgspec.json.decode(body, type=RunEvents)
            assert len(body) < 2 * reporting.BATCH_BYTES
            numbers += range(batch.first, batch.first + len(batch.reports))
    told = world.ended()
    numbers += range(told.events - len(told.reports) + 1, told.events + 1)
    assert numbers == list(range(1, 3001))


def test_run_waits_while_too_many_reports_are_unwritten(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "MAX_QUEUED_BYTES", 10_000)
    monkeypatch.setattr(reporting, "BATCH_BYTES", 5_000)
    reporter = world.begin()
    reporter.start()
    most = 0
    for number in range(500):
        reporter.add(changed(f"/{number}", diff="x" * 500))
        most = max(most, reporter._queued_bytes)
    world.end(reporter)
    assert most < 11_000
    assert world.ended().events == 500


def test_full_disk_does_not_stop_a_run_and_leaves_a_gap(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = threading.Event()

    def refuse(store: LocalStore, *rest: object) -> None:
        taken.set()

    monkeypatch.setattr(Reporter, "_put", refuse)
    reporter = world.begin()
    reporter.start()
    for number in range(600):
        reporter.add(changed(f"/{number}"))
    assert taken.wait(30)
    world.end(reporter)
    told = world.ended()
    assert told.events == 600
    assert len(told.reports) < 600


def test_killed_run_is_reported_as_broken_off_by_the_next(world: World) -> None:
    world.begin()
    assert world.records() == []
    world.end(world.begin())
    first, second = [msgspec.json.decode(body, type=RunEnded) for _, body in world.records()]
    assert (first.how, first.summary, first.why) == ("broken-off", None, "its process ended before it did")
    assert second.how == "ended"
    assert first.began.report != second.began.report


def test_daemon_closes_open_reports_only_while_no_run_is_active(world: World) -> None:
    with lease_held(world.store, "test"):
        world.begin()
        assert not close_open_reports(world.store, world.spool)
        assert world.records() == []
    assert close_open_reports(world.store, world.spool)
    assert world.ended().how == "broken-off"
    assert not close_open_reports(world.store, world.spool)


def test_run_that_could_not_begin_is_reported_with_its_reason(world: World) -> None:
    reporter = world.begin()
    reporter.start()
    reporter.give_up(world.store, "the graph has a circle [CATALOG-001]")
    told = world.ended()
    assert (told.how, told.why, told.summary) == ("not-run", "the graph has a circle [CATALOG-001]", None)
    assert not close_open_reports(world.store, world.spool)


def test_withdrawn_run_is_not_reported(world: World) -> None:
    world.begin().withdraw(world.store)
    assert not close_open_reports(world.store, world.spool)
    assert world.records() == []


def test_slowest_resources_are_listed_whatever_their_status(world: World) -> None:
    reporter = world.begin()
    for number in range(30):
        reporter.add(msgspec.structs.replace(unchanged(f"/{number}"), seconds=float(number)))
    world.end(reporter)
    assert [slow.resource for slow in world.ended().timings.slowest] == [f"File[/{n}]" for n in range(29, 19, -1)]


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (unchanged("/a"), False),
        (unchanged("/a", Log("File[/a]", "debug", "looked")), False),
        (unchanged("/a", Log("File[/a]", "warning", "odd")), True),
        (changed("/a"), True),
        (skipped("/a", "its schedule does not allow it now"), False),
        (skipped("/a", "it depends on Exec[b], which failed"), True),
        (ResourceReport("File[/a]", Status.WAITING, reason="no value yet"), True),
    ],
)
def test_only_resources_with_events_are_reported_one_by_one(report: ResourceReport, expected: bool) -> None:
    assert is_reported(report) is expected


def test_large_report_is_cut_and_keeps_its_messages() -> None:
    ref = "Exec[a]"
    huge = "x" * 100_000
    events = tuple(Event(ref, "success", huge, "p", huge, huge, diff=huge) for _ in range(50))
    report = ResourceReport(ref, Status.CHANGED, events, tuple(Log(ref, "notice", huge) for _ in range(500)))
    data = encode_report(report)
    assert len(data) <= 3 * MAX_REPORT_BYTES
    read = msgspec.json.decode(data, type=ResourceReport)
    assert read.events[0].message.endswith(CUT)
    assert read.status is Status.CHANGED


def test_too_many_names_are_replaced_by_a_note() -> None:
    names = UntouchedNames()
    rng = random.Random(1)
    for _ in range(30_000):
        names.add(unchanged(f"/{rng.getrandbits(128):x}"))
    rest = decompress_rest(names.compress(is_all_in_sync=False))
    assert rest is not None
    assert (rest.unchanged, rest.left_out) == ([], {"too many to be named": []})


def test_end_time_is_that_of_the_clock(world: World) -> None:
    reporter = world.begin()
    world.clock.advance(5)
    world.end(reporter)
    assert world.ended().ended_at == datetime(2030, 1, 1, 0, 0, 5, tzinfo=UTC)
