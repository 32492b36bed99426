"""The task graphs of Fuel expand over a master and five nodes: most tasks have a node, nothing is in error, and runs go to their end."""

import os
from collections import Counter
from pathlib import Path

import pytest

from precast.plans import issues
from precast.plans.checks import check_expansion
from precast.plans.execution import PlanExecution
from precast.plans.expansion import expand
from precast.plans.loading.documents import PlanText
from precast.plans.loading.loader import load_plan
from precast.plans.model import Expansion, Plan, PlanNode, Subset
from precast.plans.subsets import choose_instances
from precast.plans.users import Status

CORPUS = Path(os.environ.get("PRECAST_CORPORA", "/nowhere")) / "fuel"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="PRECAST_CORPORA names no directory with fuel")

CONTROLLER_TAGS = ("keystone", "database", "rabbitmq", "neutron")
NODES = [
    PlanNode("master", is_master=True),
    PlanNode("node-1", ("primary-controller",), tuple(f"primary-{tag}" for tag in CONTROLLER_TAGS)),
    PlanNode("node-2", ("controller",), CONTROLLER_TAGS),
    PlanNode("node-3", ("compute", "cinder")),
    PlanNode("node-4", ("ceph-osd", "primary-mongo", "mongo", "cinder-block-device")),
    PlanNode("node-5", ("ironic", "base-os", "virt")),
]
# The warnings of the expansion by code. Two graphs name a task that is not in them.
WARNINGS = {
    "deployment": {issues.STAGE_OF_ROLE.code: 18},
    "deletion": {},
    "net-verification": {issues.UNKNOWN_DEPENDENCY.code: 1, issues.IDLE_LIMIT.code: 1},
    "provision": {issues.UNKNOWN_DEPENDENCY.code: 1},
}


def load(name: str) -> Plan:
    paths = (
        sorted((CORPUS / "deployment").rglob("*.yaml"))
        if name == "deployment"
        else [CORPUS / "graphs" / name / "tasks.yaml"]
    )
    loaded = load_plan(
        [PlanText(str(path.relative_to(CORPUS)), path.read_text(encoding="utf-8")) for path in paths], name
    )
    assert loaded.errors == []
    assert loaded.plan is not None
    return loaded.plan


def run_to_the_end(expansion: Expansion) -> list[str]:
    execution = PlanExecution(expansion, {})
    order = []
    while not execution.is_over:
        while (key := execution.start_next()) is not None:
            order.append(f"{expansion.plan.tasks[key.task - 1].id} {key.node}")
        assert execution.running, "something can always begin or end"
        execution.end(execution.running[0], Status.DONE)
    return order


@pytest.mark.parametrize("name", WARNINGS)
def test_graph_of_fuel_expands_without_errors_and_with_its_warts_as_warnings(name: str) -> None:
    plan = load(name)
    expansion = expand(plan, NODES)
    assert {instance.key.task for instance in expansion.instances} == set(range(1, len(plan.tasks) + 1))
    assert Counter(problem.code for problem in expansion.warnings) == WARNINGS[name]
    assert all(problem.at is not None for problem in expansion.warnings)
    assert check_expansion(expansion) == []


@pytest.mark.parametrize("name", WARNINGS)
def test_run_of_a_graph_of_fuel_ends_in_an_order_that_its_dependencies_allow(name: str) -> None:
    expansion = expand(load(name), NODES)
    order = run_to_the_end(expansion)
    assert sorted(order) == sorted(
        f"{expansion.plan.tasks[instance.key.task - 1].id} {instance.key.node}"
        for instance in expansion.instances
        if instance.key.node
    )


def test_deployment_of_fuel_keeps_the_order_of_its_stages_and_of_some_tasks() -> None:
    order = run_to_the_end(expand(load("deployment"), NODES))
    position = {name: index for index, name in enumerate(order)}
    for before, after in (
        ("hiera node-1", "globals node-1"),
        ("netconfig node-2", "database node-2"),
        ("primary-database node-1", "database node-2"),
        ("primary-rabbitmq node-1", "rabbitmq node-2"),
        ("keystone-db node-1", "primary-keystone node-1"),
        ("netconfig node-3", "top-role-compute node-3"),
    ):
        assert position[before] < position[after], (before, after)


def test_tolerances_of_fuels_groups_are_counted() -> None:
    expansion = expand(load("deployment"), NODES)
    assert {group.name: group.tolerate for group in expansion.groups} == {
        "primary-controller": 0, "controller": 1, "cinder": 0, "cinder-block-device": 0, "compute": 0, "mongo": 1,
        "primary-mongo": 0, "ceph-osd": None, "base-os": None, "virt": None, "ironic": None, "": 0,
    }  # fmt: skip
    assert expansion.groups[-1].nodes == {"master"}


def test_part_of_a_deployment_is_chosen_between_two_tasks() -> None:
    expansion = expand(load("deployment"), NODES)
    chosen = choose_instances(expansion, Subset(start=("netconfig",), end=("primary-database",)))
    names = {expansion.plan.tasks[expansion.instances[index].key.task - 1].id for index in chosen}
    assert {"netconfig", "primary-database"} < names
    assert len(names) < 40
