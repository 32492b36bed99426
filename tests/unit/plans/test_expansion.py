"""An expansion has every instance once, in an order in which they can run; cycles are named; limits of tasks are counted."""

from typing import Any

import pytest

from precast.base.errors import InputError, LimitedError
from precast.plans import expansion as expansion_module
from precast.plans import issues
from precast.plans.expansion import expand
from precast.plans.model import SYNC_NODE, Expansion, PlanGroup, PlanNode, Position
from tests.unit.plans.example_plans import SHOP, SHOP_NODES, across, plan_of, task

NODES = [PlanNode("n2", ("x",)), PlanNode("n1", ("x", "y")), PlanNode("boss", is_master=True)]
AT = Position("web.yaml", 9, 3)


def order_of(expansion: Expansion) -> list[str]:
    return [
        f"{expansion.plan.tasks[instance.key.task - 1].id} {instance.key.node}".strip()
        for instance in expansion.instances
    ]


def test_instances_are_in_the_order_of_tasks_then_of_nodes_as_far_as_they_wait_for_none() -> None:
    plan = plan_of(
        task("late", selectors=("x",), requires=("early",)),
        task("free", selectors=("*",)),
        task("early", selectors=("x",)),
        task("end", "stage", requires=("late",)),
        task("after", selectors=("y",), requires=("end",)),
    )
    assert order_of(expand(plan, NODES)) == [
        "free boss", "free n1", "free n2", "early n1", "late n1", "early n2", "late n2", "end", "after n1",
    ]  # fmt: skip


def test_expansion_does_not_depend_on_the_order_of_nodes() -> None:
    assert expand(SHOP, SHOP_NODES) == expand(SHOP, SHOP_NODES[::-1])


def test_no_instance_waits_for_a_later_one() -> None:
    expansion = expand(SHOP, SHOP_NODES)
    assert len(expansion.instances) == len({instance.key for instance in expansion.instances}) == 27
    for index, instance in enumerate(expansion.instances):
        members = [member for joint in instance.joins for member in expansion.joints[joint]]
        members += [member for one_of in instance.needs_any for member in one_of]
        assert max([*instance.needs, *members], default=-1) < index


def test_group_adds_its_tasks_to_its_nodes() -> None:
    groups = (
        PlanGroup("ys", AT, ("y",), ("facts", "/fire/", "fcts")),
        PlanGroup("bosses", AT, ("master",), ("facts",)),
    )
    expansion = expand(plan_of(task("facts"), task("firewall", selectors=("x",)), groups=groups), NODES)
    assert order_of(expansion) == ["facts boss", "facts n1", "firewall n1", "firewall n2"]
    assert [(problem.code, problem.at) for problem in expansion.warnings] == [(issues.UNKNOWN_GROUP_TASK.code, AT)]
    assert "did you mean facts?" in expansion.warnings[0].text


def test_stage_is_once_on_the_sync_node_and_a_group_is_no_task() -> None:
    expansion = expand(plan_of(task("s", "stage", selectors=("*",)), groups=(PlanGroup("g", AT, ("x",)),)), NODES)
    assert [instance.key for instance in expansion.instances] == [(1, SYNC_NODE)]


@pytest.mark.parametrize(
    ("fields", "at_once"),
    [
        ({"at_once": 1}, 1),
        ({"at_once": 7}, 7),
        ({"at_once_percent": 50}, 2),
        ({"at_once_percent": 40}, 2),
        ({"at_once_percent": 39}, 1),
        ({"at_once_percent": 1}, 1),
        ({"at_once": 3, "at_once_percent": 40}, 2),
        ({}, None),
    ],
)
def test_limit_of_a_task_is_a_number_or_a_percentage_of_its_nodes(fields: dict[str, Any], at_once: int | None) -> None:
    nodes = [PlanNode(f"n{number}", ("x",)) for number in range(5)] + [PlanNode("other")]
    assert expand(plan_of(task("a", selectors=("x",), **fields)), nodes).at_once.get(1) == at_once


def test_canary_is_the_first_instance_in_the_order() -> None:
    plan = plan_of(
        task("slow", selectors=("y",)),
        task("a", selectors=("x",), has_canary=True, requires=("slow", "prepare")),
        task("prepare", selectors=("y",), cross_depends=(across("other", "x"),)),
        task("other", selectors=("x",)),
        task("s", "stage", has_canary=True),
    )
    expansion = expand(plan, NODES)
    assert expansion.canaries == {2: "n2"}


