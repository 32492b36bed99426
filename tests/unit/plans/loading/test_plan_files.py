"""What a file of a plan may be, its parameters, and how files and layers merge."""

import pytest

from precast.plans.loading.documents import PlanText
from precast.plans.loading.loader import load_plan
from precast.plans.model import Plan
from tests.unit.plans.loading.plan_texts import SHELL, lines, load

STAGE = "- {id: a, type: stage}\n"


def test_list_of_tasks_is_a_plan_with_the_name_that_it_is_given() -> None:
    loaded = load(STAGE)
    assert loaded.plan is not None
    assert (loaded.plan.name, [task.id for task in loaded.plan.tasks], loaded.warnings) == ("main", ["a"], [])


def test_mapping_has_a_name_parameters_and_tasks() -> None:
    text = "name: web\ndescription: The shop.\nparameters: {version: {type: String}}\ntasks:\n- {id: a, type: stage}\n"
    loaded = load(text)
    assert loaded.errors == loaded.warnings == []
    assert loaded.plan is not None
    assert (loaded.plan.name, loaded.plan.parameters) == ("web", {"version": {"type": "String"}})
    assert loaded.plan.unknown == {"description": "The shop."}


def test_metadata_of_a_graph_of_fuel_is_kept_without_a_warning() -> None:
    graph = "node_filter: $.a\non_success: {node_attributes: {}}\non_error: {}\non_stop: {x: 1}\nnode_statuses_transitions: {}\n"
    loaded = load(graph, STAGE)
    assert loaded.errors == loaded.warnings == []
    assert loaded.plan is not None
    assert set(loaded.plan.unknown) == {"node_filter", "on_success", "on_error", "on_stop", "node_statuses_transitions"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("just words", "1:1 PLAN-009 the plan must be a list of tasks, or a mapping with tasks, not 'just words'"),
        ("5", "1:1 PLAN-009 the plan must be a list of tasks, or a mapping with tasks, not 5"),
        ("id: a\ntype: stage", "1:1 PLAN-009 the plan must be a list of tasks, or a mapping with tasks, not a mapping"),
        ("tasks: {a: b}", "1:8 PLAN-009 tasks of the plan must be a list of tasks, not a mapping"),
        ("name: [a]\ntasks: []", "1:7 PLAN-009 name of the plan must be the name of the plan, not a list"),
        ("description: {a: b}\ntasks: []", "1:14 PLAN-009 description of the plan must be a text, not a mapping"),
        ("parameters: [a]", "1:13 PLAN-009 parameters of the plan must be a mapping from names to declarations, not a list"),
        ("parameters: {A: {}}", "1:17 PLAN-050 'A' is not the name of a parameter"),
        ("parameters:\n  a: {type: 'Integer['}", "2:6 PLAN-051 the type of parameter a cannot be used: Syntax error at end of input"),
        ("parameters:\n  a: String", "2:6 PLAN-052 the declaration of parameter a is invalid: it is not a mapping"),
        (
            "parameters: {a: {typ: x}}",
            "1:17 PLAN-052 the declaration of parameter a is invalid: 'typ' has no meaning here; did you mean type?",
        ),
    ],
)  # fmt: skip
def test_file_that_is_no_plan_is_an_error_with_its_place(text: str, error: str) -> None:
    assert lines(load(text).errors) == [error]


def test_too_many_parameters_are_an_error() -> None:
    text = f"parameters: {{{', '.join(f'p{number}: ' for number in range(501))}}}"
    assert lines(load(text).errors) == [
        "1:13 PLAN-009 parameters of the plan must be at most 500 parameters, not a mapping"
    ]


def test_parameter_without_a_declaration_may_have_any_value() -> None:
    loaded = load(f"parameters: {{a: }}\ntasks:\n{STAGE}")
    assert loaded.plan is not None
    assert loaded.plan.parameters == {"a": {}}


