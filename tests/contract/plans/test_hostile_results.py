"""What nodes return is data of any kind and size: none of it holds up a run."""

import json

import pytest

from lab.plan_engine import PlanEngine
from precast.wire.jobs.orders import MAX_RESULT_CHARS, TaskEnded, TaskOrder

LOOK = "type: skipped, roles: ['*'], test_pre: {file: /, state: directory}"
NEEDY = f"- {{id: one, {LOOK}}}\n- {{id: two, {LOOK}, inputs: {{all: {{task: one, key: x, role: '*'}}}}}}\n"


async def _return(site: PlanEngine, run: str, node: str, text: str) -> None:
    (order,) = await site.open_orders(run, node)
    await site.begin_task(node, order)
    await site.report(node, TaskEnded(order.order, site.database.clock.now(), True, "task", result=text))
    await site.drive()


async def _find_order(site: PlanEngine, run: str, node: str) -> TaskOrder:
    (order,) = await site.open_orders(run, node)
    return order


@pytest.mark.parametrize(
    "text",
    [
        '{"x": "\\ud800"}',
        '{"x": ' + "[" * 30_000 + "]" * 30_000 + "}",
        '{"x": NaN}',
        '["x"]',
        "{",
    ],
    ids=["surrogate", "deep", "not a number", "no object", "no JSON"],
)
async def test_result_that_is_no_canonical_object_is_null_for_others(site: PlanEngine, text: str) -> None:
    run = await site.start_plan(NEEDY, "a")
    await _return(site, run, "a", text)
    assert json.loads((await _find_order(site, run, "a")).inputs) == {"all": {"a": None}}
    await _return(site, run, "a", "")
    assert (await site.show(run)).run.state == "done"


async def test_inputs_that_fit_in_no_order_fail_the_task_and_reach_no_node(site: PlanEngine) -> None:
    run = await site.start_plan(NEEDY, "a", "b", "c")
    text = json.dumps({"x": '"' * (MAX_RESULT_CHARS // 2 - 10)})
    for node in ("a", "b", "c"):
        await _return(site, run, node, text)
    view = await site.show(run)
    assert view.failures
    assert all("too large" in (failure.message or "") for failure in view.failures)
    assert view.run.is_over
    for node in ("a", "b", "c"):
        records = await site.orders.read(node, 0, 1_000)
        assert all(len(record.body) < 64 * 1024 for record in records)
