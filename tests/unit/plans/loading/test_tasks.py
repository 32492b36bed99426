"""The fields of a task: what each is read as, and what is said of one that is wrong, misspelt or in the wrong place."""

from typing import Any

import pytest

from precast.plans.model import Condition, Plan, PlanGroup, Position, TaskInput
from tests.unit.plans.loading.plan_texts import SHELL, attributes, find_errors, find_warnings, lines, load, load_task


def load_plan_of(text: str) -> Plan:
    loaded = load(text)
    assert loaded.plan is not None
    return loaded.plan


def test_task_with_nothing_but_what_it_needs_has_the_defaults() -> None:
    task = load_task()
    assert (task.id, task.type, task.at) == ("web", "shell", Position("a.yaml", 1, 3))
    assert (task.selectors, task.parameters) == (("web",), {"cmd": "true"})
    assert (task.timeout_s, task.retries, task.interval_s, task.lost_after_s) == (3600.0, 0, 1.0, 600.0)
    assert (task.requires, task.condition, task.approval, task.is_always, task.fail_on_error) == (
        (),
        None,
        "",
        False,
        True,
    )
    assert (task.unknown, task.inputs, task.test_pre, task.computed) == ({}, {}, (), ())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("  timeout: 90", {"timeout_s": 90.0}),
        ("  timeout: 90s", {"timeout_s": 90.0}),
        ("  timeout: '120'", {"timeout_s": 120.0}),
        ("  timeout: 1h30m", {"timeout_s": 5400.0}),
        ("  timeout: 0.5", {"timeout_s": 0.5}),
        ("  {retries: 3, interval: 0}", {"retries": 3, "interval_s": 0.0}),
        ("  lost_after: 2h", {"lost_after_s": 7200.0}),
        ("  fail_on_error: false", {"fail_on_error": False}),
        ("  always: true", {"is_always": True}),
        ("  approval: Has the backup been checked?", {"approval": "Has the backup been checked?"}),
        ("  approval: true", {"approval": "Go on?"}),
        ("  approval: false", {"approval": ""}),
        ("  refresh_on: db.password", {"refresh_on": ("db.password",)}),
        ("  reexecute_on: [deploy_changes]", {"reexecute_on": ("deploy_changes",)}),
        ("  refresh_on: ['*']", {"refresh_on": ("*",)}),
        ("  condition: {yaql_exp: ' changed($.a) '}", {"condition": Condition("changed($.a)")}),
        ("  condition: settings:a.b == true", {"condition": Condition("settings:a.b == true", is_yaql=False)}),
        ("  condition:", {"condition": None}),
        (
            "  inputs: {all: {task: db}, one: {task: db, key: a.b, role: [db, cache]}, own: {task: x, role: self}}",
            {
                "inputs": {
                    "all": TaskInput("db"),
                    "one": TaskInput("db", "a.b", ("db", "cache")),
                    "own": TaskInput("x", "", ("self",)),
                }
            },
        ),
        ("  description: For people.", {"unknown": {"description": "For people."}}),
        ("  node_attributes: {status: error}", {"unknown": {"node_attributes": {"status": "error"}}}),
        ("  stage: post_deployment", {"unknown": {"stage": "post_deployment"}}),
        ("  version: 2.1.0", {"unknown": {}}),
    ],
)  # fmt: skip
def test_field_is_read_as(fields: str, expected: dict[str, Any]) -> None:
    if fields.startswith("  {"):
        fields = "\n".join(f"  {field}" for field in fields.strip(" {}").split(", "))
    assert attributes(load_task(fields), *expected) == expected


@pytest.mark.parametrize("name", ["timeout: 5", "retries: 2", "interval: 3"])
def test_execution_is_read_below_parameters_as_fuel_writes_it(name: str) -> None:
    head = f"- id: web\n  type: shell\n  roles: [web]\n  parameters:\n    cmd: 'true'\n    {name}\n"
    task = load_task("", head)
    found = {"timeout": task.timeout_s, "retries": task.retries, "interval": task.interval_s}
    key, _, value = name.partition(": ")
    assert (found[key], task.parameters) == (int(value), {"cmd": "true"})


