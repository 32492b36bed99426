"""Jobs on both databases: what reports of nodes change, and which nodes are given up without one."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from lab.job_engine import JobEngine, order_of
from precast.base.clock import ManualClock
from precast.services.reports.reports import ReportService, prepare_began, prepare_ended
from precast.store.reports.reports import Reports
from precast.wire.jobs.orders import (
    NotRun,
)
from precast.wire.jobs.views import JobLimits, StepView
from precast.wire.reports.events import Summary
from precast.wire.reports.records import RunBegan, RunEnded


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
