"""Plans that include others: names, order, conditions and parameters of what is included, and what bounds it."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import pytest

from precast.plans import issues
from precast.plans.loading.documents import PlanText
from precast.plans.loading.inclusion import MAX_DEPTH, MAX_TASKS
from precast.plans.loading.joining import MAX_ADDED
from precast.plans.loading.loader import LoadedPlan, load_plan
from precast.plans.model import Condition, CrossDependency, Plan, PlanNode, PlanTask, Position
from precast.plans.programs import build_program
from precast.plans.values.works import TaskFile
from precast.wire.jobs.programs import ShellWork
from tests.unit.plans.loading.plan_texts import lines, load

RUN = "- {id: run, type: run_plan, parameters: {plan: inner}}\n"


def _shell(id_: str, fields: str = "") -> str:
    return f"- {{id: {id_}, type: shell, roles: [web], parameters: {{cmd: x}}{fields}}}\n"


def _plan(loaded: LoadedPlan) -> Plan:
    assert (lines(loaded.errors), lines(loaded.warnings)) == ([], [])
    assert loaded.plan is not None
    return loaded.plan


def _tasks(*texts: str, **plans: str) -> dict[str, PlanTask]:
    return {task.id: task for task in _plan(load(*texts, plans=plans)).tasks}


def _waits(task: PlanTask) -> tuple[Any, ...]:
    """The names on the same node, and across nodes, that the task waits for."""
    return task.requires, tuple(dependency.name for dependency in task.cross_depends)


def test_tasks_of_an_included_plan_stand_in_its_place_under_its_name() -> None:
    tasks = _tasks(_shell("a") + RUN + _shell("z"), inner=_shell("x") + "- {id: y, type: stage}\n")
    assert [(id_, task.type) for id_, task in tasks.items()] == [
        ("a", "shell"), ("run.x", "shell"), ("run.y", "stage"), ("z", "shell"),
    ]  # fmt: skip
    assert (tasks["run.x"].selectors, tasks["run.x"].at.file) == (("web",), "inner.yaml")


def test_names_within_an_included_plan_mean_its_own_tasks() -> None:
    inner = _shell("a", ", required_for: [b], inputs: {i: {task: b}}") + _shell(
        "b", ", requires: ['/^(a|c)$/', x], cross-depends: [{name: '/[^b]+|^a\\^/', role: self, policy: any}]"
    )
    tasks = _tasks(_shell("x") + RUN, inner=inner)
    assert tasks["run.a"].required_for == ("run.b",)
    assert tasks["run.a"].inputs["i"].task == "run.b"
    assert tasks["run.b"].requires == ("/run\\.(?:(a|c)$)/", "run.x")
    assert tasks["run.b"].cross_depends == (CrossDependency("/run\\.(?:[^b]+|a\\^)/", ("self",), "any"),)


def test_group_of_an_included_plan_keeps_its_nodes_and_its_tasks() -> None:
    inner = _shell("a") + "- {id: g, type: group, tasks: [a, '/a/']}\n- {id: h, type: group, roles: [r], tasks: [a]}\n"
    groups = _plan(load(RUN, plans={"inner": inner})).groups
    assert [(group.id, group.selectors, group.tasks) for group in groups] == [
        ("run.g", ("g",), ("run.a", "/run\\.(?:a)/")),
        ("run.h", ("r",), ("run.a",)),
    ]


def test_group_around_has_all_tasks_of_the_plan_that_it_names() -> None:
    loaded = load(
        "- {id: g, type: group, tasks: [run, other, '/r/']}\n" + RUN, plans={"inner": _shell("a") + _shell("b")}
    )
    assert _plan(loaded).groups[0].tasks == ("run.a", "run.b", "other", "/r/")


@pytest.mark.parametrize("field", ["requires: [a, s]", "cross-depends: [{name: a}, {name: s, role: null}]"])
def test_every_included_task_waits_for_what_the_run_waits_for(field: str) -> None:
    outer = (
        _shell("a")
        + "- {id: s, type: stage}\n"
        + f"- {{id: run, type: run_plan, {field}, parameters: {{plan: inner}}}}\n"
    )
    tasks = _tasks(outer, inner=_shell("x") + _shell("y", ", requires: [x]"))
    assert _waits(tasks["run.x"]) == (("s",), ("a",))
    assert _waits(tasks["run.y"]) == (("run.x", "s"), ("a",))


@pytest.mark.parametrize(
    "field",
    [
        "requires: [run]",
        "cross-depends: [{name: run}]",
        "cross-depends: [{name: run, role: null}]",
        "requires: ['/run/']",
    ],
)
def test_what_waits_for_the_run_waits_for_every_included_task(field: str) -> None:
    tasks = _tasks(RUN + _shell("z", f", {field}"), inner=_shell("x") + "- {id: s, type: stage}\n")
    local, across = _waits(tasks["z"])
    assert (local[-1], across) == ("run.s", ("run.x",))
    assert tasks["z"].cross_depends[0].role == ("*",)


def test_run_and_tasks_around_may_say_what_comes_after() -> None:
    outer = _shell("a", ", required_for: [run]") + _shell(
        "b", ", cross-depended-by: [{name: run, role: [db], policy: any}]"
    )
    run = "- {id: run, type: run_plan, required_for: [z], parameters: {plan: inner}}\n"
    tasks = _tasks(outer + run + _shell("z"), inner=_shell("x"))
    assert (tasks["a"].required_for, tasks["a"].cross_depended_by) == ((), (CrossDependency("run.x"),))
    assert tasks["b"].cross_depended_by == (CrossDependency("run.x", ("db",), "any"),)
    assert tasks["run.x"].cross_depended_by == (CrossDependency("z"),)


def test_run_after_a_run_waits_for_all_of_its_tasks() -> None:
    run = "- {id: next, type: run_plan, requires: [run], parameters: {plan: inner}}\n"
    tasks = _tasks(run + RUN, inner=_shell("x") + _shell("y"))
    assert _waits(tasks["next.x"]) == ((), ("run.x", "run.y"))
    assert _waits(tasks["run.x"]) == ((), ())


def test_expression_for_all_tasks_does_not_make_a_run_wait_for_itself() -> None:
    run = "- {id: run, type: run_plan, cross-depends: [{name: /.*/}], parameters: {plan: inner}}\n"
    assert _waits(_tasks(_shell("a") + run, inner=_shell("x"))["run.x"]) == ((), ("a",))


def test_more_expressions_than_can_be_matched_are_an_error() -> None:
    waits = "".join(_shell(f"x{number}", f", requires: ['/{number}/']") for number in range(501))
    loaded = load(RUN + waits, plans={"inner": _shell("x")})
    assert {error.code for error in loaded.errors} == {"PLAN-031"}


def test_name_that_a_run_waits_for_in_vain_is_a_warning() -> None:
    loaded = load(
        "- {id: run, type: run_plan, requires: [rum], parameters: {plan: inner}}", plans={"inner": _shell("x")}
    )
    (warning,) = loaded.warnings
    assert (warning.at, warning.code) == (Position("a.yaml", 1, 3), issues.UNKNOWN_DEPENDENCY.code)
    assert "task run names rum in requires" in warning.text
    assert "did you mean run?" in warning.text


def test_condition_of_a_run_holds_for_every_included_task() -> None:
    run = "- {id: run, type: run_plan, condition: {yaql_exp: $.a}, parameters: {plan: inner}}\n"
    inner = _shell("x") + _shell("y", ", condition: {yaql_exp: $.b}") + "- {id: s, type: stage}\n"
    tasks = _tasks(run, inner=inner)
    assert [tasks[f"run.{id_}"].condition for id_ in "xys"] == [Condition("$.a"), Condition("($.a) and ($.b)"), None]


def test_conditions_of_two_languages_cannot_be_joined() -> None:
    run = "- {id: run, type: run_plan, condition: {yaql_exp: $.a}, parameters: {plan: inner}}\n"
    loaded = load(run, plans={"inner": _shell("x", ", condition: 'settings:a == 1'")})
    text = "the conditions of task run and of its task run.x cannot be joined: one is in YAQL, the other is not"
    assert lines(loaded.errors) == [f"inner.yaml:1:3 PLAN-015 {text}"]


def test_computed_dependencies_of_an_included_plan_know_where_they_are_from() -> None:
    run = "- {id: run, type: run_plan, requires: {yaql_exp: $.a}, parameters: {plan: middle}}\n"
    middle = "- {id: m, type: run_plan, parameters: {plan: inner}}\n"
    tasks = _tasks(run, middle=middle, inner=_shell("x", ", cross-depends: {yaql_exp: $.b}"))
    assert [(item.field, item.expression, item.scope) for item in tasks["run.m.x"].computed] == [
        ("cross_depends", "$.b", "run.m"), ("requires", "$.a", ""),
    ]  # fmt: skip


_INNER = "parameters: {version: {type: String}, workers: {type: Integer, default: 4}}\ntasks:\n" + _shell("x")


def test_parameters_are_given_by_with_or_have_their_defaults() -> None:
    run = "- {id: run, type: run_plan, parameters: {plan: inner, with: {version: '1.0'}}}\n"
    assert _tasks(run, inner=_INNER)["run.x"].arguments == {"version": "1.0", "workers": 4}


def test_parameter_of_the_plan_around_is_taken_over_if_it_has_the_same_type() -> None:
    assert _tasks(f"parameters: {{version: {{type: String}}}}\ntasks:\n{RUN}", inner=_INNER)["run.x"].arguments == {
        "workers": 4
    }
    loaded = load(f"parameters: {{version: {{type: Integer}}}}\ntasks:\n{RUN}", plans={"inner": _INNER})
    reason = "the plan around it has a parameter of this name with the type Integer, and `with` gives no value"
    assert lines(loaded.errors) == [f"3:3 PLAN-052 the declaration of parameter version is invalid: {reason}"]


def test_parameters_reach_the_plans_of_an_included_plan() -> None:
    run = "- {id: run, type: run_plan, parameters: {plan: middle, with: {version: '2'}}}\n"
    middle = "parameters: {version: {type: String}}\ntasks:\n- {id: m, type: run_plan, parameters: {plan: inner, with: {workers: 9}}}\n"
    assert _tasks(run, middle=middle, inner=_INNER)["run.m.x"].arguments == {"version": "2", "workers": 9}


class _Values(NamedTuple):
    mode: Literal["noop", "enforce"] = "enforce"
    parameters: Mapping[str, Any] = {"version": "1", "mode": "x"}
    givers: tuple[str, ...] = ()

    def find_task(self, name: str) -> TaskFile | None:
        return None


def test_command_of_an_included_plan_has_the_values_of_its_own_parameters() -> None:
    run = "- {id: run, type: run_plan, parameters: {plan: inner, with: {version: '2'}}}\n"
    task = _tasks(run, inner=_INNER)["run.x"]
    work = build_program(task, PlanNode("web1"), _Values()).work
    assert isinstance(work, ShellWork)
    assert work.environment == {"PT_version": "2", "PT_workers": "4", "PT_mode": "x"}


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ("{}", "1:3 PLAN-010 with of task run has no version"),
        ("{version: a, wokers: 5}", "1:3 PLAN-053 the plan has no parameter wokers; did you mean workers?"),
        (
            "{version: a, workers: [5]}",
            "1:3 PLAN-055 the value of parameter workers expects an Integer value, got Tuple",
        ),
    ],
)
def test_value_that_does_not_fit_is_an_error_at_the_run(values: str, error: str) -> None:
    run = f"- {{id: run, type: run_plan, parameters: {{plan: inner, with: {values}}}}}\n"
    assert lines(load(run, plans={"inner": _INNER}).errors) == [error]


@pytest.mark.parametrize(
    "field", ["approval: true", "always: true", "test_pre: {cmd: x}", "test_post: {cmd: x}", "produces: [a]", "inputs: {a: {task: b}}"]
)  # fmt: skip
def test_run_with_a_gate_that_would_have_no_effect_is_an_error(field: str) -> None:
    loaded = load(
        f"- id: run\n  type: run_plan\n  {field}\n  parameters: {{plan: inner}}\n", plans={"inner": _shell("x")}
    )
    name = field.partition(":")[0]
    assert [error.text for error in loaded.errors] == [
        f"{name} of task run would have no effect: a run_plan itself is on no node"
    ]


def test_run_with_nodes_or_a_strategy_of_its_own_is_warned_of() -> None:
    run = "- {id: run, type: run_plan, roles: [a], timeout: 5, parameters: {plan: inner}}"
    assert [problem.text for problem in load(run, plans={"inner": _shell("x")}).warnings] == [
        "roles of task run has no effect: the tasks of the plan have their own",
        "timeout of task run has no effect: the tasks of the plan have their own",
    ]


def test_plan_that_does_not_exist_is_an_error() -> None:
    error = "1:3 PLAN-019 task run runs the plan inner, which does not exist"
    assert lines(load(RUN).errors) == [error]
    assert lines(load_plan([PlanText("a.yaml", RUN)], "main").errors) == [error]


def test_errors_of_an_included_plan_are_reported_once_with_their_places() -> None:
    second = RUN.replace("run,", "again,")
    loaded = load(RUN + second, plans={"inner": "- {id: a, type: nothing}"})
    assert lines(loaded.errors) == ["inner.yaml:1:17 PLAN-012 the type nothing of task a does not exist"]


@pytest.mark.parametrize(
    ("plans", "chain"),
    [
        ({"inner": RUN.replace("inner", "main")}, "main → inner → main"),
        ({"inner": RUN.replace("inner", "other"), "other": RUN}, "inner → other → inner"),
        ({"inner": RUN}, "inner → inner"),
    ],
)
def test_plans_that_run_each_other_are_an_error_that_names_them(plans: dict[str, str], chain: str) -> None:
    assert [error.text for error in load(RUN, plans=plans).errors] == [f"plans run each other in a cycle: {chain}"]


def test_depth_of_inclusion_is_bounded() -> None:
    plans = {f"p{number}": RUN.replace("inner", f"p{number + 1}") for number in range(MAX_DEPTH + 2)}
    errors = lines(load(RUN.replace("inner", "p0"), plans=plans).errors)
    assert errors == [
        f"p{MAX_DEPTH - 1}.yaml:1:3 PLAN-003 the inclusion of plans in plans has more than {MAX_DEPTH} levels"
    ]


def test_included_tasks_are_bounded_however_often_they_are_included() -> None:
    runs = "".join(RUN.replace("run,", f"r{number},") for number in range(30))
    plans = {
        "a": runs.replace("inner", "b"),
        "b": runs.replace("inner", "c"),
        "c": runs.replace("inner", "d"),
        "d": _shell("x"),
    }
    errors = load(RUN.replace("inner", "a"), plans=plans).errors
    assert {error.text for error in errors} == {f"the plan has more than {MAX_TASKS} tasks of included plans"}


def test_dependencies_that_inclusion_adds_are_bounded() -> None:
    many = "".join(_shell(f"x{number}") for number in range(450))
    outer = RUN + "".join(_shell(f"y{number}", ", requires: [run]") for number in range(450))
    assert [error.text for error in load(outer, plans={"inner": many}).errors] == [
        f"the plan has more than {MAX_ADDED} dependencies between tasks of different plans"
    ]
