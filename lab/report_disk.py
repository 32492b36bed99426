"""Writes reports while the disk of the node or of the server is full: `unshare -m python -m lab.report_disk DIRECTORY`.

It runs in its own mount namespace, so the disk disappears with the process. It prints one JSON document, which the test checks.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from lab.small_disk import fill, mount, opened
from precast.agent.applying.reporting.reporter import Reporter
from precast.agent.state.spool import SpoolLimits
from precast.agent.state.store import LocalStore
from precast.base.clock import SystemClock
from precast.base.errors import PrecastError
from precast.base.ids import TimeOrderedIds
from precast.services.reports.reports import ReportService, prepare_ended
from precast.store.engine.location import SqliteLocation
from precast.store.identity.certificates import NodeCertificates
from precast.store.reports.reports import Reports
from precast.store.reports.views import ReportCursor, ReportFilter, ReportReader
from precast.store.schema.schema import Schema
from precast.wire.reports import records as wire
from precast.wire.reports.events import Event, ResourceReport, Status, Summary
from precast.wire.reports.records import RunBegan, RunEnded, RunEvents

SUMMARY = Summary(1000, 0, 1000, 0, 0, 0, 0, 0, 0, 1.0, False, True)


def changed(number: int) -> ResourceReport:
    ref = f"File[/{number}]"
    return ResourceReport(ref, Status.CHANGED, (Event(ref, "success", "changed", diff="x" * 2000),))


def code_of(error: PrecastError | None) -> str | None:
    return None if error is None else error.code


class Node:
    """A local store on a small disk."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = self.open()
        self._ids = TimeOrderedIds(SystemClock())

    def open(self) -> LocalStore:
        return LocalStore.open(self.directory, lambda: "one")

    def begin(self) -> Reporter:
        def describe(store: LocalStore) -> RunBegan:
            return RunBegan(self._ids.new(), "enforce", "hand", store.clock.now())

        reporter = Reporter(describe, SpoolLimits(), self.open)
        with self.store.transaction() as db:
            reporter.begin(self.store, db)
        return reporter

    def end(self, reporter: Reporter) -> None:
        reporter.stop()
        with self.store.transaction() as db:
            reporter.end(self.store, db, "ended", SUMMARY, {})


def on_the_node(directory: Path) -> dict[str, object]:
    node, ballast = Node(directory), directory / "ballast"
    reporter = node.begin()
    reporter.start()
    for number in range(100):
        reporter.add(changed(number))
    fill(ballast, 0)
    for number in range(100, 1000):
        reporter.add(changed(number))
    at_end = _attempt(lambda: node.end(reporter))
    at_begin = _attempt(node.begin)
    ballast.unlink()
    node.end(node.begin())
    rows = node.store.read("SELECT kind, body FROM record ORDER BY id")
    ended = [msgspec.json.decode(body, type=RunEnded) for kind, body in rows if kind == wire.ENDED]
    batches = [msgspec.json.decode(body, type=RunEvents) for kind, body in rows if kind == wire.EVENTS]
    numbers = [batch.first + at for batch in batches for at in range(len(batch.reports))]
    return {
        "end_on_a_full_disk": code_of(at_end),
        "begin_on_a_full_disk": code_of(at_begin),
        "ends_stored_afterwards": [run_ended.how for run_ended in ended],
        "numbers_are_without_a_gap": numbers == list(range(1, len(numbers) + 1)),
        "events_lost": ended[0].events - len(numbers),
    }


async def on_the_server(directory: Path) -> dict[str, object]:
    async with opened(SqliteLocation(directory / "precast.db")) as database:
        await Schema(database).expand()
        await database.write(NodeCertificates(database).lock_or_create, "web1")
        service, reader = ReportService(database, Reports(database)), ReportReader(database)
        began = RunBegan(TimeOrderedIds(SystemClock()).new(), "enforce", "hand", datetime.now(UTC))
        resource_reports = [changed(number) for number in range(1000)]
        body = RunEnded(began, "ended", datetime.now(UTC), SUMMARY, 1000, resource_reports)

        async def store() -> PrecastError | None:
            try:
                await database.write(service.store, [("web1", prepare_ended("web1", body))])
            except PrecastError as error:
                return error
            return None

        async def count() -> int:
            return len(await reader.list_newest(ReportFilter(), ReportCursor(datetime(2100, 1, 1, tzinfo=UTC)), 10))

        ballast = directory / "ballast"
        fill(ballast, 2)
        error = await store()
        when_full = await count()
        ballast.unlink()
        again = await store()
        return {
            "server_on_a_full_disk": code_of(error),
            "stored_when_full": when_full,
            "stored_afterwards": await count() if again is None else 0,
        }


def _attempt(call: Callable[[], object]) -> PrecastError | None:
    try:
        call()
    except PrecastError as error:
        return error
    return None


def main() -> None:
    outcome: dict[str, object] = {}
    for name in ("node", "server"):
        directory = Path(sys.argv[1]) / name
        directory.mkdir()
        mount(directory, 8)
        outcome |= on_the_node(directory) if name == "node" else asyncio.run(on_the_server(directory))
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
