"""The types of tasks: what each needs, what it keeps, and what Fuel's own types become."""

from typing import Any

import pytest

from precast.plans.loading.task_types import TASK_TYPES
from tests.unit.plans.loading.plan_texts import find_errors, find_warnings, lines, load, load_task

_YAQL = {"yaql_exp": "$.x"}
_EXAMPLES: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "catalog": [
        ("", "catalog", {}),
        ("tags: web, classes: [a, b], stages: [main], mode: noop", "catalog",
         {"tags": ["web"], "classes": ["a", "b"], "stages": ["main"], "mode": "noop"}),
    ],
    "manifest": [("manifest: manifests/db.pp, mode: enforce", "manifest", {"manifest": "manifests/db.pp", "mode": "enforce"})],
    "puppet": [
        ("puppet_manifest: /etc/x.pp, puppet_modules: '', cwd: /", "manifest",
         {"puppet_manifest": "/etc/x.pp", "puppet_modules": "", "cwd": "/"}),
        ("manifest: a.pp", "manifest", {"manifest": "a.pp"}),
    ],
    "shell": [
        ("cmd: a, cwd: /srv, environment: {A: b, N: 5}", "shell",
         {"cmd": "a", "cwd": "/srv", "environment": {"A": "b", "N": "5"}}),
        ("cmd: {yaql_exp: $.x}, environment: {A: {yaql_exp: $.x}}", "shell", {"cmd": _YAQL, "environment": {"A": _YAQL}}),
        ("cmd: a, debug: {x: 1}", "shell", {"cmd": "a", "debug": {"x": 1}}),
    ],
    "task": [("task: mysql::backup, parameters: {a: [1]}", "task", {"task": "mysql::backup", "parameters": {"a": [1]}})],
    "upload_file": [
        ("path: /x, data: '', permissions: 0640, dir_permissions: '0750'", "upload_file",
         {"path": "/x", "data": "", "permissions": "0640", "dir_permissions": "0750"}),
        ("path: /x, data: {a: 1}", "upload_file", {"path": "/x", "data": {"a": 1}}),
        ("path: {yaql_exp: $.x}, data: {yaql_exp: $.x}, permissions: 644", "upload_file",
         {"path": _YAQL, "data": _YAQL, "permissions": "644"}),
    ],
    "copy_files": [
        ("files: [{src: /a, dst: /b}, {src: {yaql_exp: $.x}, dst: /c}]", "copy_files",
         {"files": [{"src": "/a", "dst": "/b"}, {"src": _YAQL, "dst": "/c"}]}),
        ("files: {yaql_exp: $.x}", "copy_files", {"files": _YAQL}),
    ],
    "sync": [("src: 'rsync://h/m', dst: /d", "sync", {"src": "rsync://h/m", "dst": "/d"})],
    "reboot": [("", "reboot", {})],
    "stage": [("", "stage", {})],
    "skipped": [("cmd: rm -f /x", "skipped", {"cmd": "rm -f /x"})],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parameters", "type_", "kept"),
    [(name, *example) for name, examples in _EXAMPLES.items() for example in examples],
)
def test_type_keeps_its_parameters_as_they_are_written(
    name: str, parameters: str, type_: str, kept: dict[str, Any]
) -> None:
    task = load_task("", f"- {{id: t, type: {name}, roles: [web], parameters: {{{parameters}}}}}")
    assert (task.type, task.parameters) == (type_, kept)


def test_every_type_has_an_example() -> None:
    fuels = {"master_shell", "move_to_bootstrap", "erase_node"}
    assert {*_EXAMPLES, *fuels, "group", "run_plan"} == set(TASK_TYPES)


@pytest.mark.parametrize(
    ("type_", "parameters", "error"),
    [
        ("shell", "", "1:3 PLAN-010 task t has no cmd"),
        ("shell", "cmd: ", "1:3 PLAN-010 task t has no cmd"),
        ("shell", "cmd: [a]", "3:21 PLAN-009 cmd of PARAMETERS must be a command, not a list"),
        ("shell", "cmd: a, environment: [b]", "3:37 PLAN-009 environment of PARAMETERS must be a mapping from names to texts, not a list"),
        ("shell", "cmd: a, environment: {A: [b]}", "3:41 PLAN-009 A of environment of PARAMETERS must be a text, not a list"),
        ("manifest", "mode: noop", "1:3 PLAN-010 task t has no manifest"),
        ("puppet", "puppet_modules: x", "1:3 PLAN-010 task t has no manifest"),
        ("manifest", "manifest: a, mode: nop", "3:35 PLAN-009 mode of PARAMETERS must be one of noop, enforce, not 'nop'"),
        ("task", "parameters: {}", "1:3 PLAN-010 task t has no task"),
        ("upload_file", "data: x", "1:3 PLAN-010 task t has no path"),
        ("upload_file", "path: x", "1:3 PLAN-010 task t has no data"),
        ("upload_file", "path: x, permissions: w", "3:38 PLAN-009 permissions of PARAMETERS must be permissions in octal digits, not 'w'"),
        ("copy_files", "files: []", "3:23 PLAN-009 files of PARAMETERS must be a list of 1 to 1000 files, not an empty list"),
        ("copy_files", "files: [{src: a}]", "3:24 PLAN-010 item 1 of files of PARAMETERS has no dst"),
        ("copy_files", "files: [a]", "3:24 PLAN-009 item 1 of files of PARAMETERS must be a mapping with src and dst, not 'a'"),
        ("sync", "dst: a", "1:3 PLAN-010 task t has no src"),
        ("catalog", "tags: {a: b}", "3:22 PLAN-009 tags of PARAMETERS must be a list of texts, not a mapping"),
        ("run_plan", "with: {}", "1:3 PLAN-010 task t has no plan"),
        ("run_plan", "plan: a, with: [b]", "3:31 PLAN-009 with of PARAMETERS must be a mapping, not a list"),
        ("run_plan", "plan: a, with: {b: {yaql_exp: c}}", "3:35 PLAN-009 b of with of PARAMETERS must be a value, not a mapping"),
    ],
)  # fmt: skip
def test_parameter_that_is_missing_or_wrong_is_an_error_with_its_place(type_: str, parameters: str, error: str) -> None:
    assert error.replace("PARAMETERS", "parameters of task t") in find_errors(
        "", f"- id: t\n  type: {type_}\n  parameters: {{{parameters}}}\n"
    )


