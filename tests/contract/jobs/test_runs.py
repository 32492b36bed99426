"""Jobs on both databases: orders and their end, which server drives, what is refused, what is deleted."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from lab.job_engine import ANN, LEASE_S, JobEngine, order_of
from precast.base.clock import ManualClock
from precast.base.errors import InputError, NotFoundError
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.driver import RETENTION
from precast.store.engine.database import Database
from precast.store.jobs.attempts import purge_node_attempts
from precast.wire.jobs.views import JobLimits, JobView, NewExecJob
from precast.wire.nodes.bodies import TargetsBody


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
