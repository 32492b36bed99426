"""Runs of plans on both databases: order, failures and what follows from them, people, nodes that are lost."""

from pathlib import Path

import pytest

from lab.plan_engine import OPERATOR, PlanEngine
from precast.base.clock import ManualClock
from precast.services.identity.signer.client import SignerClient
from precast.store.engine.database import Database
from precast.wire.jobs import states as job_states
from tests.contract.plans.conftest import NODES

# Tasks that only look, so that they need no right to run commands.
LOOK = "type: skipped, roles: ['*'], test_pre: {file: /, state: directory}"
CHAIN = f"""
- {{id: one, {LOOK}}}
- {{id: two, {LOOK}, requires: [one]}}
- {{id: three, {LOOK}, cross_depends: [{{name: two}}]}}
"""


async def test_tasks_run_in_their_order_and_one_on_a_node(site: PlanEngine) -> None:
    run = await site.start_plan(CHAIN, *NODES)
    log = await site.play(run, *NODES)
    assert len(log) == 9
    assert {title.split()[0] for title in log[-3:]} == {"three"}
    for node in NODES:
        assert log.index(f"one on {node}") < log.index(f"two on {node}")
    view = await site.show(run)
    assert (view.run.state, view.counts) == ("done", {"successful": 9})


async def test_node_gets_one_task_at_a_time(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}}}\n- {{id: two, {LOOK}}}\n"
    run = await site.start_plan(plan, "a")
    (order,) = await site.open_orders(run, "a")
    await site.begin_task("a", order)
    await site.drive()
    assert await site.open_orders(run, "a") == []
    await site.end_task("a", order)
    await site.drive()
    assert len(await site.open_orders(run, "a")) == 1


async def test_amount_limits_how_many_nodes_do_a_task(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}, parameters: {{strategy: {{type: parallel, amount: 2}}}}}}\n"
    run = await site.start_plan(plan, *NODES)
    states = await site.task_states(run)
    assert sorted(states.values()) == ["pending", "ready", "ready"]
    assert len(await site.play(run, *NODES)) == 3


async def test_failure_holds_up_what_follows_and_names_itself_as_the_cause(site: PlanEngine) -> None:
    run = await site.start_plan(CHAIN, *NODES)
    await site.play(run, *NODES, failing=["two on b"])
    view = await site.show(run)
    assert view.counts == {"successful": 5, "failed": 1, "dep_failed": 3}
    (failure,) = view.failures
    assert (failure.task, failure.node, failure.reason, failure.followers) == ("two", "b", "post-test", 3)
    causes = {instance.cause for instance in await site.instances(run) if instance.state == "dep_failed"}
    assert causes == {"two on b"}
    assert view.run.state == "done"  # nothing was left that could have been held back


async def test_group_tolerates_as_many_nodes_as_it_says(site: PlanEngine) -> None:
    plan = f"- {{id: all, type: group, roles: ['*'], fault_tolerance: 1}}\n{CHAIN.replace('cross_depends', 'unknown_field')}"
    run = await site.start_plan(plan, *NODES)
    await site.play(run, *NODES, failing=["one on a"])
    view = await site.show(run)
    assert (view.run.state, view.counts) == ("done", {"successful": 6, "failed": 1, "dep_failed": 2})


async def test_failure_that_does_not_matter_lets_others_go_on(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}, fail_on_error: false}}\n- {{id: two, {LOOK}, requires: [one]}}\n"
    run = await site.start_plan(plan, "a")
    assert await site.play(run, "a", failing=["one"]) == ["one on a", "two on a"]
    assert (await site.show(run)).run.state == "done"


async def test_cleanup_runs_whatever_happened_and_again_in_the_next_round(site: PlanEngine) -> None:
    plan = f"{CHAIN}\n- {{id: clean, {LOOK}, always: true, requires: [three]}}\n"
    run = await site.start_plan(plan, "a")
    assert await site.play(run, "a", failing=["one"]) == ["one on a", "clean on a"]
    await site.plans.changes.resume(run, OPERATOR)
    await site.drive()
    assert await site.play(run, "a") == ["one on a", "two on a", "three on a", "clean on a"]
    assert (await site.show(run)).counts == {"successful": 4}