def test_missing_parameter_has_a_hint_that_says_what_it_is() -> None:
    errors = load("- {id: t, type: shell, roles: '*'}").errors
    assert [error.hint for error in errors] == ["write `cmd:` below parameters: the command, for /bin/sh"]


def test_data_of_a_file_may_be_an_input() -> None:
    load_task(head="- {id: t, type: upload_file, roles: a, parameters: {path: /x}, inputs: {data: {task: b}}}")


def test_misspelt_parameter_is_a_warning_and_kept() -> None:
    loaded = load("- {id: t, type: shell, roles: a, parameters: {cmd: x, enviroment: {}, timout: 5}}")
    assert lines(loaded.warnings) == [
        "1:55 PLAN-020 enviroment of parameters of task t is not known, and has no effect; did you mean environment?",
        "1:71 PLAN-020 timout of parameters of task t is not known, and has no effect; did you mean timeout?",
    ]
    assert loaded.plan is not None
    assert loaded.plan.tasks[0].parameters == {"cmd": "x", "enviroment": {}, "timout": 5}


@pytest.mark.parametrize(
    ("type_", "parameters", "option", "guess"),
    [
        ("catalog", "tag: [a]", "tag", "; did you mean tags?"),
        ("catalog", "tags: [a], colour: blue", "colour", ""),
        ("manifest", "manifest: a.pp, moed: noop", "moed", "; did you mean mode?"),
        ("task", "task: a::b, paramters: {c: 1}", "paramters", "; did you mean parameters?"),
        ("run_plan", "plan: a, wiht: {b: 1}", "wiht", "; did you mean with?"),
    ],
)
def test_unknown_parameter_that_would_widen_what_is_done_is_an_error(
    type_: str, parameters: str, option: str, guess: str
) -> None:
    errors = load(f"- {{id: t, type: {type_}, roles: a, parameters: {{{parameters}}}}}").errors
    texts = [error.text for error in errors if error.code == "PLAN-016"]
    assert texts == [f"{option} is not an option of parameters of task t{guess}"]


def test_misspelt_key_of_a_file_is_a_warning() -> None:
    head = "- {id: t, type: copy_files, roles: a, parameters: {files: [{src: a, dst: b, mode: c}]}}"
    assert find_warnings("", head) == [
        "1:77 PLAN-020 mode of item 1 of files of parameters of task t is not known, and has no effect"
    ]


def test_command_on_the_master_runs_there_once_with_a_warning() -> None:
    loaded = load("- {id: t, type: master_shell, role: ['/.*/'], parameters: {cmd: x}}")
    assert lines(loaded.warnings) == [
        "1:3 PLAN-028 task t runs once, on the master, and not on the master for each of its nodes"
    ]
    assert loaded.plan is not None
    assert (loaded.plan.tasks[0].type, loaded.plan.tasks[0].selectors) == ("shell", ("master",))
    assert load_task(head="- {id: t, type: master_shell, role: master, parameters: {cmd: x}}").selectors == ("master",)


@pytest.mark.parametrize("type_", ["move_to_bootstrap", "erase_node"])
def test_type_of_fuel_without_a_counterpart_is_skipped_with_a_warning(type_: str) -> None:
    loaded = load(f"- {{id: t, type: {type_}, role: ['/.*/'], parameters: {{timeout: 5, slave_name: a}}}}")
    assert lines(loaded.warnings) == [
        f"1:3 PLAN-027 task t is skipped: tasks of the type {type_} have no counterpart in Precast"
    ]
    assert loaded.plan is not None
    assert (loaded.plan.tasks[0].type, loaded.plan.tasks[0].parameters) == ("skipped", {"slave_name": "a"})
