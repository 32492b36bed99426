"""Runs over nodes on both databases: who is ordered when, what a node's answer changes, who is given up, who takes over."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import msgspec
import pytest

from precast.api.http.routes import NODE
from precast.api.sessions.messages import Messages
from precast.api.sessions.run_records import add_run_records
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, InputError, NotFoundError
from precast.base.ids import CountedIds, TimeOrderedIds
from precast.services.jobs.driving import GRACE, KEPT, LEASE_S, Driver
from precast.services.jobs.results import Answer, StepResults
from precast.services.jobs.service import RunService
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.reports.reports import ReportService, prepare_began, prepare_ended
from precast.services.sessions.sessions import MAX_ORDERS, SessionService, Source
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Nodes
from precast.store.jobs import runs as store
from precast.store.jobs.runs import Runs
from precast.store.nodes.nodes import Fleet
from precast.store.reports.reports import Reports
from precast.store.sessions.sessions import Arrival, Sessions
from precast.store.sessions.streams import Streams
from precast.wire.jobs.orders import (
    EXEC_BEGAN,
    EXEC_ENDED,
    EXEC_OUTPUT,
    ExecBegan,
    ExecEnded,
    ExecOrder,
    ExecOutput,
    Line,
    NotRun,
    RunOrder,
)
from precast.wire.jobs.views import NewCommand, NewRun, OutputView, RunLimits, RunView, StepResult, StepView
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.reports.events import Summary
from precast.wire.reports.records import RunBegan, RunEnded
from precast.wire.sessions import FromNode, Hello, Record

ANN = "person:ann"
FINE = StepResult(changed=1, resources=3)
BAD = StepResult(failed=1, resources=3)


def _nothing() -> Transaction[str | None]:
    return None
    yield  # a unit that asks nothing


class Site:
    """One server: its engine on a database, and nodes that answer."""

    def __init__(self, database: Database, name: str = "s1") -> None:
        self.database, self.name = database, name
        ids = TimeOrderedIds(database.clock)
        self.sessions, self.runs, self.audit = Sessions(database), Runs(database), AuditLog(database, ids)
        self.nodes, self.streams = Nodes(database), Streams(database, MAX_ORDERS)
        self.orders = SessionService(
            database, self.sessions, self.nodes, self.streams, self.audit, lambda node: _nothing()
        )
        targets = TargetService(KnownNodes(database, Fleet(database), self.sessions), database.clock)
        self.service = RunService(database, self.runs, self.sessions, targets, self.audit, CountedIds("run"))
        self.results = StepResults(self.runs)
        self.driver = Driver(database, self.runs, self.sessions, self.orders)

    async def connect(self, *names: str) -> None:
        await self.sessions.renew_lease(self.name, self.name, 3600, 0)
        for name in names:
            await self.database.write(self.nodes.taking, name)
            hello = Hello([1], "store", ["a"], "boot", "1")
            await self.orders.begin(Arrival(name, self.name, "store", "a", "192.0.2.1", "boot", "1"), hello)

    async def start(self, *names: str, limits: RunLimits | None = None, **more: Any) -> str:
        body = NewRun(TargetsBody([",".join(names)]), limits=limits or RunLimits(), **more)
        return (await self.service.start(body, ANN)).id

    async def pass_by(self) -> None:
        """What the driver does when it is woken."""
        await self.driver.take_on(self.name)
        for run in await self.service.newest():
            await self.driver.advance(run.id)

    async def orders_of(self, node: str) -> list[Any]:
        types: dict[str, Any] = {"run": RunOrder, "exec": ExecOrder}
        return [msgspec.json.decode(one.body, type=types[one.kind]) for one in await self.orders.outgoing(node, 0, 100)]

    async def ordered(self, *names: str) -> list[str]:
        return [name for name in names if await self.orders_of(name)]

    async def begin(self, run: str, *names: str) -> None:
        for name in names:
            await self.database.write(self.results.beginning, name, run, f"report-{name}")

    async def end(self, run: str, *names: str, result: StepResult = FINE) -> None:
        for name in names:
            await self.database.write(self.results.ending, name, run, f"report-{name}", result)

    async def states(self, run: str) -> dict[str, str]:
        return {one.node: one.state for one in await self.service.steps(run, "")}

    async def message(self, run: str, node: str) -> str | None:
        return next(one.message for one in await self.service.steps(run, "") if one.node == node)


@pytest.fixture
async def site(database: Database) -> Site:
    made = Site(database)
    await made.connect("a", "b", "c", "d")
    return made


async def test_run_orders_everybody_once_and_is_done_when_all_have_said_how_it_ended(site: Site) -> None:
    run = await site.start("a", "b", "c", mode="noop", tags=["web"], why="a test")
    await site.pass_by()
    await site.pass_by()
    (order,) = await site.orders_of("a")
    assert (order.order, order.mode, order.tags, order.why) == (run, "noop", ["web"], "a test")
    assert order.expires_at == site.database.clock.now() + timedelta(seconds=300)
    await site.begin(run, "a")
    await site.end(run, "a", "b")
    await site.pass_by()
    assert await site.states(run) == {"a": "done", "b": "done", "c": "ordered"}
    await site.end(run, "c", result=BAD)
    await site.pass_by()
    view = await site.service.show(run)
    assert (view.state, view.counts, view.nodes) == ("done", {"done": 2, "failed": 1}, 3)
    assert view.ended_at == site.database.clock.now()
    steps = {one.node: one for one in await site.service.steps(run, "")}
    assert (steps["a"].result, steps["a"].report) == (FINE, "report-a")
    assert steps["c"].message == "1 resource failed"
    assert [len(await site.orders_of(name)) for name in "abc"] == [1, 1, 1]
    assert ("run.start", "3 nodes") in [(one.action, one.target) for one in await site.audit.latest()]


async def test_who_is_away_is_said_at_once_and_not_waited_for(site: Site) -> None:
    await site.database.write(site.nodes.taking, "gone")
    view = await site.service.start(NewRun(TargetsBody(["a,gone"])), ANN)
    assert view.counts == {"waiting": 1, "away": 1}
    await site.pass_by()
    await site.end(view.id, "a")
    await site.pass_by()
    assert (await site.service.show(view.id)).state == "done"
    assert await site.orders_of("gone") == []


async def test_who_leaves_before_its_turn_is_away(site: Site) -> None:
    run = await site.start("a", "b", limits=RunLimits(at_once="1"))
    await site.pass_by()
    await site.sessions.end(site.name, [("b", 1)])
    await site.end(run, "a")
    await site.pass_by()
    assert await site.states(run) == {"a": "done", "b": "away"}
    assert (await site.service.show(run)).state == "done"


async def test_who_is_away_is_ordered_all_the_same_if_that_is_asked(site: Site) -> None:
    await site.database.write(site.nodes.taking, "gone")
    run = await site.start("gone", limits=RunLimits(away_s=7200))
    await site.pass_by()
    (order,) = await site.orders_of("gone")
    assert order.expires_at == site.database.clock.now() + timedelta(hours=2)
    assert await site.states(run) == {"gone": "ordered"}


async def test_batch_begins_when_all_of_the_one_before_have_ended(site: Site) -> None:
    run = await site.start("a", "b", "c", "d", limits=RunLimits(batch="50%", tolerate="1"))
    await site.pass_by()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.end(run, "a")
    await site.pass_by()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.end(run, "b", result=BAD)
    await site.pass_by()
    assert await site.ordered(*"abcd") == ["a", "b", "c", "d"]


async def test_at_once_is_a_window_that_moves_on(site: Site) -> None:
    run = await site.start("a", "b", "c", "d", limits=RunLimits(at_once="2"))
    await site.pass_by()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.end(run, "b")
    await site.pass_by()
    assert await site.ordered(*"abcd") == ["a", "b", "c"]


async def test_more_failures_than_tolerated_let_nobody_else_begin(site: Site) -> None:
    run = await site.start("a", "b", "c", "d", limits=RunLimits(at_once="2", tolerate="1"))
    await site.pass_by()
    await site.end(run, "a", result=BAD)
    await site.pass_by()
    assert await site.ordered(*"abcd") == ["a", "b", "c"]
    await site.end(run, "b", result=BAD)
    await site.pass_by()
    assert (await site.service.show(run)).state == "halting"
    assert await site.states(run) == {"a": "failed", "b": "failed", "c": "ordered", "d": "left-out"}
    await site.end(run, "c")
    await site.pass_by()
    assert (await site.service.show(run)).state == "halted"
    assert await site.message(run, "d") == "too many others failed"


async def test_stop_lets_who_has_begun_end(site: Site) -> None:
    run = await site.start("a", "b", limits=RunLimits(at_once="1"))
    await site.pass_by()
    assert (await site.service.stop(run, "person:bob")).state == "stopping"
    await site.pass_by()
    assert await site.states(run) == {"a": "ordered", "b": "left-out"}
    await site.end(run, "a")
    await site.pass_by()
    view = await site.service.show(run)
    assert (view.state, view.stopped_by) == ("stopped", "person:bob")
    with pytest.raises(ConflictError) as caught:
        await site.service.stop(run, ANN)
    assert caught.value.code == "RUN-002"


async def test_silence_is_given_up_in_time_and_is_no_success(site: Site, clock: ManualClock) -> None:
    run = await site.start("a", "b", limits=RunLimits(begin_s=10, take_s=100))
    await site.pass_by()
    await site.begin(run, "b")
    clock.advance(10 + GRACE.total_seconds())
    await site.pass_by()
    assert await site.states(run) == {"a": "silent", "b": "began"}
    assert await site.message(run, "a") == "it did not begin in time"
    clock.advance(100)
    await site.connect()
    await site.pass_by()
    view = await site.service.show(run)
    assert (view.state, view.counts) == ("done", {"silent": 2})
    # What comes after that is kept, and makes no success of it.
    await site.end(run, "b")
    await site.end(run, "b", result=BAD)
    late = next(one for one in await site.service.steps(run, "") if one.node == "b")
    assert (late.state, late.result, late.message) == ("silent", FINE, "came too late: done")


@pytest.mark.parametrize(("reason", "state"), [("expired", "not-run"), ("refused", "not-run"), ("broken", "failed")])
async def test_order_that_was_not_followed_ends_the_step(site: Site, reason: Any, state: str) -> None:
    run = await site.start("a")
    await site.pass_by()
    said = NotRun(run, reason, "not\x1bhere", site.database.clock.now())
    await site.database.write(site.results.hearing, "a", said)
    await site.pass_by()
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
async def test_report_of_an_order_closes_its_step_in_the_same_transaction(
    site: Site, how: Any, summary: Summary | None, state: str, message: str | None
) -> None:
    reports = ReportService(site.database, Reports(site.database), following=[site.results.following])
    run = await site.start("a")
    await site.pass_by()
    began = _report(run, is_stale=True)
    await site.database.write(reports.taking, [("a", prepare_began("a", began))])
    assert await site.states(run) == {"a": "began"}
    ended = RunEnded(began, how, site.database.clock.now(), summary, why="" if how == "ended" else "killed")
    await site.database.write(reports.taking, [("a", prepare_ended("a", ended))])
    (step,) = await site.service.steps(run, "")
    assert (step.state, step.message, step.report) == (state, message, began.report)
    if summary is not None:
        assert step.result is not None
        assert (step.result.changed, step.result.resources, step.result.is_stale) == (2, 9, True)


async def test_what_nobody_asked_for_changes_no_step(site: Site) -> None:
    run = await site.start("a", "b", limits=RunLimits(at_once="1"))
    await site.pass_by()
    await site.end(run, "b")  # it was not ordered yet
    await site.end("run-99", "a")
    await site.end(run, "a")
    await site.end(run, "a", result=BAD)  # a second time
    assert await site.states(run) == {"a": "done", "b": "waiting"}


async def test_node_cannot_answer_for_another(site: Site) -> None:
    run = await site.start("a")
    await site.pass_by()
    await site.end(run, "b")
    assert await site.states(run) == {"a": "ordered"}


async def test_server_that_is_gone_is_followed_by_another(
    database: Database, other_database: Database, clock: ManualClock
) -> None:
    first, second = Site(database), Site(other_database, "s2")
    await first.connect("a", "b")
    run = await first.start("a", "b", limits=RunLimits(at_once="1"))
    await first.pass_by()
    await second.end(run, "a")
    await second.pass_by()  # the lease is the first one's
    assert await second.ordered("a", "b") == ["a"]
    clock.advance(LEASE_S + 1)
    await second.connect()
    await second.driver.take_on("s2")
    await second.driver.advance(run)
    assert await second.ordered("a", "b") == ["a", "b"]
    # The first one wakes from its pause: it drives nothing any more, and nobody is ordered twice.
    await first.driver.advance(run)
    assert [len(await first.orders_of(name)) for name in "ab"] == [1, 1]
    await first.end(run, "b")
    await first.driver.advance(run)
    assert (await first.service.show(run)).state == "going"
    await second.driver.advance(run)
    assert (await first.service.show(run)).state == "done"


async def test_server_that_ends_lets_another_go_on_at_once(database: Database, other_database: Database) -> None:
    first, second = Site(database), Site(other_database, "s2")
    await first.connect("a")
    run = await first.start("a")
    await first.driver.take_on("s1")
    await first.runs.let_go("s1")
    await second.driver.take_on("s2")
    await second.driver.advance(run)
    assert await second.ordered("a") == ["a"]


async def test_driver_follows_wakeups_to_the_end(site: Site) -> None:
    driving = asyncio.create_task(site.driver.run("s1"))
    try:
        run = await site.start("a", "b", limits=RunLimits(at_once="1"))
        await until(site, run, lambda view: view.counts.get("ordered") == 1)
        await site.end(run, "a")
        await until(site, run, lambda view: view.counts == {"done": 1, "ordered": 1})
        await site.end(run, "b")
        await until(site, run, lambda view: view.state == "done")
    finally:
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)


async def until(site: Site, run: str, is_so: Callable[[RunView], bool]) -> None:
    async with asyncio.timeout(20):
        after = 0
        while not is_so((found := await site.service.changes(run, after, 5)).run):
            after = found.after


async def test_viewer_gets_each_change_once_in_order_and_output_before_the_end(site: Site) -> None:
    body = NewCommand(TargetsBody(["a,b"]), ["uptime", "-p"], why="look")
    run = (await site.service.command(body, ANN)).id
    await site.pass_by()
    (order,) = await site.orders_of("a")
    assert (order.argv, order.timeout_s, order.output_bytes) == (["uptime", "-p"], 60.0, 65_536)
    first = await site.service.changes(run, 0, 0, with_output=True)
    assert [_told(one) for one in first.changes] == [("a", "ordered"), ("b", "ordered")]
    now = site.database.clock.now()
    say = site.database.write
    await say(site.results.hearing, "a", ExecBegan(run, now))
    await say(site.results.hearing, "a", ExecOutput(run, 0, [Line("out", "up 3 days\0"), Line("err", "hm")]))
    await say(site.results.hearing, "a", ExecEnded(run, now, code=0, lines=2))
    await say(site.results.hearing, "b", ExecEnded(run, now, signal=9, is_overdue=True, cut_bytes=7))
    await site.pass_by()
    seen = await site.service.changes(run, first.after, 0, "exec", with_output=True)
    assert [_told(one) for one in seen.changes] == [("a", "up 3 days\0"), ("a", "done"), ("b", "failed")]
    assert (await site.service.changes(run, seen.after, 0)).changes == []
    assert [_told(one) for one in (await site.service.changes(run, 0, 0)).changes] == [("a", "done"), ("b", "failed")]
    assert await site.message(run, "b") == "it took too long and was ended"
    with pytest.raises(NotFoundError):
        await site.service.changes(await site.start("c"), 0, 0, "exec", with_output=True)
    (noted,) = [one for one in await site.audit.latest() if one.action == "command.run"]
    assert noted.detail["argv"] == ["uptime", "-p"]


def _told(change: StepView | OutputView) -> tuple[str, str]:
    return (change.node, change.state if isinstance(change, StepView) else change.lines[0].text)


async def test_output_is_bounded_and_comes_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "OUTPUT_BYTES", 30)
    run = (await site.service.command(NewCommand(TargetsBody(["a"]), ["cat"]), ANN)).id
    await site.pass_by()
    for first in (0, 0, 1, 2):
        said = ExecOutput(run, first, [Line("out", "0123456789")])
        await site.database.write(site.results.hearing, "a", said)
    await site.pass_by()
    found = await site.service.changes(run, 0, 0, with_output=True)
    assert [one.first for one in found.changes if isinstance(one, OutputView)] == [0, 1]


async def test_what_a_command_said_is_kept_also_if_another_ends_at_that_moment(site: Site) -> None:
    run = (await site.service.command(NewCommand(TargetsBody(["a,b"]), ["uptime"]), ANN)).id
    await site.pass_by()
    messages, now = Messages(dict.fromkeys(get_args(FromNode), NODE)), site.database.clock.now()
    add_run_records(messages, site.results)
    ended: tuple[str, Answer] = (EXEC_ENDED, ExecEnded(run, now, code=0, lines=1))
    sent: dict[str, list[tuple[str, Answer]]] = {
        "b": [ended],
        "a": [(EXEC_BEGAN, ExecBegan(run, now)), (EXEC_OUTPUT, ExecOutput(run, 0, [Line("out", "up")])), ended],
    }
    promises: list[asyncio.Future[Any]] = []
    for node, said in sent.items():
        records = [
            Record(number, kind, now, msgspec.Raw(msgspec.json.encode(body)))
            for number, (kind, body) in enumerate(said, 1)
        ]
        promises.append(asyncio.get_running_loop().create_future())
        site.orders.take_in(Source((node, "store"), 1, None), records, messages.kinds, promises[-1])
    assert [taken.stand.received for taken in await asyncio.gather(*promises)] == [1, 3]
    await site.pass_by()
    seen = await site.service.changes(run, 0, 0, with_output=True)
    assert [_told(one) for one in seen.changes] == [("a", "up"), ("a", "done"), ("b", "done")]


@pytest.mark.parametrize("argv", [["a\0b"], [""], ["x" * 40_000]])
async def test_words_that_no_command_has_are_refused(site: Site, argv: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        await site.service.command(NewCommand(TargetsBody(["a"]), argv), ANN)
    assert caught.value.code == "RUN-003"


@pytest.mark.parametrize("run", ["run-77", "no such\0thing", "x" * 100])
async def test_unknown_run_is_told(site: Site, run: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        await site.service.show(run)
    assert caught.value.code == "RUN-001"


async def test_runs_that_ended_long_ago_are_forgotten(site: Site, clock: ManualClock) -> None:
    run, going = await site.start("a"), await site.start("b", limits=RunLimits(begin_s=7 * 86_400))
    await site.pass_by()
    await site.end(run, "a")
    await site.pass_by()
    clock.advance(KEPT.total_seconds() + 1)
    await site.pass_by()
    assert [one.id for one in await site.service.newest()] == [going]


async def test_purged_node_is_in_no_run(site: Site) -> None:
    run = await site.start("a", "b")
    await site.database.write(store.forgetting, "a")
    assert await site.states(run) == {"b": "waiting"}