async def test_task_waits_until_a_person_lets_it_go(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}}}\n- {{id: two, {LOOK}, requires: [one], approval: sure?}}\n"
    run = await site.start_plan(plan, "a")
    assert await site.play(run, "a") == ["one on a"]
    (approval,) = (await site.show(run)).approvals
    assert (approval.task, approval.text, approval.is_due) == ("two", "sure?", True)
    await site.plans.changes.approve(run, "two", OPERATOR)
    await site.drive()
    assert await site.play(run, "a") == ["two on a"]
    view = await site.show(run)
    assert view.approvals[0].by == "person:ann"
    assert view.run.state == "done"


@pytest.mark.parametrize("point", range(10))
async def test_run_that_is_stopped_at_any_point_and_resumed_ends_as_an_undisturbed_one(
    site: PlanEngine, point: int
) -> None:
    undisturbed = await site.start_plan(CHAIN, *NODES)
    whole = await site.play(undisturbed, *NODES)
    run = await site.start_plan(CHAIN, *NODES)
    log = await site.play(run, *NODES, most=point)
    if point < len(whole):
        await site.plans.changes.stop(run, OPERATOR, job_states.STOPPING)
        await site.drive()
        await site.play(run, *NODES, log=log)  # nothing: what was not begun is cancelled
        assert (await site.show(run)).run.state == "stopped"
        await site.plans.changes.resume(run, OPERATOR)
        await site.drive()
    await site.play(run, *NODES, log=log)
    for node in NODES:
        on_node = [title for title in log if title.endswith(f" on {node}")]
        assert on_node == [title for title in whole if title.endswith(f" on {node}")]
    assert {title.split()[0] for title in log[-3:]} == {"three"}
    assert (await site.show(run)).counts == (await site.show(undisturbed)).counts


async def test_server_that_takes_a_run_over_goes_on_as_the_first_would(
    site: PlanEngine, other_database: Database, signer: SignerClient, tmp_path: Path, clock: ManualClock
) -> None:
    run = await site.start_plan(CHAIN, *NODES)
    whole = await site.play(run, *NODES)
    run = await site.start_plan(CHAIN, *NODES)
    log = await site.play(run, *NODES, most=3)
    second = PlanEngine(other_database, signer, tmp_path, "s2")
    clock.advance(60)
    await second.connect(*NODES)
    await second.drive()
    assert run in second.driver.driven
    assert await second.play(run, *NODES, log=log) == whole


async def test_node_that_is_lost_while_it_works_fails_and_its_late_result_counts_at_the_resume(
    site: PlanEngine, clock: ManualClock
) -> None:
    plan = f"- {{id: one, {LOOK}, lost_after: 30s}}\n- {{id: two, {LOOK}, requires: [one]}}\n"
    run = await site.start_plan(plan, "a")
    (order,) = await site.open_orders(run, "a")
    await site.begin_task("a", order)
    await site.leave("a")
    clock.advance(20)
    await site.drive()
    assert (await site.task_states(run))["one on a"] == "running"
    clock.advance(20)
    await site.drive()
    assert await site.task_states(run) == {"one on a": "failed", "two on a": "dep_failed"}
    await site.connect("a")
    await site.end_task("a", order)
    instance = next(instance for instance in await site.instances(run) if instance.task == "one")
    assert (instance.state, instance.reason, instance.late) == ("failed", "lost", "COMPLETED")
    assert len((await site.show(run)).failures) == 1
    await site.plans.changes.resume(run, OPERATOR)
    await site.drive()
    assert await site.play(run, "a") == ["two on a"]
    view = await site.show(run)
    assert (view.run.state, view.counts, view.failures) == ("done", {"successful": 2}, [])
    assert await site.task_states(run) == {"one on a": "successful", "two on a": "successful"}


async def test_node_that_is_away_is_waited_for_and_holds_up_only_its_dependents(site: PlanEngine) -> None:
    await site.leave("b")
    run = await site.start_plan(CHAIN.replace("cross_depends: [{name: two}]", "requires: [two]"), *NODES)
    log = await site.play(run, "a", "c")
    assert len(log) == 6
    assert (await site.show(run)).run.state == "going"
    await site.connect("b")
    await site.drive()
    assert await site.play(run, "b") == ["one on b", "two on b", "three on b"]


