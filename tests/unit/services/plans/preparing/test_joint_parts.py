"""The parts of a run of a plan: what is applied where, and after what."""

from typing import Any

from precast.plans.expansion import expand
from precast.plans.model import InstanceKey, PlanNode, PlanTask
from precast.services.futures.checking.joint_checks import PlannedPart
from precast.services.plans.preparing.joint_parts import list_parts
from precast.wire.jobs.programs import CatalogWork, ManifestWork
from tests.unit.plans.example_plans import across, plan_of, task

NODES = [PlanNode("a", ("x",)), PlanNode("b", ("x", "y"))]


def parts_of(*tasks: PlanTask, works: dict[InstanceKey, Any] | None = None) -> dict[str, PlannedPart]:
    documents = {("a", ""): "da", ("b", ""): "db", ("b", "late.pp"): "entry"}
    parts = list_parts(expand(plan_of(*tasks), NODES), works or {}, documents)
    return {part.part.name: part for part in parts}


def run(name: str, *selectors: str, **fields: Any) -> PlanTask:
    return task(name, "catalog", selectors=selectors, **fields)


def test_task_that_applies_has_the_document_of_its_catalog() -> None:
    works = {InstanceKey(1, "a"): CatalogWork(classes=["web"]), InstanceKey(2, "b"): ManifestWork("late.pp")}
    parts = parts_of(run("first", "x"), run("then", "y"), works=works)
    assert parts["first on a"].document == "da"
    assert parts["first on a"].part.classes == ["web"]
    assert parts["then on b"].document == "entry"
    assert parts["first on b"].document == ""


def test_task_in_no_op_waits_for_nothing() -> None:
    parts = parts_of(run("first", "x"), works={InstanceKey(1, "a"): CatalogWork("noop")})
    assert parts["first on a"].document == ""


def test_part_comes_after_what_its_task_waits_for() -> None:
    parts = parts_of(run("first", "x"), run("then", "y", cross_depends=(across("first"),)))
    before = {name for each in parts["then on b"].part.after for name in (each, *parts[each].part.after)}
    assert before >= {"first on a", "first on b"}


def test_tasks_of_a_node_follow_each_other() -> None:
    parts = parts_of(run("first", "y"), run("then", "y"))
    assert parts["first on b"].part.after == []
    assert parts["then on b"].part.after == ["first on b"]