def test_field_of_the_task_counts_before_that_of_its_parameters() -> None:
    loaded = load("- {id: a, type: shell, roles: x, timeout: 5, parameters: {cmd: b, timeout: 6}}")
    assert lines(loaded.warnings) == [
        "1:76 PLAN-023 timeout of parameters of task a has no effect: the task has timeout outside its parameters too, which counts"
    ]
    assert loaded.plan is not None
    assert loaded.plan.tasks[0].timeout_s == 5.0


@pytest.mark.parametrize(
    ("fields", "selectors"),
    [
        ("roles: [a, b]", ("a", "b")),
        ("role: a", ("a",)),
        ("groups: [a]", ("a",)),
        ("tags: [a]", ("a",)),
        ("roles: '*'", ("*",)),
        ("role: ['master', '/.*/']", ("master", "/.*/")),
        ("roles: ~\n  groups: [b]", ("b",)),
    ],
)
def test_nodes_are_those_of_the_first_field_that_is_present(fields: str, selectors: tuple[str, ...]) -> None:
    assert load_task("", f"- id: a\n  type: skipped\n  {fields}\n").selectors == selectors


def test_further_selectors_have_no_effect_and_are_warned_of() -> None:
    loaded = load("- id: a\n  type: skipped\n  groups: [g]\n  role: [r]\n  roles: [s]\n  tags: [t]\n")
    assert lines(loaded.warnings) == [
        "3:11 PLAN-023 groups of task a has no effect: the task has tags too, which counts",
        "4:9 PLAN-023 role of task a has no effect: the task has the field under another name too",
        "5:10 PLAN-023 roles of task a has no effect: the task has tags too, which counts",
    ]
    assert loaded.plan is not None
    assert loaded.plan.tasks[0].selectors == ("t",)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ("  timeout: soon", "5:12 PLAN-009 timeout of task web must be a duration, not 'soon'"),
        ("  timeout: 0", "5:12 PLAN-009 timeout of task web must be more than 0 and at most 86400 seconds, not 0"),
        ("  timeout: 2000h", "5:12 PLAN-009 timeout of task web must be more than 0 and at most 86400 seconds, not '2000h'"),
        ("  timeout: [5]", "5:12 PLAN-009 timeout of task web must be a duration, not a list"),
        ("  timeout: true", "5:12 PLAN-009 timeout of task web must be a duration, not true"),
        ("  retries: -1", "5:12 PLAN-009 retries of task web must be a whole number from 0 to 1000, not -1"),
        ("  retries: 1.5", "5:12 PLAN-009 retries of task web must be a whole number from 0 to 1000, not 1.5"),
        ("  interval: -1", "5:13 PLAN-009 interval of task web must be from 0 and at most 86400 seconds, not -1"),
        ("  always: sometimes", "5:11 PLAN-009 always of task web must be true or false, not 'sometimes'"),
        ("  fail_on_error: {}", "5:18 PLAN-009 fail_on_error of task web must be true or false, not an empty mapping"),
        ("  approval: [a]", "5:13 PLAN-009 approval of task web must be the question that a person is asked, or true, not a list"),
        ("  produces: {a: b}", "5:13 PLAN-009 produces of task web must be a list of texts, not a mapping"),
        ("  produces: [[a]]", "5:14 PLAN-009 item 1 of produces of task web must be a name, not a list"),
        ("  produces: ['']", "5:14 PLAN-009 item 1 of produces of task web must be a name, not ''"),
        ("  condition: {yaql: a}", "5:14 PLAN-009 condition of task web must be a text, or a mapping with yaql_exp alone, not a mapping"),
        ("  condition: a ===", "5:14 PLAN-060 condition of task web cannot be read: '=' is not expected here"),
        ("  inputs: [a]", "5:11 PLAN-009 inputs of task web must be a mapping from names to results, not a list"),
        ("  inputs: {a: db}", "5:15 PLAN-009 a of inputs of task web must be a mapping with task and key, not 'db'"),
        ("  inputs: {a: {key: b}}", "5:15 PLAN-010 a of inputs of task web has no task"),
        ("  inputs: {a: {task: b, keys: c}}", "5:25 PLAN-016 keys is not an option of a of inputs of task web; did you mean key?"),
        ("  description: {a: b}", "5:16 PLAN-009 description of task web must be a text, not a mapping"),
        ("  parameters: text", "4:15 PLAN-009 parameters of task web must be a mapping, not 'text'"),
    ],
)  # fmt: skip
def test_field_of_the_wrong_kind_is_an_error_with_its_place(fields: str, error: str) -> None:
    head = SHELL.replace("  parameters: {cmd: 'true'}\n", "") if "parameters" in fields else SHELL
    assert error in find_errors(fields, head)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("- type: stage", "1:3 PLAN-010 the task has no id"),
        ("- id: a", "1:3 PLAN-010 task a has no type"),
        ("- {id: a b, type: stage}", "1:8 PLAN-011 a b cannot be the id of a task"),
        ("- {id: /a/, type: stage}", "1:8 PLAN-011 /a/ cannot be the id of a task"),
        ("- {id: [a], type: stage}", "1:8 PLAN-009 the id of a task must be a name, not a list"),
        ("- {id: a, type: shel}", "1:17 PLAN-012 the type shel of task a does not exist; did you mean shell?"),
        ("- {id: a, type: [stage]}", "1:17 PLAN-009 type of task a must be a type of task, not a list"),
        ("- {id: a, type: ansible}", "1:17 PLAN-012 the type ansible of task a does not exist"),
        ("- 5", "1:3 PLAN-009 entry 1 of the tasks must be a task, not 5"),
        ("- {id: a, type: stage}\n-\n", "2:2 PLAN-009 entry 2 of the tasks must be a task, not nothing"),
        ("- {id: a, type: skipped, roles: '/(/'}", "1:33 PLAN-030 the pattern /(/ is not supported: a ( without a matching )"),
        ("- {id: a, type: skipped, roles: {b: c}}", "1:33 PLAN-009 roles of task a must be a role, or a list of roles, not a mapping"),
    ],
)  # fmt: skip
def test_task_that_is_none_is_an_error_with_its_place(text: str, error: str) -> None:
    assert lines(load(text).errors) == [error]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (
            f"  inputs: {{{', '.join(f'i{number}: {{task: a}}' for number in range(101))}}}",
            "5:11 PLAN-009 inputs of task web must be at most 100 inputs, not a mapping",
        ),
        (
            f"  requires: [{', '.join(map(str, range(5_001)))}]",
            "5:13 PLAN-009 requires of task web must be a list of at most 5000, not a list",
        ),
        (
            f"  produces: [{', '.join(map(str, range(5_001)))}]",
            "5:13 PLAN-009 produces of task web must be at most 5000 of them, not a list",
        ),
    ],
    ids=["inputs", "requires", "produces"],
)
def test_too_many_of_anything_is_an_error(fields: str, error: str) -> None:
    assert find_errors(fields) == [error]


