"""A comparison lists what differs between two versions of a plan: tasks and fields, order, and the nodes that are affected."""

from typing import Any

import msgspec
import pytest

from precast.base.errors import PrecastError
from precast.plans import issues
from precast.plans.comparison import FieldChange, NodeChange, PlanComparison, compare_plans
from precast.plans.model import Plan, PlanGroup, PlanNode, PlanTask, Position, TaskInput
from precast.plans.views import order
from tests.unit.plans.example_plans import SHOP, SHOP_NODES, across, plan_of, task

ONE = [PlanNode("n1", ("x",))]
TWO = [PlanNode("n1", ("x",)), PlanNode("n2", ("x", "y"))]


def edited(plan: Plan, name: str, **fields: Any) -> Plan:
    tasks = tuple(msgspec.structs.replace(item, **fields) if item.id == name else item for item in plan.tasks)
    return msgspec.structs.replace(plan, tasks=tasks)


def local(name: str, *requires: str) -> PlanTask:
    return task(name, selectors=("x",), requires=requires)


def order_of(comparison: PlanComparison) -> list[tuple[str, str, str]]:
    return [(change.first, change.change, change.second) for change in comparison.order.changes]


def test_comparison_of_equal_plans_is_empty_wherever_their_tasks_stand() -> None:
    moved = edited(SHOP, "web", at=Position("other.yaml", 9, 9))
    comparison = compare_plans(SHOP, moved, SHOP_NODES)
    assert comparison == PlanComparison([], [], [], comparison.order, [])
    assert comparison.is_equal
    assert (comparison.order.changes, comparison.order.followers) == ([], 0)


def test_comparison_lists_added_removed_and_changed_tasks_with_their_nodes() -> None:
    old = plan_of(local("a"), local("b"))
    new = plan_of(local("c"), task("b", selectors=("y",)))
    comparison = compare_plans(old, new, TWO)
    assert [(change.id, change.change, change.nodes, change.gained, change.lost) for change in comparison.tasks] == [
        ("c", "added", ["n1", "n2"], ["n1", "n2"], []),
        ("b", "changed", ["n1", "n2"], [], ["n1"]),
        ("a", "removed", ["n1", "n2"], [], ["n1", "n2"]),
    ]
    assert comparison.nodes == [
        NodeChange("n1", ["c"], ["b", "a"], [], []),
        NodeChange("n2", ["c"], ["a"], ["b"], []),
    ]


def test_comparison_names_fields_as_a_plan_has_them_and_keys_of_parameters_one_by_one() -> None:
    old = plan_of(
        task("a", selectors=("x",), parameters={"cmd": "a", "same": 1}, timeout_s=60.0, inputs={"v": TaskInput("b")}),
        local("b"),
    )
    new = edited(old, "a", parameters={"cmd": "b", "same": 1, "more": [2]}, timeout_s=90.0, at_once=1, inputs={})
    (change,) = compare_plans(old, new, ONE).tasks
    assert {field.field: (field.old, field.new) for field in change.fields} == {
        "parameters.cmd": ("a", "b"),
        "parameters.more": (None, [2]),
        "timeout": (60.0, 90.0),
        "strategy.amount": (None, 1),
        "inputs.v": ({"task": "b"}, None),
    }


def test_comparison_has_groups_with_their_nodes_and_declared_parameters() -> None:
    at = Position("g.yaml", 1, 1)
    old = Plan("p", (local("a"),), (PlanGroup("g", at, ("x",), fault_tolerance="1"),), {"v": {"type": "String"}})
    new = Plan("p", (local("a"),), (PlanGroup("g", at, ("y",), fault_tolerance="1"),), {"v": {"type": "Integer"}})
    comparison = compare_plans(old, new, TWO)
    (group,) = comparison.groups
    assert (group.id, group.change, group.lost) == ("g", "changed", ["n1"])
    assert [(field.field, field.new) for field in group.fields] == [("roles", ["y"])]
    assert comparison.parameters == [FieldChange("v", {"type": "String"}, {"type": "Integer"})]
    assert not comparison.tasks


