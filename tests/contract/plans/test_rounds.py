"""Rounds of a run after the first: what counts of earlier ones."""

from pathlib import Path

import pytest

from lab.plan_engine import OPERATOR, PlanEngine
from precast.base.clock import ManualClock
from precast.base.errors import InputError
from precast.services.identity.signer.client import SignerClient
from precast.store.engine.database import Database
from precast.wire.jobs import states as job_states
from precast.wire.plans.bodies import PlanFile, PlanSource

LOOK = "type: skipped, roles: ['*'], test_pre: {file: /, state: directory}"


async def test_failure_that_does_not_matter_holds_up_nothing_in_a_later_round(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}, fail_on_error: false}}\n- {{id: two, {LOOK}, requires: [one]}}\n"
    run = await site.start_plan(plan, "a")
    await site.play(run, "a", failing=["one", "two"])
    await site.plans.changes.retry(run, ["two"], OPERATOR)
    await site.drive()
    assert await site.play(run, "a") == ["two on a"]


async def test_retry_finds_what_follows_from_a_failure_of_an_earlier_round(site: PlanEngine) -> None:
    plan = (
        f"- {{id: one, {LOOK}, roles: [x]}}\n"
        f"- {{id: left, {LOOK}}}\n- {{id: right, {LOOK}}}\n"
        f"- {{id: after, {LOOK}, requires: [left]}}\n"
        f"- {{id: last, {LOOK}, cross_depends: [{{name: right}}, {{name: after}}]}}\n"
    ).replace(f"- {{id: one, {LOOK}, roles: [x]}}\n", "")
    run = await site.start_plan(f"- {{id: all, type: group, roles: ['*'], fault_tolerance: 3}}\n{plan}", "a", "b")
    await site.play(run, "a", "b", failing=["left on a", "right on b"])
    await site.plans.changes.retry(run, ["right"], OPERATOR)
    await site.drive()
    await site.play(run, "a", "b")
    await site.plans.changes.retry(run, [], OPERATOR)
    await site.drive()
    await site.play(run, "a", "b")
    view = await site.show(run)
    assert view.counts == {"successful": 8}


async def test_outage_of_all_servers_loses_no_node(
    site: PlanEngine, other_database: Database, signer: SignerClient, tmp_path: Path, clock: ManualClock
) -> None:
    run = await site.start_plan(f"- {{id: one, {LOOK}, lost_after: 30s}}\n", "a")
    (order,) = await site.open_orders(run, "a")
    await site.begin_task("a", order)
    clock.advance(120)
    second = PlanEngine(other_database, signer, tmp_path, "s2")
    await second.drive()
    assert (await second.task_states(run))["one on a"] == "running"
    await second.connect("a")
    await second.end_task("a", order)
    await second.drive()
    assert (await second.show(run)).run.state == "done"


async def test_approval_of_a_task_does_not_hold_for_another_version_of_it(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}}}\n- {{id: two, {LOOK}, requires: [one], approval: sure?}}\n"
    run = await site.start_plan(plan, "a")
    await site.play(run, "a")
    await site.plans.changes.approve(run, "two", OPERATOR)
    await site.plans.changes.stop(run, OPERATOR, job_states.STOPPING)
    await site.drive()
    changed = plan.replace("requires: [one]", "requires: [one], test_post: {file: /tmp, state: directory}")
    await site.plans.rebasing.rebase(run, PlanSource("test", [PlanFile("test.yaml", changed)]), OPERATOR)
    await site.drive()
    assert await site.play(run, "a") == []
    (approval,) = (await site.show(run)).approvals
    assert (approval.is_due, approval.by) == (True, None)
    await site.plans.changes.approve(run, "two", OPERATOR)
    await site.drive()
    assert await site.play(run, "a") == ["two on a"]