def test_long_id_is_refused_in_few_words() -> None:
    found = lines(load(f"- {{id: {'a' * 201}, type: stage}}").errors)
    assert found == [f"1:8 PLAN-009 the id of a task must be a text of at most 200 characters, not '{'a' * 59}…'"]


def test_all_errors_of_all_tasks_are_found_at_once() -> None:
    text = "- {id: a, type: shell, retries: x}\n- {id: b, type: nothing}\n- {type: stage}\n- {id: d, type: sync}\n"
    assert [(error.at.line, error.code) for error in load(text).errors if error.at] == [
        (1, "PLAN-010"), (1, "PLAN-009"), (2, "PLAN-012"), (3, "PLAN-010"), (4, "PLAN-010"), (4, "PLAN-010"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "warning"),
    [
        ("  required_form: [a]", "5:3 PLAN-020 required_form of task web is not known, and has no effect; did you mean required_for?"),
        (
            "  cross-depened-by: []",
            "5:3 PLAN-020 cross-depened-by of task web is not known, and has no effect; did you mean cross-depended-by?",
        ),
        ("  colour: blue", "5:3 PLAN-020 colour of task web is not known, and has no effect"),
        ("  tasks: [a]", "5:10 PLAN-023 tasks of task web has no effect: only a group has it"),
        ("  fault_tolerance: 1", "5:20 PLAN-023 fault_tolerance of task web has no effect: only a group has it"),
        ("  cwd: /srv", "5:3 PLAN-022 cwd of task web stands outside its parameters"),
        ("  strategy: {type: parallel}", "5:3 PLAN-022 strategy of task web stands outside its parameters"),
        ("  timeout: {yaql_exp: $.t}", "5:12 PLAN-024 timeout of task web cannot be an expression; its default is used"),
        ("  refresh_on: [a, b, a]", "5:22 PLAN-025 a (item 3 of refresh_on of task web) is given twice; it counts once"),
    ],
)  # fmt: skip
def test_oddity_is_a_warning_with_its_place(fields: str, warning: str) -> None:
    assert find_warnings(fields) == [warning]