def test_comparison_of_a_group_that_no_longer_adds_a_task_shows_the_task_without_fields() -> None:
    at = Position("g.yaml", 1, 1)
    with_task, without = (PlanGroup("g", at, ("y",), tasks) for tasks in (("a",), ()))
    comparison = compare_plans(plan_of(task("a"), groups=(with_task,)), plan_of(task("a"), groups=(without,)), TWO)
    (change,) = comparison.tasks
    assert (change.id, change.change, change.fields, change.lost) == ("a", "changed", [], ["n2"])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["a", "b"], ["a", "ba"], ("a", "ordered", "b")),
        (["a", "ba"], ["a", "b"], ("a", "unordered", "b")),
        (["a", "ba"], ["ab", "b"], ("b", "reversed", "a")),
    ],
)
def test_comparison_of_order_says_how_it_differs(
    old: list[str], new: list[str], expected: tuple[str, str, str]
) -> None:
    # "ba": the task b, which requires a.
    before, after = (plan_of(*(local(text[0], *text[1:]) for text in texts)) for texts in (old, new))
    comparison = compare_plans(before, after, ONE)
    assert order_of(comparison) == [expected]
    assert comparison.order.followers == 0
    assert comparison.nodes[0].reordered


def test_comparison_of_order_lists_only_pairs_from_which_the_others_follow() -> None:
    first, second = [local("a"), local("b", "a")], [local("d", "c"), local("e", "d")]
    old = plan_of(*first, local("c"), *second)
    new = plan_of(*first, local("c", "b"), *second)
    comparison = compare_plans(old, new, ONE)
    assert order_of(comparison) == [("b", "ordered", "c")]
    assert comparison.order.followers == 5  # a before c; a and b before d and e
    assert comparison.nodes == [NodeChange("n1", [], [], ["c"], ["c", "d", "e"])]


def test_comparison_of_order_that_a_new_task_makes_is_between_the_others_too() -> None:
    comparison = compare_plans(
        plan_of(local("a"), local("c")), plan_of(local("a"), local("b", "a"), local("c", "b")), ONE
    )
    assert order_of(comparison) == [("a", "ordered", "c")]


def test_comparison_of_a_dependency_that_means_other_nodes_says_elsewhere() -> None:
    old = plan_of(local("a"), task("b", selectors=("x",), cross_depends=(across("a", "self"),)))
    new = plan_of(local("a"), task("b", selectors=("x",), cross_depends=(across("a", "x"),)))
    comparison = compare_plans(old, new, TWO)
    assert order_of(comparison) == [("a", "elsewhere", "b")]
    assert [node.reordered for node in comparison.nodes] == [["b"], ["b"]]


def test_comparison_of_a_redundant_dependency_finds_a_changed_field_and_the_same_order() -> None:
    old = plan_of(local("a"), local("b", "a"), local("c", "b"))
    new = plan_of(local("a"), local("b", "a"), local("c", "b", "a"))
    comparison = compare_plans(old, new, TWO)
    assert [change.id for change in comparison.tasks] == ["c"]
    assert order_of(comparison) == []


def test_comparison_counts_a_canary_as_order_over_nodes() -> None:
    # With a canary, b on n1 waits for b on n0, which waits for a there.
    old = plan_of(task("a", selectors=("y",)), task("b", selectors=("x",), requires=("a",)))
    nodes = [PlanNode("n0", ("x", "y")), PlanNode("n1", ("x",))]
    comparison = compare_plans(old, edited(old, "b", has_canary=True), nodes)
    assert order_of(comparison) == [("a", "elsewhere", "b")]
    assert [node.reordered for node in comparison.nodes] == [[], ["b"]]
    assert [field.field for field in comparison.tasks[0].fields] == ["strategy.canary"]


def test_comparison_is_the_same_in_passes_of_few_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    new = edited(edited(SHOP, "balancer", cross_depends=()), "copy", requires=("netconfig",))
    at_once = compare_plans(SHOP, new, SHOP_NODES)
    monkeypatch.setattr(order, "PASS_BITS", 2)
    assert compare_plans(SHOP, new, SHOP_NODES) == at_once
    assert at_once.order.changes


def test_comparison_with_a_plan_that_has_a_cycle_is_refused() -> None:
    with pytest.raises(PrecastError) as caught:
        compare_plans(plan_of(local("a")), plan_of(local("a", "b"), local("b", "a")), ONE)
    assert issues.CYCLE.matches(caught.value)
