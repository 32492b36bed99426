"""Following a run: it begins without changes, and then whoever follows it gets each change once, in pages."""

import asyncio

import pytest

from lab.plan_engine import OPERATOR, PlanEngine
from precast.services.plans import reading
from precast.wire.plans.bodies import InstanceView
from tests.contract.plans.conftest import NODES

LOOK = "type: skipped, roles: ['*'], test_pre: {file: /, state: directory}"
CHAIN = f"- {{id: one, {LOOK}}}\n- {{id: two, {LOOK}, requires: [one]}}\n"


async def _follow(site: PlanEngine, run: str, after: int = 0) -> tuple[dict[str, str], list[int], int]:
    """The last state of each task that has changed, the sizes of the pages, and the number after which nothing has changed."""
    states: dict[str, str] = {}
    sizes = []
    while (page := await site.plans.reading.changes(run, after, 0.0)).changes:
        instances = [change for change in page.changes if isinstance(change, InstanceView)]
        states.update({f"{instance.task} on {instance.node}": instance.state for instance in instances})
        sizes.append(len(instances))
        assert page.after > after
        after = page.after
    return states, sizes, after


async def test_tasks_that_only_wait_are_counted_and_are_no_changes(site: PlanEngine) -> None:
    run = await site.start_plan(CHAIN, *NODES)
    states, _, _ = await _follow(site, run)
    assert states == {f"one on {node}": "ready" for node in NODES}
    assert (await site.show(run)).counts == {"pending": 3, "ready": 3}


async def test_tasks_of_a_later_round_are_changes(site: PlanEngine) -> None:
    run = await site.start_plan(CHAIN, "a")
    await site.play(run, "a", failing=["two"])
    states, _, after = await _follow(site, run)
    assert states == {"one on a": "successful", "two on a": "failed"}
    await site.plans.changes.retry(run, [], OPERATOR)
    await site.drive()
    states, _, _ = await _follow(site, run, after)
    assert states == {"two on a": "ready"}


async def test_each_change_is_in_one_page(site: PlanEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHANGES", 4)
    run = await site.start_plan(CHAIN, *NODES)
    await site.play(run, *NODES)
    states, sizes, _ = await _follow(site, run)
    assert set(states.values()) == {"successful"}
    assert (len(states), sizes) == (6, [4, 2])


async def test_follower_waits_for_the_next_change(site: PlanEngine) -> None:
    run = await site.start_plan(CHAIN, "a")
    _, _, after = await _follow(site, run)
    waiting = asyncio.create_task(site.plans.reading.changes(run, after, 30.0))
    (order,) = await site.open_orders(run, "a")
    await site.begin_task("a", order)
    await site.end_task("a", order)
    await site.drive()
    page = await waiting
    assert {change.state for change in page.changes if isinstance(change, InstanceView)} & {"successful", "running"}
    assert not page.run.run.is_over