def test_unknown_fields_are_kept_as_they_are_written() -> None:
    loaded = load(f"{SHELL}  colour: {{name: blue}}\n  required_form: [a]\n")
    assert loaded.plan is not None
    assert loaded.plan.tasks[0].unknown == {"colour": {"name": "blue"}, "required_form": ["a"]}


def test_parameters_that_are_not_indented_are_used_with_a_warning() -> None:
    text = "- id: murano\n  type: puppet\n  groups: [c]\n  parameters:\n  puppet_manifest: /m.pp\n  puppet_modules: ''\n  timeout: 60\n"
    loaded = load(text)
    assert lines(loaded.warnings) == [
        "5:3 PLAN-022 puppet_manifest of task murano stands outside its parameters",
        "6:3 PLAN-022 puppet_modules of task murano stands outside its parameters",
    ]
    assert loaded.plan is not None
    task = loaded.plan.tasks[0]
    assert (task.parameters, task.timeout_s) == ({"puppet_manifest": "/m.pp", "puppet_modules": ""}, 60.0)


def test_task_without_nodes_is_warned_of_unless_a_group_has_it() -> None:
    text = "- {id: a, type: skipped}\n- {id: b, type: skipped}\n- {id: cc, type: skipped}\n- {id: s, type: stage}\n"
    group = "- {id: g, type: group, roles: x, tasks: [b, '/c+$/']}"
    loaded = load(text + group)
    assert lines(loaded.warnings) == [
        "1:3 PLAN-026 task a runs nowhere: it has no roles, groups or tags, and no group has it"
    ]


def test_more_patterns_of_groups_than_can_be_matched_are_an_error() -> None:
    groups = "".join(f"- {{id: g{number}, type: group, tasks: ['/{number}/']}}\n" for number in range(501))
    assert [error.code for error in load("- {id: a, type: skipped}\n" + groups).errors] == ["PLAN-031"]


def test_group_has_nodes_tasks_and_tolerance() -> None:
    text = """
- id: g
  type: group
  role: [controller]
  tasks: [a, b]
  fault_tolerance: '5%'
  requires: [x]
  parameters: {strategy: {type: parallel}}
"""
    groups = load_plan_of(text).groups
    assert groups == (
        PlanGroup(
            "g",
            Position("a.yaml", 2, 3),
            ("controller",),
            ("a", "b"),
            "5%",
            {"requires": ["x"], "parameters": {"strategy": {"type": "parallel"}}},
        ),
    )
    assert load_plan_of("- {id: g, type: group, fault_tolerance: -1}").groups[0].fault_tolerance == "-1"
    assert load_plan_of("- {id: g, type: group}").groups[0].fault_tolerance is None


@pytest.mark.parametrize("tolerance", ["many", "1.5", "5 %%", "''", "[1]"])
def test_group_with_a_tolerance_that_is_none_is_an_error(tolerance: str) -> None:
    errors = load(f"- {{id: g, type: group, fault_tolerance: {tolerance}}}").errors
    assert [(error.at, error.code in ("PLAN-032", "PLAN-009")) for error in errors] == [
        (Position("a.yaml", 1, 41), True)
    ]


def test_group_with_fields_of_a_task_is_warned_of() -> None:
    assert find_warnings("", "- {id: g, type: group, test_pre: {cmd: x}, requird: [a]}\n- {id: s, type: stage}") == [
        "1:34 PLAN-023 test_pre of group g has no effect: a group has only nodes, tasks and fault_tolerance",
        "1:44 PLAN-020 requird of group g is not known, and has no effect; did you mean requires?",
    ]


def test_tolerance_below_the_parameters_of_a_group_is_warned_of() -> None:
    loaded = load("- {id: g, type: group, parameters: {fault_tolerance: 1, strategy: {type: parallel}}}")
    assert [problem.text for problem in loaded.warnings if problem.code == "PLAN-023"] == [
        "fault_tolerance of parameters of group g has no effect: a group has it beside its parameters, and not below"
    ]
