"""A file of nodes gives nodes and their data; every mistake in it has its place."""

import pytest

from precast.base.errors import Issue
from precast.plans import issues
from precast.plans.loading.documents import PlanText
from precast.plans.model import PlanNode
from precast.plans.views.dependencies import make_up_nodes
from precast.plans.views.node_file import NodeList, read_nodes
from tests.unit.plans.example_plans import SHOP, plan_of, task


def read(text: str) -> NodeList:
    return read_nodes(PlanText("nodes.yaml", text))


def test_nodes_have_roles_tags_and_data() -> None:
    found = read(
        "- {name: web1, roles: [web, db], tags: blue, data: {release: 4, debug: true}}\n- name: boss\n  is_master: true\n"
    )
    assert found.nodes == [PlanNode("web1", ("web", "db"), ("blue",)), PlanNode("boss", is_master=True)]
    assert found.data == {"web1": {"release": 4, "debug": True}}
    assert not found.errors
    assert not found.warnings


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("name: web1\n", issues.WRONG_VALUE, (1, 1)),
        ("", issues.WRONG_VALUE, (1, 1)),
        ("- web1\n", issues.WRONG_VALUE, (1, 3)),
        ("- roles: [web]\n", issues.MISSING_FIELD, (1, 3)),
        ("- name: a\n- {name: a}\n", issues.NODE_TWICE, (2, 3)),
        ("- name: a\n  data: 3\n", issues.WRONG_VALUE, (2, 9)),
        ("- name: [a\n", issues.BAD_YAML, (2, 1)),
    ],
)
def test_mistake_in_a_file_of_nodes_has_its_place(text: str, code: Issue, place: tuple[int, int]) -> None:
    (error,) = read(text).errors
    assert error.at is not None
    assert (error.code, (error.at.line, error.at.column)) == (code.code, place)


def test_misspelt_key_of_a_node_is_warned_of_with_a_guess() -> None:
    (warning,) = read("- name: a\n  rols: [web]\n").warnings
    assert "roles" in warning.text


def test_made_up_nodes_have_one_role_each_and_there_is_a_master_if_one_is_needed() -> None:
    assert [(node.name, node.roles, node.is_master) for node in make_up_nodes(SHOP)] == [
        ("master", (), True),
        ("db", ("db",), False),
        ("web", ("web",), False),
    ]
    assert [node.name for node in make_up_nodes(plan_of(task("a", selectors=("/x/", "*"))))] == ["node"]