async def test_approval_of_a_task_holds_for_the_same_version_of_it(site: PlanEngine) -> None:
    plan = f"- {{id: one, {LOOK}, approval: sure?}}\n"
    run = await site.start_plan(plan, "a")
    await site.plans.changes.approve(run, "one", OPERATOR)
    await site.drive()
    await site.play(run, "a", failing=["one"])
    more = f"{plan}- {{id: two, {LOOK}, requires: [one]}}\n"
    await site.plans.rebasing.rebase(run, PlanSource("test", [PlanFile("test.yaml", more)]), OPERATOR)
    await site.drive()
    assert await site.play(run, "a") == ["one on a", "two on a"]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (f"- {{id: one, {LOOK}}}\n", []),
        ("- {id: one, type: skipped, roles: ['*'], test_pre: {file: /srv}}\n", [("one", "changed")]),
        ("- {id: one, type: skipped, roles: ['*']}\n", [("one", "removed")]),
        (f"- {{id: one, {LOOK}, condition: {{yaql_exp: 'false'}}}}\n", []),
        (f"- {{id: two, {LOOK}}}\n", [("one", "removed"), ("two", "added")]),
    ],
)
async def test_preview_of_a_rebase_shows_what_tasks_do_otherwise(
    site: PlanEngine, after: str, expected: list[tuple[str, str]]
) -> None:
    run = await site.start_plan(f"- {{id: one, {LOOK}}}\n", "a")
    await site.play(run, "a", failing=["one"])
    view = await site.plans.rebasing.preview(run, PlanSource("test", [PlanFile("test.yaml", after)]), OPERATOR)
    assert [(change.task, change.change) for change in view.changes] == expected


async def test_preview_of_a_rebase_compares_with_the_version_that_the_run_has_now(site: PlanEngine) -> None:
    def version(text: str) -> PlanSource:
        return PlanSource("test", [PlanFile("test.yaml", text)])

    one, two = f"- {{id: one, {LOOK}}}\n", f"- {{id: two, {LOOK}, timeout: 5}}\n"
    run = await site.start_plan(one, "a")
    await site.play(run, "a", failing=["one"])
    rebased = await site.plans.rebasing.rebase(run, version(two), OPERATOR)
    assert rebased.comparison is not None
    changes = [(task["id"], task["change"]) for task in rebased.comparison["tasks"]]
    assert changes == [("two", "added"), ("one", "removed")]
    await site.drive()
    await site.play(run, "a", failing=["two"])
    # What the run no longer has keeps its number in it; it is not shown again. What changes only how a task runs is.
    view = await site.plans.rebasing.preview(run, version(two.replace("5", "6")), OPERATOR)
    assert (view.changes, view.comparison is not None) == ([], True)
    (task,) = (view.comparison or {})["tasks"]
    assert (task["id"], [field["field"] for field in task["fields"]]) == ("two", ["timeout"])


WITH_PARAMETERS = f"""
parameters: {{kept: {{default: 1}}, own: {{default: 1}}, old: {{default: 1}}}}
tasks: [{{id: one, {LOOK}}}]
"""
OTHER_PARAMETERS = f"""
parameters: {{kept: {{default: 2}}, own: {{default: 2}}, new: {{type: Integer}}}}
tasks: [{{id: one, {LOOK}}}]
"""


async def test_rebase_keeps_the_parameters_that_were_given_and_takes_others(site: PlanEngine) -> None:
    run = await site.start_plan(WITH_PARAMETERS, "a", parameters={"own": 5, "old": 5})
    await site.play(run, "a", failing=["one"])
    source = PlanSource("test", [PlanFile("test.yaml", OTHER_PARAMETERS)])
    await site.plans.rebasing.rebase(run, source, OPERATOR, parameters={"new": 7})
    assert (await site.show(run)).parameters == {"kept": 2, "own": 5, "new": 7}
    await site.drive()
    await site.play(run, "a", failing=["one"])
    await site.plans.rebasing.rebase(run, source, OPERATOR)
    assert (await site.show(run)).parameters == {"kept": 2, "own": 5, "new": 7}


async def test_preview_of_a_rebase_on_a_plan_with_errors_is_refused(site: PlanEngine) -> None:
    run = await site.start_plan(WITH_PARAMETERS, "a")
    await site.play(run, "a", failing=["one"])
    source = PlanSource("test", [PlanFile("test.yaml", OTHER_PARAMETERS)])
    for change in (site.plans.rebasing.preview, site.plans.rebasing.rebase):
        with pytest.raises(InputError, match="the plan test has 1 error, the first: parameter new has no value"):
            await change(run, source, OPERATOR)