def test_tasks_and_groups_that_no_node_has_are_warned_of() -> None:
    plan = plan_of(
        task("here", selectors=("x",)),
        task("nowhere", selectors=("compute", "cinder")),
        task("typo", selectors=("z-controller",)),
        task("on-master", selectors=("master",)),
        groups=(PlanGroup("ghosts", AT, ("ghost",)),),
    )
    expansion = expand(plan, [*NODES[:2], PlanNode("n3", ("controller", "zz-controller"))])
    assert [(problem.code, problem.text) for problem in expansion.warnings] == [
        (issues.TASK_WITHOUT_NODES.code, "no node has task nowhere: its roles are compute, cinder"),
        (issues.TASK_WITHOUT_NODES.code, "no node has task typo: its roles are z-controller"),
        (issues.TASK_WITHOUT_NODES.code, "no node has task on-master: its roles are master"),
        (issues.GROUP_WITHOUT_NODES.code, "no node is in group ghosts: its roles are ghost"),
    ]
    hints = [problem.hint for problem in expansion.warnings]
    assert "did you mean zz-controller?" in hints[1]
    assert "name the master" in hints[2]


def test_limits_that_change_nothing_are_warned_of() -> None:
    plan = plan_of(
        task("many", selectors=("x",), at_once=50),
        task("all", selectors=("x",), at_once=2),
        task("one", selectors=("y",), has_canary=True),
        task("none", selectors=(), at_once=50, has_canary=True),
    )
    assert [(problem.code, problem.text) for problem in expand(plan, NODES).warnings] == [
        (issues.IDLE_LIMIT.code, "task many is limited to 50 nodes at once, and runs on 2 nodes"),
        (issues.IDLE_LIMIT.code, "task one has a canary, and runs on one node"),
    ]


def test_cycle_is_named_with_the_fields_that_make_it() -> None:
    plan = plan_of(
        task("first", line=1, selectors=("x",), requires=("other",)),
        task("a", line=3, selectors=("x",), requires=("b",)),
        task("b", line=7, selectors=("x",), cross_depends=(across("c", "y"),)),
        task("c", line=9, selectors=("x",)),
        task("d", line=12, selectors=("y",), required_for=("c",), cross_depends=(across("a"),)),
        task("last", line=15, selectors=("x",), requires=("a",)),
    )
    with pytest.raises(InputError) as caught:
        expand(plan, NODES)
    assert issues.CYCLE.matches(caught.value)
    assert str(caught.value) == (
        "tasks wait for each other in a cycle: a on n1 waits for b on n1 because of requires in web.yaml:3; "
        "b on n1 waits for c on n1 because of cross-depends in web.yaml:7; "
        "c on n1 waits for d on n1 because of required_for of d in web.yaml:12; "
        "d on n1 waits for a on n1 because of cross-depends in web.yaml:12"
    )


def test_cycle_through_a_stage_and_across_nodes_is_found() -> None:
    plan = plan_of(
        task("half", "stage", line=1),
        task("a", line=3, selectors=("x",), requires=("half",)),
        task("b", line=7, selectors=("master",), required_for=("half",), cross_depends=(across("a", "y"),)),
    )
    with pytest.raises(InputError) as caught:
        expand(plan, NODES)
    assert "stage half waits for b on boss because of required_for of b in web.yaml:7" in str(caught.value)
    assert "a on n1 waits for stage half because of requires in web.yaml:3" in str(caught.value)


def test_cycle_through_one_of_several_nodes_is_one_too() -> None:
    plan = plan_of(
        task("a", selectors=("x",), cross_depends=(across("b", is_any=True),)),
        task("b", selectors=("x",), requires=("a",)),
    )
    with pytest.raises(InputError) as caught:
        expand(plan, NODES)
    assert issues.CYCLE.matches(caught.value)


def test_tasks_that_only_seem_to_wait_in_a_cycle_are_ordered_by_their_nodes() -> None:
    """By their names the tasks wait for each other; on no nodes their instances do."""
    plan = plan_of(
        task("a", selectors=("*",), cross_depends=(across("b", "y"),)),
        task("b", selectors=("*",), cross_depends=(across("a", "master"),)),
    )
    nodes = [PlanNode("boss", is_master=True), PlanNode("n1", ("y",))]
    with pytest.raises(InputError):
        expand(plan, nodes)
    plan = plan_of(
        task("a", selectors=("y",), cross_depends=(across("b", "master"),)),
        task("b", selectors=("*",), cross_depends=(across("a", "self"),)),
    )
    assert order_of(expand(plan, nodes)) == ["b boss", "a n1", "b n1"]


def test_long_cycle_is_cut_in_its_message() -> None:
    count = 12
    tasks = [task(f"t{n}", selectors=("y",), requires=(f"t{(n + 1) % count}",)) for n in range(count)]
    with pytest.raises(InputError) as caught:
        expand(plan_of(*tasks), NODES)
    assert str(caught.value).count("waits for") == expansion_module.MAX_LISTED
    assert str(caught.value).endswith("; and 4 more")


def test_too_many_instances_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion_module, "MAX_INSTANCES", 5)
    plan = plan_of(*(task(f"t{n}", selectors=("x",)) for n in range(3)))
    with pytest.raises(LimitedError) as caught:
        expand(plan, NODES)
    assert str(caught.value) == "the plan has 6 tasks on nodes, more than the limit of 5"


def test_plan_without_tasks_or_nodes_expands_to_nothing() -> None:
    assert expand(plan_of(), NODES).instances == []
    assert expand(plan_of(task("a", selectors=("*",))), []).instances == []