def test_unknown_field_of_a_plan_is_a_warning_and_kept() -> None:
    loaded = load(f"task: []\ntasks:\n{STAGE}")
    assert lines(loaded.warnings) == [
        "1:1 PLAN-020 task of the plan is not known, and has no effect; did you mean tasks?"
    ]
    assert loaded.plan is not None
    assert loaded.plan.unknown == {"task": []}


@pytest.mark.parametrize("text", ["tasks:", "tasks: []", "[]", "node_filter: a"])
def test_plan_without_tasks_is_a_warning(text: str) -> None:
    loaded = load(text)
    assert (loaded.plan, lines(loaded.warnings)) == (
        Plan("main", (), unknown={"node_filter": "a"} if "node_filter" in text else {}),
        ["1:1 PLAN-029 the plan has no tasks"],
    )


def test_no_files_are_a_plan_without_tasks() -> None:
    loaded = load_plan([], "main")
    assert lines(loaded.warnings) == ["nowhere PLAN-029 the plan has no tasks"]


def test_tasks_of_all_files_are_in_the_order_of_the_files() -> None:
    loaded = load("- {id: b, type: stage}", "", "- {id: a, type: stage}\n- {id: g, type: group}")
    assert loaded.plan is not None
    assert [task.id for task in loaded.plan.tasks] == ["b", "a"]
    assert [group.id for group in loaded.plan.groups] == ["g"]
    assert lines(loaded.warnings) == ["b.yaml:1:1 PLAN-029 this file has no tasks"]


def test_id_twice_in_a_layer_is_an_error_that_names_both_places() -> None:
    loaded = load(STAGE + STAGE, "\n\n- {id: a, type: group}")
    assert lines(loaded.errors) == [
        "2:3 PLAN-013 there are two tasks a; the first is in line 1",
        "b.yaml:3:3 PLAN-013 there are two tasks a; the first is in a.yaml:1",
    ]


def test_name_and_parameter_twice_in_a_layer_are_errors() -> None:
    loaded = load("name: a\nparameters: {x: {}}", "name: b\nparameters: {x: {}}", "name: b")
    assert lines(loaded.errors) == [
        "b.yaml:1:7 PLAN-006 the name of the plan is given twice; first in a.yaml:1",
        "b.yaml:2:14 PLAN-006 parameter x is given twice; first in a.yaml:2",
    ]


def test_later_layer_replaces_tasks_as_a_whole_and_in_their_place() -> None:
    files = [
        PlanText("cluster.yaml", "name: cluster\nparameters: {x: {default: 2}}\ntasks: [{id: web, type: skipped, roles: a}]", 20),
        PlanText("release.yaml", f"name: release\nparameters: {{x: {{default: 1}}}}\ntasks:\n{SHELL}- {{id: db, type: group}}", 0),
        PlanText("plugin.yaml", "- {id: db, type: stage}\n- {id: new, type: stage}", 10),
    ]  # fmt: skip
    loaded = load_plan(files, "main")
    assert loaded.errors == loaded.warnings == []
    assert loaded.plan is not None
    assert [(task.id, task.type) for task in loaded.plan.tasks] == [
        ("web", "skipped"),
        ("db", "stage"),
        ("new", "stage"),
    ]
    assert loaded.plan.tasks[0].parameters == {}
    assert (loaded.plan.groups, loaded.plan.name, loaded.plan.parameters) == ((), "cluster", {"x": {"default": 2}})


def test_problems_are_in_the_order_of_files_and_lines() -> None:
    loaded = load("- {id: a, type: x}\n- {id: b, type: x}", "- {id: c, type: x}", "- [\n")
    assert [(error.at.file, error.at.line) for error in loaded.errors if error.at] == [
        ("a.yaml", 1), ("a.yaml", 2), ("b.yaml", 1), ("c.yaml", 2),
    ]  # fmt: skip


def test_same_files_give_the_same_plan() -> None:
    assert load(SHELL, STAGE) == load(SHELL, STAGE)
