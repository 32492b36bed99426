"""Tasks that are left out hold up nobody: they wait for no person and for no node that is at work, and are no canary."""

from lab.plan_engine import PlanEngine
from precast.wire.plans.bodies import SubsetBody
from tests.contract.plans.conftest import NODES

LOOK = "type: skipped, roles: ['*'], test_pre: {file: /, state: directory}"


async def test_node_whose_condition_is_false_is_not_the_canary(site: PlanEngine) -> None:
    plan = (
        f"- {{id: one, {LOOK}, condition: {{yaql_exp: \"$.name != 'a'\"}}, "
        "parameters: {strategy: {type: parallel, amount: 3, canary: true}}}\n"
    )
    run = await site.start_plan(plan, *NODES)
    assert await site.task_states(run) == {"one on a": "skipped", "one on b": "ready", "one on c": "pending"}
    await site.play(run, *NODES, failing=["one on b"])
    assert await site.task_states(run) == {"one on a": "skipped", "one on b": "failed", "one on c": "dep_failed"}


async def test_task_that_is_left_out_on_a_node_at_work_lets_others_go_on(site: PlanEngine) -> None:
    plan = (
        f"- {{id: busy, {LOOK.replace('*', 'master')}}}\n- {{id: out, {LOOK}}}\n"
        f"- {{id: after, {LOOK}, cross_depends: [{{name: out}}]}}\n"
    )
    run = await site.start_plan(plan, "a", "b", master="a", subset=SubsetBody(skip=["out"]))
    (order,) = await site.open_orders(run, "a")
    await site.begin_task("a", order)
    await site.drive()
    states = await site.task_states(run)
    assert (states["out on a"], states["out on b"], states["after on b"]) == ("skipped", "skipped", "ready")
