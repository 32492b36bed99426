"""What people see of the whole Fuel corpus: drawings, explanations, differences, exports, each within seconds."""

import os
import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from precast.plans.comparison import compare_plans
from precast.plans.drawing.dot import write_dot
from precast.plans.drawing.node_picture import make_node_picture
from precast.plans.drawing.picture import make_picture
from precast.plans.drawing.svg import write_svg
from precast.plans.expansion import expand
from precast.plans.explanation import explain_task
from precast.plans.export import export_graph, export_pnml
from precast.plans.loading.documents import PlanText
from precast.plans.loading.loader import load_plan
from precast.plans.model import Expansion, PlanNode
from precast.plans.views.dependencies import list_dependencies, list_roles
from precast.plans.views.script import write_script
from precast.plans.views.steps import make_steps

CORPUS = Path(os.environ.get("PRECAST_CORPORA", "/nowhere")) / "fuel"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="PRECAST_CORPORA names no directory with fuel")
SVG = "{http://www.w3.org/2000/svg}"


@cache
def expansion() -> Expansion:
    """Fuel's deployment over a master and five nodes, which share all roles."""
    paths = sorted((CORPUS / "deployment").rglob("tasks.yaml"))
    plan = load_plan([PlanText(str(path), path.read_text(encoding="utf-8")) for path in paths], "fuel").plan
    assert plan is not None
    roles = list_roles(plan)
    nodes = [PlanNode("master", ("admin",), is_master=True)]
    return expand(plan, [*nodes, *(PlanNode(f"n{number}", tuple(roles[number::5])) for number in range(5))])


def test_drawing_of_the_corpus_has_every_task_and_no_overlapping_boxes() -> None:
    plan = expansion().plan
    picture = make_picture(plan, list_dependencies(plan))
    assert {box.name for box in picture.boxes} == {task.id for task in plan.tasks}
    root = ElementTree.fromstring(write_svg(picture))
    assert float(root.get("width", "")) < 6_000  # about three screens; a row of all tasks would be 40,000
    boxes = [
        tuple(float(rect.get(name, "")) for name in ("x", "y", "width", "height"))
        for group in root.iter(f"{SVG}g")
        if group.find(f"{SVG}title") is not None and (rect := group.find(f"{SVG}rect")) is not None
    ]
    assert len(boxes) == len(plan.tasks)
    for number, (x, y, width, height) in enumerate(boxes):
        for left, top, across, down in boxes[number + 1 :]:
            assert x + width <= left or left + across <= x or y + height <= top or top + down <= y
    assert write_dot(picture).count(" -> ") == len(picture.arrows)


def test_drawing_of_each_node_of_the_corpus_has_its_tasks() -> None:
    for node in expansion().nodes:
        picture = make_node_picture(expansion(), node.name)
        own = {instance.key.task for instance in expansion().instances if instance.key.node == node.name}
        names = {expansion().plan.tasks[number - 1].id for number in own}
        assert names <= {box.name for box in picture.boxes if box.kind not in ("other", "stage")}
        assert write_svg(picture).startswith("<svg")


def test_every_dependency_of_the_corpus_has_a_reason() -> None:
    graph = export_graph(expansion())
    assert len(graph.edges) > 500
    assert all(edge.reasons for edge in graph.edges)
    places = {(reason.at.file, reason.at.line) for edge in graph.edges for reason in edge.reasons}
    for file, line in sorted(places)[:50]:
        text = Path(file).read_text(encoding="utf-8").splitlines()[line - 1]
        assert re.match(r"-? *\w+:", text.strip().removeprefix("- "))


def test_every_task_of_the_corpus_can_be_explained() -> None:
    for task in expansion().plan.tasks:
        found = explain_task(expansion(), task.id)
        assert (found.position is None) == (not any(place.nodes for place in found.places) and task.type != "stage")


def test_comparison_of_the_corpus_with_a_changed_task_is_small() -> None:
    plan = expansion().plan
    tasks = tuple(
        msgspec.structs.replace(task, requires=(*task.requires, "nova-db")) if task.id == "glance-db" else task
        for task in plan.tasks
    )
    comparison = compare_plans(plan, msgspec.structs.replace(plan, tasks=tasks), expansion().nodes)
    assert [change.id for change in comparison.tasks] == ["glance-db"]
    assert ("nova-db", "glance-db", "ordered") in [
        (change.first, change.second, change.change) for change in comparison.order.changes
    ]
    assert len(comparison.order.changes) < 10


def test_steps_and_net_of_the_corpus_have_every_task_on_every_node() -> None:
    steps = make_steps(expansion())
    with_work = {
        (expansion().plan.tasks[instance.key.task - 1].id, instance.key.node)
        for instance in expansion().instances
        if expansion().plan.tasks[instance.key.task - 1].type not in ("stage", "skipped")
    }
    assert {(step.task, step.node) for step in steps.steps} >= with_work
    assert write_script(steps).startswith("#!/bin/sh\n")
    assert export_pnml(expansion()).count("<transition ") >= len(expansion().instances)
