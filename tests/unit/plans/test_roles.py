"""Selectors mean nodes by role and tag, never by name."""

import pytest

from precast.plans.model import PlanNode
from precast.plans.roles import resolve_nodes

NODES = [
    PlanNode("boss", is_master=True),
    PlanNode("c1", ("primary-controller",), ("haproxy",)),
    PlanNode("c2", ("controller",), ("haproxy",)),
    PlanNode("compute", ("compute", "cinder")),
    PlanNode("k", ("master",)),
]


@pytest.mark.parametrize(
    ("selectors", "names"),
    [
        (["*"], ["boss", "c1", "c2", "compute", "k"]),
        (["master"], ["boss"]),
        (["controller"], ["c2"]),
        (["cinder", "controller", "compute"], ["c2", "compute"]),
        (["haproxy"], ["c1", "c2"]),
        (["/.*/"], ["c1", "c2", "compute", "k"]),
        (["/(primary-)?controller/"], ["c1", "c2"]),
        (["/troller/"], []),
        (["c1"], []),
        (["Controller"], []),
        ([], []),
    ],
)
def test_selectors_mean_the_nodes_with_the_role_or_tag(selectors: list[str], names: list[str]) -> None:
    assert [node.name for node in resolve_nodes(selectors, NODES)] == names


def test_nodes_stay_in_their_order() -> None:
    assert [node.name for node in resolve_nodes(["*"], NODES[::-1])] == ["k", "compute", "c2", "c1", "boss"]
