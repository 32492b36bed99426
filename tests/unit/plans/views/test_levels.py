"""Levels keep the order over nodes, the limits of tasks and canaries, and let a node go on in the same level where it can."""

from precast.plans.expansion import expand
from precast.plans.model import Plan, PlanNode
from precast.plans.views.levels import find_levels
from tests.unit.plans.example_plans import SHOP, SHOP_NODES, across, plan_of, task

NODES = [PlanNode(f"n{number}", ("x",)) for number in range(1, 5)]


def levels_of(plan: Plan, nodes: list[PlanNode] = NODES) -> dict[str, list[int]]:
    """By task, the levels on the nodes by name."""
    expansion = expand(plan, nodes)
    found: dict[str, dict[str, int]] = {item.id: {} for item in plan.tasks}
    for instance, level in zip(expansion.instances, find_levels(expansion), strict=True):
        found[plan.tasks[instance.key.task - 1].id][instance.key.node] = level
    return {name: [level for _, level in sorted(levels.items())] for name, levels in found.items()}


def test_levels_of_steps_on_the_same_node_are_the_same() -> None:
    plan = plan_of(task("a", selectors=("x",)), task("b", selectors=("x",), requires=("a",)))
    assert levels_of(plan) == {"a": [1] * 4, "b": [1] * 4}


def test_levels_of_what_waits_for_other_nodes_are_later() -> None:
    plan = plan_of(task("a", selectors=("x",)), task("b", selectors=("x",), cross_depends=(across("a"),)))
    assert levels_of(plan) == {"a": [1] * 4, "b": [2] * 4}


def test_levels_over_a_stage_count_it_once() -> None:
    plan = plan_of(
        task("a", selectors=("x",)), task("s", "stage", requires=("a",)), task("t", "stage", requires=("s",)),
        task("b", selectors=("x",), requires=("t",)),
    )  # fmt: skip
    assert levels_of(plan) == {"a": [1] * 4, "s": [2], "t": [2], "b": [2] * 4}


def test_levels_of_a_task_that_waits_for_one_of_several_are_behind_all_other_nodes() -> None:
    plan = plan_of(
        task("a", selectors=("x",), at_once=1),
        task("b", selectors=("x",), cross_depends=(across("a", "x", is_any=True),)),
    )
    assert levels_of(plan) == {"a": [1, 2, 3, 4], "b": [5, 5, 5, 4]}


def test_levels_of_a_limited_task_have_no_more_nodes_than_the_limit() -> None:
    assert levels_of(plan_of(task("a", selectors=("x",), at_once=2))) == {"a": [1, 1, 2, 2]}
    assert levels_of(plan_of(task("a", selectors=("x",), at_once_percent=75))) == {"a": [1, 1, 1, 2]}


def test_levels_of_a_task_with_a_canary_begin_with_it_alone() -> None:
    assert levels_of(plan_of(task("a", selectors=("x",), has_canary=True))) == {"a": [1, 2, 2, 2]}
    assert levels_of(plan_of(task("a", selectors=("x",), has_canary=True, at_once=2))) == {"a": [1, 2, 2, 3]}


def test_level_ends_for_a_node_with_its_reboot() -> None:
    plan = plan_of(task("a", "reboot", selectors=("x",)), task("b", selectors=("x",), requires=("a",)))
    assert levels_of(plan) == {"a": [1] * 4, "b": [2] * 4}


def test_levels_of_the_example() -> None:
    found = levels_of(SHOP, SHOP_NODES)
    assert found["netconfig"] == [1] * 6
    assert found["database"] == [1, 2]
    assert found["copy"] == [2, 2, 2]
    assert found["web"] == [3, 4, 5]  # half of three, rounded down, and a canary
    assert found["balancer"] == [6, 6, 6]
    assert found["smoke"] == [7]