async def test_retry_repeats_what_failed_and_what_follows(site: PlanEngine) -> None:
    run = await site.start_plan(CHAIN, *NODES)
    await site.play(run, *NODES, failing=["two on b", "two on c"])
    await site.plans.changes.retry(run, ["two"], OPERATOR)
    await site.drive()
    log = await site.play(run, *NODES)
    assert sorted(log[:2]) == ["two on b", "two on c"]
    assert (await site.show(run)).counts == {"successful": 9}


async def test_condition_compares_with_the_data_of_the_last_success(site: PlanEngine) -> None:
    plan = (
        f"- {{id: one, {LOOK}, condition: {{yaql_exp: 'changed($.name)'}}}}\n- {{id: two, {LOOK}, requires: [one]}}\n"
    )
    first = await site.start_plan(plan, "a")
    assert await site.play(first, "a") == ["one on a", "two on a"]
    second = await site.start_plan(plan, "a")
    assert await site.play(second, "a") == ["two on a"]
    assert (await site.task_states(second))["one on a"] == "skipped"
    seen = await site.plans.reading.data(second, "a", task="one")
    assert seen["earlier"]["node"]["name"] == seen["node"]["name"] == "a"
    assert "earlier" not in await site.plans.reading.data(first, "a", task="one")
    assert "earlier" not in await site.plans.reading.data(second, "a", task="two")


async def test_skipped_task_keeps_the_order_of_what_is_around_it(site: PlanEngine) -> None:
    plan = (
        f"- {{id: one, {LOOK}}}\n- {{id: middle, {LOOK}, requires: [one], condition: {{yaql_exp: 'false'}}}}\n"
        f"- {{id: two, {LOOK}, requires: [middle]}}\n"
    )
    run = await site.start_plan(plan, "a")
    assert await site.task_states(run) == {"one on a": "ready", "middle on a": "pending", "two on a": "pending"}
    assert await site.play(run, "a") == ["one on a", "two on a"]


async def test_input_is_the_result_of_another_task(site: PlanEngine) -> None:
    plan = (
        f"- {{id: one, {LOOK}}}\n"
        f"- {{id: two, {LOOK}, inputs: {{mine: {{task: one, key: port}}, all: {{task: one, key: port, role: '*'}}}}}}\n"
    )
    run = await site.start_plan(plan, "a", "b")
    for node, port in (("a", 1), ("b", 2)):
        (order,) = await site.open_orders(run, node)
        await site.begin_task(node, order)
        await site.end_task(node, order, result={"port": port})
    await site.drive()
    (order,) = await site.open_orders(run, "b")
    assert order.inputs == '{"all":{"a":1,"b":2},"mine":2}'


async def test_dependencies_that_an_expression_gives_hold_on_the_nodes_where_it_gives_them(site: PlanEngine) -> None:
    plan = (
        f"- {{id: one, {LOOK}}}\n- {{id: zero, {LOOK}, cross_depends: "
        "{yaql_exp: \"switch($.name = 'a' => [{'name' => 'one', 'role' => 'self'}], true => [])\"}}\n"
    )
    run = await site.start_plan(plan, "a", "b")
    log = await site.play(run, "a")
    assert log == ["one on a", "zero on a"]
    states = await site.task_states(run)
    assert (states["one on b"], states["zero on b"]) == ("ready", "pending")


async def test_expression_of_a_task_that_does_not_run_may_fail(site: PlanEngine) -> None:
    plan = (
        f"- {{id: one, {LOOK}}}\n- {{id: two, type: upload_file, roles: ['*'], condition: {{yaql_exp: 'false'}}, "
        "parameters: {path: /x, data: {yaql_exp: '$.nothing.here'}}}\n"
    )
    run = await site.start_plan(plan, "a")
    assert await site.play(run, "a") == ["one on a"]


async def test_older_condition_is_evaluated_over_the_data_of_each_node(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}, condition: \"settings:name == 'a'\"}}\n"
    run = await site.start_plan(plan, "a", "b")
    assert await site.play(run, "a", "b") == ["one on a"]
    assert (await site.task_states(run))["one on b"] == "skipped"
