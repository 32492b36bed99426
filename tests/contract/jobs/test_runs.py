"""Jobs on both databases: which nodes are ordered when, what a report changes, which nodes are given up, which server takes over."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import msgspec
import pytest

from precast.api.http.routes import NODE
from precast.api.sessions.messages import SessionMessages
from precast.api.sessions.records import declare_order_records
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, InputError, NotFoundError
from precast.base.ids import CountedIds, TimeOrderedIds
from precast.services.clocks.guard import ClockGuard
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.local import open_local_signer
from precast.services.jobs.driver import GRACE, LEASE_S, RETENTION, JobDriver
from precast.services.jobs.order_signatures import OrderSignatures
from precast.services.jobs.records import OrderRecords
from precast.services.jobs.results import OrderReport, StepResults
from precast.services.jobs.service import JobService
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.reports.reports import ReportService, prepare_began, prepare_ended
from precast.services.sessions.orders import MAX_ORDERS, OrderService
from precast.services.sessions.record_intake import RecordIntake, RecordSource
from precast.services.sessions.sessions import SessionService
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.jobs import jobs as store
from precast.store.jobs.jobs import Jobs
from precast.store.nodes.nodes import Fleet
from precast.store.reports.reports import Reports
from precast.store.sessions.sessions import Sessions, SessionStart
from precast.store.sessions.streams import Streams
from precast.wire.jobs.orders import (
    EXEC,
    EXEC_BEGAN,
    EXEC_ENDED,
    EXEC_OUTPUT,
    ExecBegan,
    ExecEnded,
    ExecOrder,
    ExecOutput,
    NotRun,
    OutputLine,
    RunOrder,
    SignedExecOrder,
)
from precast.wire.jobs.views import JobLimits, JobView, NewExecJob, NewRunJob, OutputView, StepResult, StepView
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.reports.events import Summary
from precast.wire.reports.records import RunBegan, RunEnded
from precast.wire.sessions import FromNode, Hello, Record

ANN = "person:ann"
FINE = StepResult(changed=1, resources=3)
BAD = StepResult(failed=1, resources=3)


def _nothing() -> Transaction[str | None]:
    return None
    yield  # a transaction without a statement


class Site:
    """One server: its job engine on a database, and nodes that report."""

    def __init__(self, database: Database, signer: SignerClient, name: str = "s1") -> None:
        self.database, self.name = database, name
        ids = TimeOrderedIds(database.clock)
        self.sessions, self.runs, self.audit = Sessions(database), Jobs(database), AuditLog(database, ids)
        self.nodes, self.streams = NodeCertificates(database), Streams(database, MAX_ORDERS)
        self.session_service = SessionService(
            database, self.sessions, self.streams, self.audit, lambda node: _nothing()
        )
        self.orders = OrderService(self.nodes, self.streams, self.audit, OrderSignatures(signer).prepare)
        self.records = RecordIntake(database, self.sessions)
        targets = TargetService(KnownNodes(database, Fleet(database), self.sessions), database.clock)
        self.service = JobService(database, self.runs, self.sessions, targets, self.audit, CountedIds("run"), signer)
        self.results = StepResults(self.runs)
        self.driver = JobDriver(database, self.runs, self.sessions, self.orders, ClockGuard(database, "boot"))

    async def connect(self, *names: str) -> None:
        await self.sessions.renew_lease(self.name, self.name, 3600, 0)
        for name in names:
            await self.database.write(self.nodes.lock_or_create, name)
            hello = Hello([1], "store", ["a"], "boot", "1")
            await self.session_service.begin(
                SessionStart(name, self.name, "store", ["a"], "", "192.0.2.1", "boot", "1"), hello
            )

    async def start(self, *names: str, limits: JobLimits | None = None, **more: Any) -> str:
        body = NewRunJob(TargetsBody([",".join(names)]), limits=limits or JobLimits(), **more)
        return (await self.service.start(body, ANN)).id

    async def drive(self) -> None:
        """Do what the driver does when it is woken."""
        await self.driver.take_on(self.name)
        for run in await self.service.newest():
            await self.driver.advance(run.id)

    async def orders_of(self, node: str) -> list[Any]:
        """What a node receives; of a command, the text that is signed."""
        orders: list[Any] = []
        for record in await self.orders.read(node, 0, 100):
            if record.kind == EXEC:
                signed = msgspec.json.decode(record.body, type=SignedExecOrder)
                orders.append(msgspec.json.decode(signed.text, type=ExecOrder))
            else:
                orders.append(msgspec.json.decode(record.body, type=RunOrder))
        return orders

    async def ordered(self, *names: str) -> list[str]:
        return [name for name in names if await self.orders_of(name)]

    async def begin(self, run: str, *names: str) -> None:
        for name in names:
            await self.database.write(self.results.mark_began, name, run, f"report-{name}")

    async def end(self, run: str, *names: str, result: StepResult = FINE) -> None:
        for name in names:
            await self.database.write(self.results.mark_ended, name, run, f"report-{name}", result)

    async def states(self, run: str) -> dict[str, str]:
        return {step.node: step.state for step in await self.service.steps(run, "")}

    async def message(self, run: str, node: str) -> str | None:
        return next(step.message for step in await self.service.steps(run, "") if step.node == node)


@pytest.fixture
async def signer(authority_files: AuthorityFiles, clock: ManualClock) -> SignerClient:
    return await open_local_signer(authority_files, clock)


@pytest.fixture
async def site(database: Database, signer: SignerClient) -> Site:
    made = Site(database, signer)
    await made.connect("a", "b", "c", "d")
    return made


async def test_run_orders_each_node_once_and_is_done_when_all_have_reported(site: Site) -> None:
    run = await site.start("a", "b", "c", mode="noop", tags=["web"], why="a test")
    await site.drive()
    await site.drive()
    (order,) = await site.orders_of("a")
    assert (order.order, order.mode, order.tags, order.why) == (run, "noop", ["web"], "a test")
    assert order.expires_at == site.database.clock.now() + timedelta(seconds=300)
    await site.begin(run, "a")
    await site.end(run, "a", "b")
    await site.drive()
    assert await site.states(run) == {"a": "done", "b": "done", "c": "ordered"}
    await site.end(run, "c", result=BAD)
    await site.drive()
    view = await site.service.show(run)
    assert (view.state, view.counts, view.nodes) == ("done", {"done": 2, "failed": 1}, 3)
    assert view.ended_at == site.database.clock.now()
    steps = {step.node: step for step in await site.service.steps(run, "")}
    assert (steps["a"].result, steps["a"].report) == (FINE, "report-a")
    assert steps["c"].message == "1 resource failed"
    assert [len(await site.orders_of(name)) for name in "abc"] == [1, 1, 1]
    assert ("run.start", "3 nodes") in [(entry.action, entry.target) for entry in await site.audit.read_latest()]


async def test_disconnected_node_is_left_out_at_once(site: Site) -> None:
    await site.database.write(site.nodes.lock_or_create, "gone")
    view = await site.service.start(NewRunJob(TargetsBody(["a,gone"])), ANN)
    assert view.counts == {"waiting": 1, "away": 1}
    await site.drive()
    await site.end(view.id, "a")
    await site.drive()
    assert (await site.service.show(view.id)).state == "done"
    assert await site.orders_of("gone") == []


async def test_node_that_disconnects_before_its_turn_is_away(site: Site) -> None:
    run = await site.start("a", "b", limits=JobLimits(at_once="1"))
    await site.drive()
    await site.sessions.end(site.name, [("b", 1)])
    await site.end(run, "a")
    await site.drive()
    assert await site.states(run) == {"a": "done", "b": "away"}
    assert (await site.service.show(run)).state == "done"


async def test_disconnected_node_is_ordered_if_the_run_waits_for_it(site: Site) -> None:
    await site.database.write(site.nodes.lock_or_create, "gone")
    run = await site.start("gone", limits=JobLimits(away_s=7200))
    await site.drive()
    (order,) = await site.orders_of("gone")
    assert order.expires_at == site.database.clock.now() + timedelta(hours=2)
    assert await site.states(run) == {"gone": "ordered"}


async def test_batch_starts_when_all_nodes_of_the_previous_batch_have_ended(site: Site) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(batch="50%", tolerate="1"))
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.end(run, "a")
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.end(run, "b", result=BAD)
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c", "d"]


async def test_at_once_limits_the_running_nodes(site: Site) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(at_once="2"))
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.end(run, "b")
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c"]


async def test_more_failures_than_tolerated_halt_the_run(site: Site) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(at_once="2", tolerate="1"))
    await site.drive()
    await site.end(run, "a", result=BAD)
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c"]
    await site.end(run, "b", result=BAD)
    await site.drive()
    assert (await site.service.show(run)).state == "halting"
    assert await site.states(run) == {"a": "failed", "b": "failed", "c": "ordered", "d": "left-out"}
    await site.end(run, "c")
    await site.drive()
    assert (await site.service.show(run)).state == "halted"
    assert await site.message(run, "d") == "too many others failed"


async def test_stop_lets_running_nodes_finish(site: Site) -> None:
    run = await site.start("a", "b", limits=JobLimits(at_once="1"))
    await site.drive()
    assert (await site.service.stop(run, "person:bob")).state == "stopping"
    await site.drive()
    assert await site.states(run) == {"a": "ordered", "b": "left-out"}
    await site.end(run, "a")
    await site.drive()
    view = await site.service.show(run)
    assert (view.state, view.stopped_by) == ("stopped", "person:bob")
    with pytest.raises(ConflictError) as caught:
        await site.service.stop(run, ANN)
    assert caught.value.code == "RUN-002"


async def test_silent_node_is_given_up_in_time_and_does_not_succeed(site: Site, clock: ManualClock) -> None:
    run = await site.start("a", "b", limits=JobLimits(begin_s=10, take_s=100))
    await site.drive()
    await site.begin(run, "b")
    clock.advance(10 + GRACE.total_seconds())
    await site.drive()
    assert await site.states(run) == {"a": "silent", "b": "began"}
    assert await site.message(run, "a") == "it did not begin in time"
    clock.advance(100)
    await site.connect()
    await site.drive()
    view = await site.service.show(run)
    assert (view.state, view.counts) == ("done", {"silent": 2})
    # A later report is stored, and does not make the step a success.
    await site.end(run, "b")
    await site.end(run, "b", result=BAD)
    late = next(step for step in await site.service.steps(run, "") if step.node == "b")
    assert (late.state, late.result, late.message) == ("silent", FINE, "too late: done")


@pytest.mark.parametrize(("reason", "state"), [("expired", "not-run"), ("refused", "not-run"), ("broken", "failed")])
async def test_order_that_a_node_did_not_follow_ends_the_step(site: Site, reason: Any, state: str) -> None:
    run = await site.start("a")
    await site.drive()
    refusal = NotRun(run, reason, "not\x1bhere", site.database.clock.now())
    await site.database.write(site.results.update_from_order, "a", refusal)
    await site.drive()
    assert (await site.service.show(run)).state == "done"
    assert await site.states(run) == {"a": state}
    assert "\x1b" not in str(await site.message(run, "a"))


def _report(order: str, **more: Any) -> RunBegan:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    return RunBegan("01980000-0000-7000-8000-000000000001", "enforce", "ordered", at, order=order, **more)


SUMMARY = Summary(9, 5, 2, 0, 1, 1, 0, 1, 0, 3.5, False, True)


@pytest.mark.parametrize(
    ("how", "summary", "state", "message"),
    [
        ("ended", SUMMARY, "failed", "1 resource failed"),
        ("ended", msgspec.structs.replace(SUMMARY, failed=0), "done", None),
        ("ended", msgspec.structs.replace(SUMMARY, failed=0, is_complete=False), "failed", "it stopped before its end"),
        ("broken-off", None, "failed", "killed"),
        ("not-run", None, "not-run", "killed"),
    ],
)
async def test_report_of_an_ordered_run_ends_its_step_in_the_same_transaction(
    site: Site, how: Any, summary: Summary | None, state: str, message: str | None
) -> None:
    reports = ReportService(site.database, Reports(site.database), on_ordered=[site.results.update_from_reports])
    run = await site.start("a")
    await site.drive()
    began = _report(run, is_stale=True)
    await site.database.write(reports.store, [("a", prepare_began("a", began))])
    assert await site.states(run) == {"a": "began"}
    ended = RunEnded(began, how, site.database.clock.now(), summary, why="" if how == "ended" else "killed")
    await site.database.write(reports.store, [("a", prepare_ended("a", ended))])
    (step,) = await site.service.steps(run, "")
    assert (step.state, step.message, step.report) == (state, message, began.report)
    if summary is not None:
        assert step.result is not None
        assert (step.result.changed, step.result.resources, step.result.is_stale) == (2, 9, True)


async def test_unexpected_report_changes_no_step(site: Site) -> None:
    run = await site.start("a", "b", limits=JobLimits(at_once="1"))
    await site.drive()
    await site.end(run, "b")  # the node was not ordered yet
    await site.end("run-99", "a")
    await site.end(run, "a")
    await site.end(run, "a", result=BAD)  # a second time
    assert await site.states(run) == {"a": "done", "b": "waiting"}


async def test_node_cannot_report_for_another(site: Site) -> None:
    run = await site.start("a")
    await site.drive()
    await site.end(run, "b")
    assert await site.states(run) == {"a": "ordered"}


async def test_another_server_takes_over_after_the_lease(
    database: Database, other_database: Database, clock: ManualClock, signer: SignerClient
) -> None:
    first, second = Site(database, signer), Site(other_database, signer, "s2")
    await first.connect("a", "b")
    run = await first.start("a", "b", limits=JobLimits(at_once="1"))
    await first.drive()
    await second.end(run, "a")
    await second.drive()  # the first server holds the lease
    assert await second.ordered("a", "b") == ["a"]
    clock.advance(LEASE_S + 1)
    await second.connect()
    await second.driver.take_on("s2")
    await second.driver.advance(run)
    assert await second.ordered("a", "b") == ["a", "b"]
    # The first server wakes from its pause: it drives nothing any more, and no node is ordered twice.
    await first.driver.advance(run)
    assert [len(await first.orders_of(name)) for name in "ab"] == [1, 1]
    await first.end(run, "b")
    await first.driver.advance(run)
    assert (await first.service.show(run)).state == "going"
    await second.driver.advance(run)
    assert (await first.service.show(run)).state == "done"


async def test_server_that_stops_lets_another_take_over_at_once(
    database: Database, other_database: Database, signer: SignerClient
) -> None:
    first, second = Site(database, signer), Site(other_database, signer, "s2")
    await first.connect("a")
    run = await first.start("a")
    await first.driver.take_on("s1")
    await first.runs.release_all("s1")
    await second.driver.take_on("s2")
    await second.driver.advance(run)
    assert await second.ordered("a") == ["a"]


async def test_driver_follows_wakeups_to_the_end(site: Site) -> None:
    driving = asyncio.create_task(site.driver.run("s1"))
    try:
        run = await site.start("a", "b", limits=JobLimits(at_once="1"))
        await until(site, run, lambda view: view.counts.get("ordered") == 1)
        await site.end(run, "a")
        await until(site, run, lambda view: view.counts == {"done": 1, "ordered": 1})
        await site.end(run, "b")
        await until(site, run, lambda view: view.state == "done")
    finally:
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)


async def until(site: Site, run: str, is_so: Callable[[JobView], bool]) -> None:
    async with asyncio.timeout(20):
        after = 0
        while not is_so((changes := await site.service.changes(run, after, 5)).run):
            after = changes.after


async def test_viewer_gets_each_change_once_in_order_and_output_before_the_end(site: Site) -> None:
    body = NewExecJob(TargetsBody(["a,b"]), ["uptime", "-p"], why="look")
    run = (await site.service.command(body, ANN)).id
    await site.drive()
    (order,) = await site.orders_of("a")
    assert (order.argv, order.timeout_s, order.output_bytes) == (["uptime", "-p"], 60.0, 65_536)
    first = await site.service.changes(run, 0, 0, with_output=True)
    assert [_summarise(change) for change in first.changes] == [("a", "ordered"), ("b", "ordered")]
    now = site.database.clock.now()
    write = site.database.write
    await write(site.results.update_from_order, "a", ExecBegan(run, now))
    await write(
        site.results.update_from_order,
        "a",
        ExecOutput(run, 0, [OutputLine("out", "up 3 days\0"), OutputLine("err", "hm")]),
    )
    await write(site.results.update_from_order, "a", ExecEnded(run, now, code=0, lines=2))
    await write(site.results.update_from_order, "b", ExecEnded(run, now, signal=9, is_overdue=True, cut_bytes=7))
    await site.drive()
    seen = await site.service.changes(run, first.after, 0, "exec", with_output=True)
    assert [_summarise(change) for change in seen.changes] == [("a", "up 3 days\0"), ("a", "done"), ("b", "failed")]
    assert (await site.service.changes(run, seen.after, 0)).changes == []
    assert [_summarise(change) for change in (await site.service.changes(run, 0, 0)).changes] == [
        ("a", "done"),
        ("b", "failed"),
    ]
    assert await site.message(run, "b") == "it took too long and was ended"
    with pytest.raises(NotFoundError):
        await site.service.changes(await site.start("c"), 0, 0, "exec", with_output=True)
    (entry,) = [entry for entry in await site.audit.read_latest() if entry.action == "command.run"]
    assert entry.detail["argv"] == ["uptime", "-p"]


def _summarise(change: StepView | OutputView) -> tuple[str, str]:
    return (change.node, change.state if isinstance(change, StepView) else change.lines[0].text)


async def test_output_is_bounded_and_stored_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "OUTPUT_BYTES", 30)
    run = (await site.service.command(NewExecJob(TargetsBody(["a"]), ["cat"]), ANN)).id
    await site.drive()
    for first in (0, 0, 1, 2):
        output = ExecOutput(run, first, [OutputLine("out", "0123456789")])
        await site.database.write(site.results.update_from_order, "a", output)
    await site.drive()
    seen = await site.service.changes(run, 0, 0, with_output=True)
    assert [change.first for change in seen.changes if isinstance(change, OutputView)] == [0, 1]


async def test_output_is_stored_even_if_another_command_ends_at_the_same_time(site: Site) -> None:
    run = (await site.service.command(NewExecJob(TargetsBody(["a,b"]), ["uptime"]), ANN)).id
    await site.drive()
    messages, now = SessionMessages(dict.fromkeys(get_args(FromNode), NODE)), site.database.clock.now()
    declare_order_records(messages, OrderRecords(site.results))
    ended: tuple[str, OrderReport] = (EXEC_ENDED, ExecEnded(run, now, code=0, lines=1))
    sent: dict[str, list[tuple[str, OrderReport]]] = {
        "b": [ended],
        "a": [(EXEC_BEGAN, ExecBegan(run, now)), (EXEC_OUTPUT, ExecOutput(run, 0, [OutputLine("out", "up")])), ended],
    }
    promises: list[asyncio.Future[Any]] = []
    for node, reports in sent.items():
        records = [
            Record(number, kind, now, msgspec.Raw(msgspec.json.encode(body)))
            for number, (kind, body) in enumerate(reports, 1)
        ]
        promises.append(asyncio.get_running_loop().create_future())
        site.records.submit(RecordSource((node, "store"), 1, None), records, messages.kinds, promises[-1])
    assert [taken.position.received for taken in await asyncio.gather(*promises)] == [1, 3]
    await site.drive()
    seen = await site.service.changes(run, 0, 0, with_output=True)
    assert [_summarise(change) for change in seen.changes] == [("a", "up"), ("a", "done"), ("b", "done")]


@pytest.mark.parametrize("argv", [["a\0b"], [""], ["x" * 40_000]])
async def test_invalid_arguments_are_refused(site: Site, argv: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        await site.service.command(NewExecJob(TargetsBody(["a"]), argv), ANN)
    assert caught.value.code == "RUN-003"


@pytest.mark.parametrize("run", ["run-77", "no such\0thing", "x" * 100])
async def test_unknown_run_is_not_found(site: Site, run: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        await site.service.show(run)
    assert caught.value.code == "RUN-001"


async def test_runs_that_ended_long_ago_are_deleted(site: Site, clock: ManualClock) -> None:
    run, going = await site.start("a"), await site.start("b", limits=JobLimits(begin_s=7 * 86_400))
    await site.drive()
    await site.end(run, "a")
    await site.drive()
    clock.advance(RETENTION.total_seconds() + 1)
    await site.drive()
    assert [run.id for run in await site.service.newest()] == [going]


async def test_purged_node_is_in_no_run(site: Site) -> None:
    run = await site.start("a", "b")
    await site.database.write(store.delete_node_steps, "a")
    assert await site.states(run) == {"b": "waiting"}


@pytest.mark.parametrize("jump_s", [3600.0, 40 * 86_400.0])
async def test_clock_that_jumps_gives_up_no_node_that_was_ordered_before(
    site: Site, clock: ManualClock, jump_s: float
) -> None:
    limits = JobLimits(begin_s=10, take_s=100)
    run = await site.start("a", "b", limits=limits)
    await site.drive()
    await site.begin(run, "b")
    clock.set_ahead(jump_s)
    await site.connect("c")
    later = await site.start("c", limits=limits)
    await site.drive()
    assert await site.states(run) == {"a": "ordered", "b": "began"}
    clock.advance(10 + GRACE.total_seconds())
    await site.connect("c")
    await site.drive()
    assert await site.states(later) == {"c": "silent"}, "a wait that began after the jump ends in time"
    await site.end(run, "b")
    clock.set_back(jump_s)
    await site.drive()
    assert await site.states(run) == {"a": "silent", "b": "done"}
