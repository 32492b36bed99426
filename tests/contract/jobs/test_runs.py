"""Jobs on both databases: which nodes are ordered when, what a report changes, which nodes are given up, which server takes over."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import msgspec
import pytest

from lab.job_engine import ANN, LEASE_S, JobEngine
from precast.api.http.routes import NODE
from precast.api.sessions.messages import SessionMessages
from precast.api.sessions.records import declare_order_records
from precast.base.clock import ManualClock
from precast.base.errors import ConflictError, InputError, NotFoundError
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.driver import RETENTION
from precast.services.jobs.records import OrderRecords
from precast.services.jobs.results import OrderReport
from precast.services.reports.reports import ReportService, prepare_began, prepare_ended
from precast.services.sessions.record_intake import RecordSource
from precast.store.engine.database import Database
from precast.store.engine.lockstep import in_lockstep
from precast.store.engine.query import Transaction
from precast.store.jobs import attempts as store
from precast.store.jobs.attempts import purge_node_attempts
from precast.store.reports.reports import Reports
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.orders import (
    CLAIM,
    EXEC_BEGAN,
    EXEC_ENDED,
    EXEC_OUTPUT,
    Claim,
    ExecBegan,
    ExecEnded,
    ExecOutput,
    NotRun,
    OutputLine,
)
from precast.wire.jobs.views import JobLimits, JobView, NewExecJob, OutputView, StepView
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.reports.events import Summary
from precast.wire.reports.records import RunBegan, RunEnded
from precast.wire.sessions import FromNode, Record


def order_of(job: str) -> str:
    return make_order_id(job, 1, 1)


async def test_run_orders_each_node_once_and_is_done_when_all_have_reported(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", mode="noop", tags=["web"], why="a test")
    await site.drive()
    await site.drive()
    (order,) = await site.orders_of("a")
    assert (order.order, order.mode, order.tags, order.why) == (order_of(run), "noop", ["web"], "a test")
    assert order.expires_at == site.database.clock.now() + timedelta(seconds=300)
    await site.claim(run, "a")
    await site.carry_out(run, "a", "b")
    await site.drive()
    assert await site.states(run) == {"a": "COMPLETED", "b": "COMPLETED", "c": "QUEUED"}
    await site.carry_out(run, "c", is_success=False)
    await site.drive()
    view = await site.service.show(run)
    assert (view.state, view.counts, view.nodes) == ("done", {"COMPLETED": 2, "FAILED": 1}, 3)
    assert view.ended_at == site.database.clock.now()
    steps = {step.node: step for step in await site.service.steps(run, "")}
    assert steps["c"].message == "it ended with 1"
    assert [len(await site.orders_of(name)) for name in "abc"] == [1, 1, 1]
    assert ("run.start", "3 nodes") in [(entry.action, entry.target) for entry in await site.audit.read_latest()]


async def test_batch_starts_when_all_nodes_of_the_previous_batch_have_ended(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(batch="50%", tolerate="1"))
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.carry_out(run, "a")
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.carry_out(run, "b", is_success=False)
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c", "d"]


async def test_at_once_limits_the_running_nodes(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(at_once="2"))
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b"]
    await site.carry_out(run, "b")
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c"]


async def test_more_failures_than_tolerated_halt_the_run(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(at_once="2", tolerate="1"))
    await site.drive()
    await site.carry_out(run, "a", is_success=False)
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c"]
    await site.claim(run, "c")
    await site.carry_out(run, "b", is_success=False)
    await site.drive()
    assert (await site.service.show(run)).state == "halting"
    assert await site.states(run) == {
        "a": "FAILED(failed)",
        "b": "FAILED(failed)",
        "c": "PICKED_UP",
        "d": "SKIPPED(halted)",
    }
    await site.end(run, "c")
    await site.drive()
    assert (await site.service.show(run)).state == "halted"
    assert await site.message(run, "d") == "too many others failed"


async def test_stop_lets_running_nodes_finish(site: JobEngine) -> None:
    run = await site.start("a", "b", limits=JobLimits(at_once="1"))
    await site.drive()
    await site.claim(run, "a")
    assert (await site.service.stop(run, "person:bob")).state == "stopping"
    await site.drive()
    assert await site.states(run) == {"a": "PICKED_UP", "b": "CANCELLED"}
    await site.carry_out(run, "a")
    await site.drive()
    view = await site.service.show(run)
    assert (view.state, view.stopped_by) == ("stopped", "person:bob")
    with pytest.raises(ConflictError) as caught:
        await site.service.stop(run, ANN)
    assert caught.value.code == "RUN-002"


async def test_silent_node_is_given_up_in_time_and_does_not_succeed(site: JobEngine, clock: ManualClock) -> None:
    run = await site.start("a", "b", limits=JobLimits(begin_s=10, take_s=100))
    await site.drive()
    await site.claim(run, "b")
    clock.advance(10)
    await site.connect("a", "b")
    await site.drive()
    assert await site.states(run) == {"a": "EXPIRED", "b": "PICKED_UP"}
    assert await site.message(run, "a") == "it did not begin in time"
    clock.advance(100)
    await site.connect()
    await site.drive()
    view = await site.service.show(run)
    assert (view.state, view.reasons) == ("done", {"FAILED(lost)": 1})
    seen = (await site.service.changes(run, 0, 0)).after
    # A later result is stored, and does not make the attempt a success.
    await site.end(run, "b")
    await site.end(run, "b", is_success=False)
    late = next(step for step in await site.service.steps(run, "") if step.node == "b")
    assert (late.state, late.reason, late.late) == ("FAILED", "lost", "COMPLETED")
    assert late.result is not None
    assert late.result.code == 0
    # Whoever has seen the end of the job sees it too.
    changes = await site.service.changes(run, seen, 0)
    assert (changes.changes, changes.after) == ([late], seen + 1)
    assert (await site.service.changes(run, changes.after, 0)).changes == []


async def test_late_result_of_a_job_that_goes_on_is_numbered_by_its_driver(site: JobEngine, clock: ManualClock) -> None:
    run = await site.start("a", "b", limits=JobLimits(take_s=100))
    await site.drive()
    await site.claim(run, "b")
    clock.advance(99)
    await site.connect("a", "b")
    await site.claim(run, "a")
    clock.advance(1)
    await site.connect("a", "b")
    await site.drive()
    assert await site.states(run) == {"a": "PICKED_UP", "b": "FAILED(lost)"}
    seen = (await site.service.changes(run, 0, 0)).after
    await site.end(run, "b")
    assert (await site.service.changes(run, seen, 0)).changes == []
    await site.drive()
    changes = await site.service.changes(run, seen, 0)
    assert [(change.node, change.late) for change in changes.changes if isinstance(change, StepView)] == [
        ("b", "COMPLETED")
    ]
    assert changes.after == seen + 1


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        ("expired", "FAILED(refused)"),
        ("refused", "FAILED(refused)"),
        ("broken", "FAILED(failed)"),
        ("interrupted", "FAILED(interrupted)"),
        ("aborted", "FAILED(aborted)"),
    ],
)
async def test_order_that_a_node_did_not_follow_ends_the_step(site: JobEngine, reason: Any, state: str) -> None:
    run = await site.start("a")
    await site.drive()
    await site.claim(run, "a")
    refusal = NotRun(order_of(run), reason, "not\x1bhere", site.database.clock.now())
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
        ("ended", SUMMARY, "FAILED(failed)", "1 resource failed"),
        ("ended", msgspec.structs.replace(SUMMARY, failed=0), "COMPLETED", None),
        (
            "ended",
            msgspec.structs.replace(SUMMARY, failed=0, is_complete=False),
            "FAILED(failed)",
            "it stopped before its end",
        ),
        # The node repeats the run, or answers why it does not.
        ("broken-off", None, "PICKED_UP", None),
        ("not-run", None, "PICKED_UP", None),
    ],
)
async def test_report_of_an_ordered_run_that_has_ended_ends_its_step_in_the_same_transaction(
    site: JobEngine, how: Any, summary: Summary | None, state: str, message: str | None
) -> None:
    reports = ReportService(site.database, Reports(site.database), on_ordered=[site.results.update_from_reports])
    run = await site.start("a")
    await site.drive()
    await site.claim(run, "a")
    began = _report(order_of(run), is_stale=True)
    await site.database.write(reports.store, [("a", prepare_began("a", began))])
    assert (await site.service.steps(run, ""))[0].report == began.report
    ended = RunEnded(began, how, site.database.clock.now(), summary, why="" if how == "ended" else "killed")
    await site.database.write(reports.store, [("a", prepare_ended("a", ended))])
    (step,) = await site.service.steps(run, "")
    assert (await site.states(run), step.message, step.report) == ({"a": state}, message, began.report)
    if summary is not None:
        assert step.result is not None
        assert (step.result.changed, step.result.resources, step.result.is_stale) == (2, 9, True)


async def test_enforce_that_the_node_turned_into_a_no_op_has_failed(site: JobEngine) -> None:
    reports = ReportService(site.database, Reports(site.database), on_ordered=[site.results.update_from_reports])
    run = await site.start("a", mode="enforce")
    await site.drive()
    await site.claim(run, "a")
    began = msgspec.structs.replace(_report(order_of(run)), mode="noop")
    summary = msgspec.structs.replace(SUMMARY, failed=0)
    ended = RunEnded(began, "ended", site.database.clock.now(), summary, why="the policy says so")
    await site.database.write(reports.store, [("a", prepare_ended("a", ended))])
    assert await site.states(run) == {"a": "FAILED(no-op-only)"}
    assert "the policy says so" in str(await site.message(run, "a"))


async def test_unexpected_report_changes_no_attempt(site: JobEngine) -> None:
    run = await site.start("a")
    await site.drive()
    await site.end("run-99", "a")
    await site.carry_out(run, "a")
    await site.end(run, "a", is_success=False)  # a second time
    await site.end(run, "b")  # it is no node of this job
    assert await site.states(run) == {"a": "COMPLETED"}


async def test_another_server_takes_over_after_the_lease(
    database: Database, other_database: Database, clock: ManualClock, signer: SignerClient
) -> None:
    first, second = JobEngine(database, signer), JobEngine(other_database, signer, "s2")
    await first.connect("a", "b")
    run = await first.start("a", "b", limits=JobLimits(at_once="1"))
    await first.drive()
    await second.carry_out(run, "a")
    await second.drive()  # the first server's lease is valid
    assert await second.ordered("a", "b") == ["a"]
    clock.advance(LEASE_S + 1)
    await second.connect("b")
    await second.drive()
    assert await second.ordered("a", "b") == ["a", "b"]
    # The first server wakes from its pause: it drives nothing any more, and no node is ordered twice.
    await first.driver.advance(run)
    assert [len(await first.orders_of(name)) for name in "ab"] == [1, 1]
    await first.carry_out(run, "b")
    await first.driver.advance(run)
    assert (await first.service.show(run)).state == "going"
    await second.driver.advance(run)
    assert (await first.service.show(run)).state == "done"


async def test_server_that_stops_lets_another_take_over_at_once(
    database: Database, other_database: Database, signer: SignerClient
) -> None:
    first, second = JobEngine(database, signer), JobEngine(other_database, signer, "s2")
    await first.connect("a")
    run = await first.start("a")
    await first.driver.take_on("s1")
    await database.write(first.jobs.release_all, "s1")
    await second.driver.take_on("s2")
    await second.driver.advance(run)
    assert await second.ordered("a") == ["a"]


async def test_driver_follows_wakeups_to_the_end(site: JobEngine) -> None:
    driving = asyncio.create_task(site.driver.run("s1"))
    try:
        run = await site.start("a", "b", limits=JobLimits(at_once="1"))
        await until(site, run, lambda view: view.state == "going")
        await site.carry_out(run, "a")
        await until(site, run, lambda view: view.counts == {"COMPLETED": 1, "QUEUED": 1})
        await site.carry_out(run, "b")
        await until(site, run, lambda view: view.state == "done")
    finally:
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)


async def until(site: JobEngine, run: str, is_so: Callable[[JobView], bool]) -> None:
    async with asyncio.timeout(20):
        after = 0
        while not is_so((changes := await site.service.changes(run, after, 5)).run):
            after = changes.after


async def test_viewer_gets_each_change_once_in_order_and_output_before_the_end(site: JobEngine) -> None:
    body = NewExecJob(TargetsBody(["a,b"]), ["uptime", "-p"], why="look")
    run = (await site.service.command(body, ANN)).id
    await site.drive()
    (order,) = await site.orders_of("a")
    assert (order.argv, order.timeout_s, order.output_bytes) == (["uptime", "-p"], 60.0, 65_536)
    first = await site.service.changes(run, 0, 0, with_output=True)
    assert [_summarise(change) for change in first.changes] == [("a", "QUEUED"), ("b", "QUEUED")]
    now = site.database.clock.now()
    write = site.database.write
    await site.claim(run, "a", "b")
    await write(site.results.update_from_order, "a", ExecBegan(order_of(run), now))
    await write(
        site.results.update_from_order,
        "a",
        ExecOutput(order_of(run), 0, [OutputLine("out", "up 3 days\0"), OutputLine("err", "hm")]),
    )
    await write(site.results.update_from_order, "a", ExecEnded(order_of(run), now, code=0, lines=2))
    await write(
        site.results.update_from_order, "b", ExecEnded(order_of(run), now, signal=9, is_overdue=True, cut_bytes=7)
    )
    await site.drive()
    seen = await site.service.changes(run, first.after, 0, "exec", with_output=True)
    assert [_summarise(change) for change in seen.changes] == [
        ("a", "up 3 days\0"),
        ("a", "COMPLETED"),
        ("b", "FAILED"),
    ]
    assert (await site.service.changes(run, seen.after, 0)).changes == []
    assert [_summarise(change) for change in (await site.service.changes(run, 0, 0)).changes] == [
        ("a", "COMPLETED"),
        ("b", "FAILED"),
    ]
    assert await site.message(run, "b") == "it took too long and was ended"
    with pytest.raises(NotFoundError):
        await site.service.changes(await site.start("c"), 0, 0, "exec", with_output=True)
    (entry,) = [entry for entry in await site.audit.read_latest() if entry.action == "command.run"]
    assert entry.detail["argv"] == ["uptime", "-p"]


def _summarise(change: StepView | OutputView) -> tuple[str, str]:
    return (change.node, change.state if isinstance(change, StepView) else change.lines[0].text)


async def test_output_is_bounded_and_stored_once(site: JobEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "OUTPUT_BYTES", 30)
    run = (await site.service.command(NewExecJob(TargetsBody(["a"]), ["cat"]), ANN)).id
    await site.drive()
    for first in (0, 0, 1, 2):
        output = ExecOutput(order_of(run), first, [OutputLine("out", "0123456789")])
        await site.database.write(site.results.update_from_order, "a", output)
    await site.drive()
    seen = await site.service.changes(run, 0, 0, with_output=True)
    assert [change.first for change in seen.changes if isinstance(change, OutputView)] == [0, 1]


async def test_output_of_an_attempt_is_bounded_within_one_transaction(
    site: JobEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "OUTPUT_BYTES", 30)
    run = (await site.service.command(NewExecJob(TargetsBody(["a,b"]), ["cat"]), ANN)).id
    await site.drive()
    lines = msgspec.json.encode([OutputLine("out", "0123456789")])

    def add(node: str, first: int) -> Transaction[None]:
        yield from site.attempts.add_output(store.AttemptKey(run, 1, node, 1), first, lines)

    order = [("a", 0), ("b", 5), ("a", 1), ("a", 2), ("b", 4), ("a", 3), ("b", 6)]
    await site.database.write(lambda: in_lockstep([add(node, first) for node, first in order]))
    await site.drive()
    seen = await site.service.changes(run, 0, 0, with_output=True)
    found = [(change.node, change.first) for change in seen.changes if isinstance(change, OutputView)]
    assert sorted(found) == [("a", 0), ("a", 1), ("b", 5), ("b", 6)], "a record before the last is dropped"


async def test_output_is_stored_even_if_another_command_ends_at_the_same_time(site: JobEngine) -> None:
    run = (await site.service.command(NewExecJob(TargetsBody(["a,b"]), ["uptime"]), ANN)).id
    await site.drive()
    messages, now = SessionMessages(dict.fromkeys(get_args(FromNode), NODE)), site.database.clock.now()
    declare_order_records(messages, OrderRecords(site.results))
    claimed: tuple[str, OrderReport] = (CLAIM, Claim(order_of(run), 1, "store", "boot"))
    ended: tuple[str, OrderReport] = (EXEC_ENDED, ExecEnded(order_of(run), now, code=0, lines=1))
    sent: dict[str, list[tuple[str, OrderReport]]] = {
        "b": [claimed, ended],
        "a": [
            claimed,
            (EXEC_BEGAN, ExecBegan(order_of(run), now)),
            (EXEC_OUTPUT, ExecOutput(order_of(run), 0, [OutputLine("out", "up")])),
            ended,
        ],
    }
    promises: list[asyncio.Future[Any]] = []
    for node, reports in sent.items():
        records = [
            Record(number, kind, now, msgspec.Raw(msgspec.json.encode(body)))
            for number, (kind, body) in enumerate(reports, 1)
        ]
        promises.append(asyncio.get_running_loop().create_future())
        site.records.submit(RecordSource((node, "store"), 1, None), records, messages.kinds, promises[-1])
    assert [taken.position.received for taken in await asyncio.gather(*promises)] == [2, 4]
    await site.drive()
    seen = await site.service.changes(run, 0, 0, with_output=True)
    assert [_summarise(change) for change in seen.changes] == [("a", "up"), ("a", "COMPLETED"), ("b", "COMPLETED")]


@pytest.mark.parametrize("argv", [["a\0b"], [""], ["x" * 40_000]])
async def test_invalid_arguments_are_refused(site: JobEngine, argv: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        await site.service.command(NewExecJob(TargetsBody(["a"]), argv), ANN)
    assert caught.value.code == "RUN-003"


@pytest.mark.parametrize("run", ["run-77", "no such\0thing", "x" * 100])
async def test_unknown_run_is_not_found(site: JobEngine, run: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        await site.service.show(run)
    assert caught.value.code == "RUN-001"


async def test_runs_that_ended_long_ago_are_deleted(site: JobEngine, clock: ManualClock) -> None:
    run, going = await site.start("a"), await site.start("b", limits=JobLimits(take_s=7 * 86_400))
    await site.drive()
    await site.carry_out(run, "a")
    await site.claim(going, "b")
    await site.drive()
    clock.advance(RETENTION.total_seconds() - 86_400)
    await site.driver.handle(site.name)
    assert {job.id for job in await site.service.newest()} == {run, going}
    clock.advance(86_401)
    await site.driver.handle(site.name)
    assert [job.id for job in await site.service.newest()] == [going]


async def test_purged_node_ends_its_attempts_and_the_job_goes_on(site: JobEngine) -> None:
    run = await site.start("a", "b")
    await site.drive()
    await site.claim(run, "a")
    await site.database.write(purge_node_attempts, "a", site.database.clock.now())
    await site.carry_out(run, "b")
    await site.drive()
    assert await site.states(run) == {"a": "FAILED(purged)", "b": "COMPLETED"}
    assert (await site.service.show(run)).state == "done"
    assert await site.database.read(site.locks.find_holder, "a") is None


async def test_resume_goes_on_with_the_nodes_that_have_not_begun(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", limits=JobLimits(at_once="1"))
    await site.drive()
    await site.claim(run, "a")
    await site.service.stop(run, ANN)
    with pytest.raises(ConflictError) as caught:
        await site.service.resume(run, ANN)
    assert caught.value.code == "RUN-007"
    await site.end(run, "a", is_success=False)
    await site.drive()
    assert await site.states(run) == {"a": "FAILED(failed)", "b": "CANCELLED", "c": "CANCELLED"}
    await site.service.resume(run, ANN)
    await site.drive()
    await site.carry_out(run, "b", n=2)
    await site.drive()
    await site.carry_out(run, "c", n=2)
    await site.drive()
    assert await site.states(run) == {"a": "FAILED(failed)", "b": "COMPLETED", "c": "COMPLETED"}
    view = await site.service.show(run)
    assert (view.state, view.round, view.counts) == ("done", 2, {"COMPLETED": 2, "FAILED": 1})
    await site.claim(run, "b")
    assert [grant.is_granted for grant in await site.grants_of("b")] == [True, False], "an order of an earlier round"


async def test_retry_repeats_only_the_nodes_that_failed(site: JobEngine) -> None:
    run = await site.start("a", "b")
    await site.drive()
    await site.carry_out(run, "a")
    await site.carry_out(run, "b", is_success=False)
    await site.drive()
    view = await site.service.retry(run, ANN)
    assert (view.state, view.round, view.counts) == ("going", 2, {"COMPLETED": 1, "QUEUED": 1})
    await site.drive()
    assert [order.order for order in await site.orders_of("a")] == [make_order_id(run, 1, 1)]
    assert [order.order for order in await site.orders_of("b")] == [make_order_id(run, 1, n) for n in (1, 2)]
    await site.carry_out(run, "b", n=2)
    await site.drive()
    assert await site.states(run) == {"a": "COMPLETED", "b": "COMPLETED"}
    with pytest.raises(ConflictError) as caught:
        await site.service.retry(run, ANN)
    assert caught.value.code == "RUN-008"


async def test_canary_that_fails_halts_the_run(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(canary="1", tolerate="3"))
    await site.drive()
    assert await site.ordered(*"abcd") == ["a"]
    await site.carry_out(run, "a", is_success=False)
    await site.drive()
    assert await site.states(run) == {"a": "FAILED(failed)", **dict.fromkeys("bcd", "SKIPPED(halted)")}
    assert (await site.service.show(run)).state == "halted"


async def test_canary_that_succeeds_lets_the_others_begin(site: JobEngine) -> None:
    run = await site.start("a", "b", "c", "d", limits=JobLimits(canary="1", tolerate="3"))
    await site.drive()
    await site.carry_out(run, "a")
    await site.drive()
    assert await site.ordered(*"abcd") == ["a", "b", "c", "d"]


async def test_rate_spreads_the_turns_over_time(site: JobEngine, clock: ManualClock) -> None:
    run = await site.start("a", "b", "c", limits=JobLimits(per_minute=6))
    await site.drive()
    assert await site.ordered(*"abc") == ["a"]
    clock.advance(9)
    await site.connect(*"abc")
    await site.drive()
    assert await site.ordered(*"abc") == ["a"]
    clock.advance(1)
    await site.drive()
    assert await site.ordered(*"abc") == ["a", "b"]
    clock.advance(10)
    await site.connect(*"abc")
    await site.drive()
    assert await site.ordered(*"abc") == ["a", "b", "c"]
    assert (await site.service.show(run)).state == "going"


@pytest.mark.parametrize("jump_s", [3600.0, 40 * 86_400.0])
async def test_clock_that_jumps_gives_up_no_node_that_was_ordered_before(
    site: JobEngine, clock: ManualClock, jump_s: float
) -> None:
    limits = JobLimits(begin_s=10, take_s=100)
    run = await site.start("a", "b", limits=limits)
    await site.drive()
    await site.claim(run, "b")
    clock.set_ahead(jump_s)
    await site.connect("a", "b", "c")
    later = await site.start("c", limits=limits)
    await site.drive()
    assert await site.states(run) == {"a": "QUEUED", "b": "PICKED_UP"}
    clock.advance(10)
    await site.connect("a", "b", "c")
    await site.drive()
    assert await site.states(later) == {"c": "EXPIRED"}, "a wait that began after the jump ends in time"
    await site.carry_out(run, "b")
    clock.set_back(jump_s)
    await site.drive()
    assert await site.states(run) == {"a": "EXPIRED", "b": "COMPLETED"}
