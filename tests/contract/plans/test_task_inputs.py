"""Inputs of tasks: each node has what it has returned itself, whenever that was; what a role has returned is there as a whole."""

import json

from lab.plan_engine import PlanEngine

LOOK = "type: skipped, roles: ['*'], test_pre: {file: /, state: directory}"


async def _return(site: PlanEngine, run: str, node: str, result: object) -> None:
    (order,) = await site.open_orders(run, node)
    await site.begin_task(node, order)
    await site.end_task(node, order, result=result)
    await site.drive()


async def _inputs(site: PlanEngine, run: str, node: str) -> object:
    (order,) = await site.open_orders(run, node)
    return json.loads(order.inputs)


async def test_own_result_is_found_on_a_node_that_returned_it_after_another_had_begun(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}}}\n- {{id: two, {LOOK}, inputs: {{mine: {{task: one, key: port}}}}}}\n"
    run = await site.start_plan(plan, "a", "b")
    await _return(site, run, "a", {"port": 1})
    assert await _inputs(site, run, "a") == {"mine": 1}
    await _return(site, run, "b", {"port": 2})
    assert await _inputs(site, run, "b") == {"mine": 2}


async def test_nodes_that_begin_together_have_their_own_results_and_those_of_all(site: PlanEngine) -> None:
    plan = (
        f"- {{id: one, {LOOK}}}\n"
        f"- {{id: two, {LOOK}, inputs: {{mine: {{task: one, key: port}}, all: {{task: one, key: port, role: '*'}}}}}}\n"
    )
    run = await site.start_plan(plan, "a", "b")
    for node, port in (("a", 1), ("b", 2)):
        await _return(site, run, node, {"port": port})
    assert await _inputs(site, run, "a") == {"mine": 1, "all": {"a": 1, "b": 2}}
    assert await _inputs(site, run, "b") == {"mine": 2, "all": {"a": 1, "b": 2}}


async def test_input_of_a_task_that_has_returned_nothing_is_null(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}}}\n- {{id: two, {LOOK}, inputs: {{mine: {{task: one, key: port}}}}}}\n"
    run = await site.start_plan(plan, "a")
    await _return(site, run, "a", None)
    assert await _inputs(site, run, "a") == {"mine": None}
