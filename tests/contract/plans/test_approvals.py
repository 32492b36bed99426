"""A person is asked about a task when what is before it has ended, and is not asked about one that is left out."""

from lab.plan_engine import OPERATOR, PlanEngine
from precast.wire.plans.bodies import SubsetBody

LOOK = "type: skipped, roles: ['*'], test_pre: {file: /, state: directory}"


async def due(site: PlanEngine, run: str) -> list[str]:
    return [approval.task for approval in (await site.show(run)).approvals if approval.is_due]


async def test_person_is_asked_when_the_first_node_could_go_on(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}}}\n- {{id: two, {LOOK}, requires: [one], approval: sure?}}\n"
    run = await site.start_plan(plan, "a", "b")
    assert await due(site, run) == []
    await site.play(run, "a")
    assert await due(site, run) == ["two"]
    await site.plans.changes.approve(run, "two", OPERATOR)
    assert await due(site, run) == []


async def test_person_is_asked_when_all_nodes_have_ended_that_are_waited_for_also_through_a_stage(
    site: PlanEngine,
) -> None:
    plan = (
        f"- {{id: one, {LOOK}, required_for: [between]}}\n- {{id: between, type: stage}}\n"
        f"- {{id: two, {LOOK}, requires: [between], approval: sure?}}\n"
        f"- {{id: three, {LOOK}, cross_depends: [{{name: one}}], approval: true}}\n"
    )
    run = await site.start_plan(plan, "a", "b")
    await site.play(run, "a")
    assert await due(site, run) == []
    await site.play(run, "b")
    assert await due(site, run) == ["two", "three"]


async def test_person_is_not_asked_about_a_task_that_cannot_begin_any_more(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}}}\n- {{id: two, {LOOK}, requires: [one], approval: sure?}}\n"
    run = await site.start_plan(plan, "a")
    (order,) = await site.open_orders(run, "a")
    await site.begin_task("a", order)
    await site.end_task("a", order, is_success=False)
    assert await due(site, run) == []  # also before the driver has seen it
    await site.drive()
    assert await due(site, run) == []


async def test_person_is_not_asked_about_a_task_that_is_left_out(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}, approval: sure?}}\n- {{id: two, {LOOK}, requires: [one]}}\n"
    run = await site.start_plan(plan, "a", subset=SubsetBody(skip=["one"]))
    assert (await site.show(run)).approvals == []
    assert await site.play(run, "a") == ["two on a"]
    assert (await site.show(run)).run.state == "done"
