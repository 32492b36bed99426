"""How a run is told: one record for a short one, batches for a long one, a broken one closed by the next, and all of it bounded."""

import random
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from precast.agent.applying.lease import held
from precast.agent.applying.reporting import stream as reporting
from precast.agent.applying.reporting.parts import CUT, MOST_BYTES, Names, encoded, is_told
from precast.agent.applying.reporting.stream import Reporter, close_open
from precast.agent.state.spool import Limits, Spool
from precast.agent.state.store import LocalStore
from precast.base.clock import ManualClock
from precast.base.ids import TimeOrderedIds
from precast.wire.reports import records as wire
from precast.wire.reports.events import Event, Log, ResourceReport, Status, Summary
from precast.wire.reports.records import RunBegan, RunEnded, RunEvents, unpack_rest

LIMITS = Limits()
SUMMARY = Summary(3, 3, 0, 0, 0, 0, 0, 0, 0, 0.5, False, True)


class World:
    """A local store and what is in its spool."""

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
        with self.store.writing() as db:
            reporter.begin(self.store, db)
        return reporter

    def end(self, reporter: Reporter, summary: Summary = SUMMARY) -> None:
        reporter.stop()
        with self.store.writing() as db:
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
    found = World(tmp_path)
    yield found
    found.store.close()


def changed(title: str, diff: str | None = None) -> ResourceReport:
    ref = f"File[{title}]"
    return ResourceReport(ref, Status.CHANGED, (Event(ref, "success", "changed", "content", diff=diff),))


def unchanged(title: str, *logs: Log) -> ResourceReport:
    return ResourceReport(f"File[{title}]", Status.UNCHANGED, logs=logs)


def skipped(title: str, reason: str) -> ResourceReport:
    return ResourceReport(f"File[{title}]", Status.SKIPPED, reason=reason)


def test_run_in_which_nothing_happened_is_one_small_record(world: World) -> None:
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


def test_short_run_tells_what_happened_with_its_end_and_names_the_rest(world: World) -> None:
    reporter = world.begin()
    reporter.start()
    reporter.add(unchanged("/a"))
    reporter.add(changed("/b"))
    reporter.add(skipped("/c", "none of its tags is asked for"))
    reporter.add(skipped("/d", "it depends on File[/b], which failed"))
    world.end(reporter)
    told = world.ended()
    assert [one.resource for one in told.reports] == ["File[/b]", "File[/d]"]
    assert told.events == 2
    rest = unpack_rest(told.rest)
    assert rest is not None
    assert (rest.unchanged, rest.left_out) == (["File[/a]"], {"none of its tags is asked for": ["File[/c]"]})


def test_long_run_tells_while_it_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    knocks = threading.Semaphore(0)
    monkeypatch.setattr(reporting, "knock", lambda directory: knocks.release())
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
    assert [(one.first, [each.resource for each in one.reports]) for one in events] == [
        (1, ["File[/a]"]),
        (2, ["File[/b]"]),
    ]
    assert (world.ended().events, world.ended().reports) == (2, [])


def test_large_batches_go_at_once_and_numbers_have_no_gaps(world: World) -> None:
    reporter = world.begin()
    reporter.start()
    for number in range(3000):
        reporter.add(changed(f"/{number}", diff="x" * 1000))
    world.end(reporter)
    numbers: list[int] = []
    for kind, body in world.records():
        if kind == wire.EVENTS:
            one = msgspec.json.decode(body, type=RunEvents)
            assert len(body) < 2 * reporting.BATCH_BYTES
            numbers += range(one.first, one.first + len(one.reports))
    told = world.ended()
    numbers += range(told.events - len(told.reports) + 1, told.events + 1)
    assert numbers == list(range(1, 3001))


def test_run_waits_rather_than_grow(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "MOST_BYTES", 10_000)
    monkeypatch.setattr(reporting, "BATCH_BYTES", 5_000)
    reporter = world.begin()
    reporter.start()
    most = 0
    for number in range(500):
        reporter.add(changed(f"/{number}", diff="x" * 500))
        most = max(most, reporter._waiting_bytes)
    world.end(reporter)
    assert most < 11_000
    assert world.ended().events == 500


def test_full_disk_does_not_stop_a_run_and_the_gap_is_seen(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_run_that_was_killed_is_told_as_broken_off_by_the_next(world: World) -> None:
    world.begin()
    assert world.records() == []
    world.end(world.begin())
    first, second = [msgspec.json.decode(body, type=RunEnded) for _, body in world.records()]
    assert (first.how, first.summary, first.why) == ("broken-off", None, "its process ended before it did")
    assert second.how == "ended"
    assert first.began.report != second.began.report


def test_daemon_closes_what_is_open_only_while_nobody_runs(world: World) -> None:
    with held(world.store, "test"):
        world.begin()
        assert not close_open(world.store, world.spool)
        assert world.records() == []
    assert close_open(world.store, world.spool)
    assert world.ended().how == "broken-off"
    assert not close_open(world.store, world.spool)


def test_run_that_could_not_begin_says_why(world: World) -> None:
    reporter = world.begin()
    reporter.start()
    reporter.give_up(world.store, "the graph has a circle [CATALOG-001]")
    told = world.ended()
    assert (told.how, told.why, told.summary) == ("not-run", "the graph has a circle [CATALOG-001]", None)
    assert not close_open(world.store, world.spool)


def test_run_that_was_withdrawn_is_not_told(world: World) -> None:
    world.begin().withdraw(world.store)
    assert not close_open(world.store, world.spool)
    assert world.records() == []


def test_slowest_resources_are_named_whatever_became_of_them(world: World) -> None:
    reporter = world.begin()
    for number in range(30):
        reporter.add(msgspec.structs.replace(unchanged(f"/{number}"), seconds=float(number)))
    world.end(reporter)
    assert [one.resource for one in world.ended().timings.slowest] == [f"File[/{n}]" for n in range(29, 19, -1)]


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
def test_only_what_matters_is_told_one_by_one(report: ResourceReport, expected: bool) -> None:
    assert is_told(report) is expected


def test_report_of_any_size_is_bounded_and_still_says_what_happened() -> None:
    ref = "Exec[a]"
    huge = "x" * 100_000
    events = tuple(Event(ref, "success", huge, "p", huge, huge, diff=huge) for _ in range(50))
    report = ResourceReport(ref, Status.CHANGED, events, tuple(Log(ref, "notice", huge) for _ in range(500)))
    data = encoded(report)
    assert len(data) <= 3 * MOST_BYTES
    read = msgspec.json.decode(data, type=ResourceReport)
    assert read.events[0].message.endswith(CUT)
    assert read.status is Status.CHANGED


def test_too_many_names_are_said_to_be_too_many() -> None:
    names = Names()
    rng = random.Random(1)
    for _ in range(30_000):
        names.add(unchanged(f"/{rng.getrandbits(128):x}"))
    rest = unpack_rest(names.packed(is_plain=False))
    assert rest is not None
    assert (rest.unchanged, rest.left_out) == ([], {"too many to be named": []})


def test_moment_of_the_end_is_the_clocks(world: World) -> None:
    reporter = world.begin()
    world.clock.advance(5)
    world.end(reporter)
    assert world.ended().ended_at == datetime(2030, 1, 1, 0, 0, 5, tzinfo=UTC)
