"""An explanation names the fields that order a task, where it runs and why, what bounds it, and what became of it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from precast.base.errors import PrecastError
from precast.plans import issues
from precast.plans.expansion import expand
from precast.plans.explanation import Explanation, GroupLimit, NodeRun, Place, explain_task
from precast.plans.model import (
    ComputedDependencies,
    ComputedResult,
    Condition,
    Plan,
    PlanGroup,
    PlanNode,
    Position,
    TaskInput,
)
from precast.plans.views.reach import Reach
from precast.plans.views.seen_values import SeenData, SeenRun
from precast.plans.views.waits import COMPUTED, Reason, Wait
from precast.wire.jobs import states as job_states
from precast.wire.jobs.views import StepResult
from precast.wire.plans import states
from precast.wire.plans.bodies import InstanceView
from tests.unit.plans.example_plans import SHOP, SHOP_NODES, across, plan_of, task

NODES = [PlanNode("n1", ("x",)), PlanNode("n2", ("x", "y"))]


def explain(name: str, plan: Plan = SHOP, nodes: list[PlanNode] = SHOP_NODES, **options: Any) -> Explanation:
    return explain_task(expand(plan, nodes), name, **options)


def fields_of(waits: list[Wait]) -> list[tuple[str, str, list[tuple[str, str, str, int]]]]:
    return [
        (wait.task, wait.kind, [(reason.field, reason.name, reason.task, reason.at.line) for reason in wait.reasons])
        for wait in waits
    ]


def test_explanation_names_the_field_and_the_place_of_each_dependency() -> None:
    found = explain("web")
    assert fields_of(found.waits_for) == [
        ("netconfig", "same node", [("requires", "netconfig", "web", 40)]),
        ("database", "any node", [("cross-depends", "database", "web", 40)]),
        ("copy", "same node", [("requires", "copy", "web", 40)]),
    ]
    assert fields_of(found.waited_for_by) == [
        ("end", "stage", [("required_for", "end", "web", 40)]),
        ("balancer", "all nodes", [("cross-depends", "web", "balancer", 50)]),
    ]
    assert (found.waits_for[1].nodes, found.waits_for[1].needed_on) == (["web1", "web2", "web3"], ["db1", "db2"])
    assert found.waits_for[1].at.line == 10


def test_explanation_lists_every_field_that_says_the_same() -> None:
    plan = plan_of(
        task("a", line=1, selectors=("x",), required_for=("b",), cross_depended_by=(across("/b/", "self"),)),
        task("b", line=2, selectors=("x",), requires=("a",), cross_depends=(across("a", "x"),)),
    )
    assert fields_of(explain("b", plan, NODES).waits_for) == [
        (
            "a",
            "same node",
            [("requires", "a", "b", 2), ("required_for", "b", "a", 1), ("cross-depended-by", "/b/", "a", 1)],
        ),
        ("a", "all nodes", [("cross-depends", "a", "b", 2)]),
    ]


def test_explanation_counts_what_is_before_and_behind_through_others() -> None:
    found = explain("web")
    # The stage, and netconfig on the nodes of web and db, upload, copy on those of web, database on those of db.
    assert found.before == Reach(tasks=5, instances=5 + 1 + 3 + 2)
    # The stage, and balancer on the nodes of web, smoke, clean-up on all nodes.
    assert found.after == Reach(tasks=4, instances=3 + 1 + 6)
    assert explain("start").before == Reach(0, 0)
    assert found.position is not None
    assert found.instances == len(expand(SHOP, SHOP_NODES).instances)


def test_explanation_of_a_task_with_a_canary_counts_what_that_waits_for() -> None:
    plan = plan_of(
        task("a", selectors=("y",)), task("b", selectors=("x",), requires=("a",), has_canary=True),
        task("c", selectors=("x",), requires=("b",)),
    )  # fmt: skip
    nodes = [PlanNode("n0", ("x", "y")), PlanNode("n1", ("x",))]
    assert explain("c", plan, nodes).before == Reach(2, 3)
    assert explain("a", plan, nodes).after == Reach(2, 4)


def test_explanation_says_on_which_nodes_a_task_runs_and_why() -> None:
    group = PlanGroup("base", Position("p", 1, 1), ("y",), ("b",))
    plan = plan_of(task("a", selectors=("/x|z/", "master")), task("b", selectors=("x",)), task("c"), groups=(group,))
    assert explain("a", plan, NODES).places == [Place("roles that match /x|z/", ["n1", "n2"]), Place("the master", [])]
    assert explain("b", plan, NODES).places == [
        Place("role x", ["n1", "n2"]),
        Place("group base, which adds the task", ["n2"]),
    ]
    assert explain("c", plan, NODES).places == []
    assert explain("c", plan, NODES).position is None
    assert explain("netconfig").places[0].because == "all nodes (*)"
    assert explain("start").places[0].nodes == []


def test_explanation_has_limits_tests_condition_and_approval() -> None:
    found = explain("web")
    assert (found.limits.at_once, found.limits.canary) == (1, "web1")
    assert found.limits.groups == [GroupLimit("web", 3, 1)]
    assert found.tests_after == ["GET http://localhost/ answers 200"]
    last = explain("clean-up")
    assert (last.condition, last.is_always) == ("$.cleans", True)
    assert last.limits.groups == [GroupLimit("web", 3, 1), GroupLimit("", 3, 0)]
    assert explain("smoke").approval == "Is it switched?"


def test_explanation_lists_fields_without_effect_and_computed_ones() -> None:
    computed = (ComputedDependencies("requires", "$.tasks"),)
    plan = plan_of(
        task("a", selectors=("x",), requires=("gone", "b", "c"), required_for=("d",), computed=computed),
        *(task("b", selectors=("x",)), task("c", selectors=("z",)), task("d", selectors=("z",))),
    )
    found = explain("a", plan, NODES)
    assert found.idle == ["requires: gone", "requires: c", "required_for: d"]
    assert found.computed == ["requires: $.tasks"]


def test_explanation_of_a_dependency_that_an_expression_gave_names_its_field() -> None:
    plan = plan_of(task("a", selectors=("x",)), task("b", line=7, selectors=("x",)))
    expansion = expand(plan, NODES, [ComputedResult(2, "requires", ("n1",), ("a",))])
    (wait,) = explain_task(expansion, "b").waits_for
    assert (wait.nodes, wait.reasons) == (["n1"], [Reason("requires", COMPUTED, "b", plan.tasks[1].at)])


def test_explanation_describes_inputs_and_futures() -> None:
    plan = plan_of(
        task("a", selectors=("x",)),
        task(
            "b",
            selectors=("x",),
            inputs={"all": TaskInput("a"), "port": TaskInput("a", "net.port", ("x",))},
            produces=("p",),
            consumes=("q",),
            fail_on_error=False,
        ),
    )
    found = explain("b", plan, NODES)
    assert found.inputs == {"all": "the result of a", "port": "net.port of a on x"}
    assert (found.produces, found.consumes, found.ignores_failure) == (["p"], ["q"], True)
    assert [reason[0] for _, _, reasons in fields_of(found.waits_for) for reason in reasons] == ["inputs", "inputs"]


def test_explanation_with_a_run_has_states_causes_and_data_of_that_task() -> None:
    views = [
        InstanceView("web1:7", 7, "web", "web1", states.FAILED, reason=job_states.POST_TEST, message="GET answers 500"),
        InstanceView("web2:7", 7, "web", "web2", states.DEP_FAILED, cause="web on web1"),
        InstanceView("web1:6", 6, "copy", "web1", states.SUCCESSFUL),
    ]
    found = explain("web", run=SeenRun(views, {"web1": SeenData({"release": 4})}))
    assert found.run == [
        NodeRun("web1", states.FAILED, job_states.POST_TEST, "GET answers 500", None, 1, {}, None, {}),
        NodeRun("web2", states.DEP_FAILED, None, None, "web on web1", 1, {}, None, {}),
    ]


@pytest.mark.parametrize(
    ("condition", "seen"),
    [
        (Condition("changed($.net.port) and $node.name = 'a'"), {"net.port": 80, "name": "n1"}),
        (Condition("$common.all.keys().len() > $parameters.least"), {"all": {"n1": 1}, "parameters.least": 3}),
        (Condition("$.net.get('port') or $.net.mask.bits"), {"net": {"port": 80}, "net.mask.bits": None}),
        (Condition("$.all.values().where($.port = 1)"), {"all": {"n1": 1}}),
        (Condition("settings:net.port == 80 and not 'x' in cluster:modes", is_yaql=False), {"net.port": 80}),
    ],
)
def test_explanation_of_a_run_has_the_values_that_a_condition_names(condition: Condition, seen: dict[str, Any]) -> None:
    plan = plan_of(task("a", selectors=("x",), condition=condition))
    now = {"name": "n1", "net": {"port": 80}, "all": {"n1": 1}, "secret": "no"}
    data = {"n1": SeenData(now, {"net": {"port": 79}})}
    run = SeenRun([InstanceView("n1:1", 1, "a", "n1", states.SKIPPED)], data, {"least": 3, "other": 4})
    (found,) = explain("a", plan, NODES, run=run).run
    assert found.data == seen
    at_last_success = {"net": {"port": 79}, "net.port": 79, "net.mask.bits": None}
    assert found.earlier == {path: at_last_success[path] for path in seen if path in at_last_success}


def test_explanation_of_a_run_has_the_inputs_of_what_has_begun_as_far_as_results_are_shown() -> None:
    inputs = {"own": TaskInput("a", "port"), "all": TaskInput("a", "", ("x",))}
    plan = plan_of(task("a", "task", selectors=("x",)), task("b", selectors=("x",), inputs=inputs))
    at = datetime(2026, 1, 1, tzinfo=UTC)
    one = InstanceView("n1:1", 1, "a", "n1", states.SUCCESSFUL, result=StepResult(returned='{"port":80}'))
    other = InstanceView("n2:1", 1, "a", "n2", states.SUCCESSFUL, result=StepResult(returned='{"port":81}'))
    begun = InstanceView("n1:2", 2, "b", "n1", states.RUNNING, picked_up_at=at)
    waiting = InstanceView("n2:2", 2, "b", "n2", states.PENDING)
    found = explain("b", plan, NODES, run=SeenRun([one, other, begun, waiting])).run
    assert [run.inputs for run in found] == [{"own": 80, "all": {"n1": {"port": 80}, "n2": {"port": 81}}}, {}]
    assert explain("b", plan, NODES, run=SeenRun([begun])).run[0].inputs == {}


def test_explanation_of_an_unknown_task_suggests_one() -> None:
    with pytest.raises(PrecastError) as caught:
        explain("databse")
    assert issues.UNKNOWN_TASK.matches(caught.value)
    assert "database" in caught.value.message
