"""Runs that are about to end: halted ones in which something still runs, and stopped ones whose node is lost."""

import asyncio

import pytest

from lab.plan_engine import OPERATOR, PlanEngine
from precast.base.clock import ManualClock
from precast.wire.jobs import states as job_states
from tests.contract.plans.conftest import NODES

LOOK = "type: skipped, roles: ['*'], test_pre: {file: /, state: directory}"
DEADLINE_S = 60.0


async def test_halted_run_that_still_has_to_clean_up_waits_without_work(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}}}\n- {{id: clean, {LOOK}, always: true, requires: [one]}}\n"
    run = await site.start_plan(plan, "a", "b")
    (failing,), (working,) = await site.open_orders(run, "a"), await site.open_orders(run, "b")
    await site.begin_task("a", failing)
    await site.begin_task("b", working)
    await site.end_task("a", failing, is_success=False)
    async with asyncio.timeout(DEADLINE_S):  # a driver that finds something to do again and again never returns
        await site.drive()
    assert (await site.show(run)).run.state == "halting"
    await site.end_task("b", working)
    await site.drive()
    assert sorted(await site.play(run, *NODES)) == ["clean on a", "clean on b"]
    assert (await site.show(run)).run.state == "halted"


@pytest.mark.parametrize("state", [job_states.STOPPING, job_states.ABORTING])
async def test_stopped_run_does_not_wait_for_a_node_that_is_lost(
    site: PlanEngine, clock: ManualClock, state: str
) -> None:
    run = await site.start_plan(f"- {{id: one, {LOOK}, lost_after: 30s}}\n", "a")
    (order,) = await site.open_orders(run, "a")
    await site.begin_task("a", order)
    await site.leave("a")
    await site.plans.changes.stop(run, OPERATOR, state)
    await site.drive()
    assert (await site.task_states(run))["one on a"] == "running"
    clock.advance(40)
    await site.drive()
    (instance,) = await site.instances(run)
    assert (instance.state, instance.reason) == ("failed", "lost")
    assert (await site.show(run)).run.ended_at is not None
