"""A tolerance is a number of nodes or a percentage, rounded down; a negative one is what must be left; nodes in no group are critical."""

import pytest

from precast.base.errors import InputError
from precast.plans import issues
from precast.plans.expanding.tolerances import count_tolerated
from precast.plans.expansion import expand
from precast.plans.model import PlanGroup, PlanNode, Position
from tests.unit.plans.example_plans import plan_of, task

AT = Position("web.yaml", 1, 1)


@pytest.mark.parametrize(
    ("tolerance", "total", "tolerated"),
    [
        (None, 5, None),
        ("0", 5, 0),
        ("2", 5, 2),
        ("9", 5, 9),
        ("-1", 5, 4),
        ("-9", 5, 0),
        ("2%", 5, 0),
        ("2%", 50, 1),
        ("40%", 5, 2),
        ("39%", 5, 1),
        ("100%", 5, 5),
        ("-20%", 5, 4),
        (" 50 % ", 3, 1),
    ],
)
def test_tolerance_is_counted_in_nodes(tolerance: str | None, total: int, tolerated: int | None) -> None:
    assert count_tolerated(tolerance, total) == tolerated


@pytest.mark.parametrize("tolerance", ["", "many", "1.5", "%", "5%%", "1e3", "١"])
def test_tolerance_that_is_no_number_is_refused(tolerance: str) -> None:
    with pytest.raises(InputError) as caught:
        count_tolerated(tolerance, 5)
    assert issues.BAD_TOLERANCE.matches(caught.value)


def test_groups_and_the_nodes_in_none_have_their_tolerance() -> None:
    nodes = [PlanNode("boss", is_master=True), PlanNode("a", ("web",)), PlanNode("b", ("web",)), PlanNode("c", ("db",))]
    groups = (
        PlanGroup("web", AT, ("web",), fault_tolerance="50%"),
        PlanGroup("db", AT, ("db",)),
        PlanGroup("gone", AT, fault_tolerance="-1"),
    )
    expansion = expand(plan_of(task("a", selectors=("*",)), groups=groups), nodes)
    assert [(group.name, sorted(group.nodes), group.tolerate) for group in expansion.groups] == [
        ("web", ["a", "b"], 1),
        ("db", ["c"], None),
        ("gone", [], 0),
        ("", ["boss"], 0),
    ]


def test_group_without_selectors_means_the_role_of_its_own_name() -> None:
    expansion = expand(
        plan_of(task("a"), groups=(PlanGroup("web", AT, tasks=("a",), fault_tolerance="1"),)),
        [PlanNode("n", ("web",)), PlanNode("m", ("web",))],
    )
    assert [(group.name, sorted(group.nodes)) for group in expansion.groups] == [("web", ["m", "n"])]
    assert [instance.key for instance in expansion.instances] == [(1, "m"), (1, "n")]
