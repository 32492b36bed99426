"""Who waits for whom, as it is written: names, roles, policies, and what an expression gives for each node."""

from typing import Any

import pytest

from precast.base.errors import InputError
from precast.plans.loading.dependencies import read_computed
from precast.plans.model import ComputedDependencies, CrossDependency, PlanTask
from tests.unit.plans.loading.plan_texts import find_errors, find_warnings, load_task


@pytest.mark.parametrize("field", ["requires", "required_for"])
@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("[a, /b.*/]", ("a", "/b.*/")),
        ("a", ("a",)),
        ("[]", ()),
        ("", ()),
        ("\n  - a\n  - b", ("a", "b")),
        ("[5]", ("5",)),
    ],
)
def test_names_are_a_list_or_one(field: str, written: str, names: tuple[str, ...]) -> None:
    assert getattr(load_task(f"  {field}: {written}"), field) == names


@pytest.mark.parametrize(
    ("field", "attribute"),
    [
        ("cross-depends", "cross_depends"),
        ("cross_depends", "cross_depends"),
        ("cross-depended-by", "cross_depended_by"),
        ("cross_depended_by", "cross_depended_by"),
    ],
)
@pytest.mark.parametrize(
    ("written", "dependencies"),
    [
        ("[{name: a}]", (CrossDependency("a"),)),
        ("[{name: /^a/, role: web}]", (CrossDependency("/^a/", ("web",)),)),
        ("[{name: a, role: [web, db], policy: any}]", (CrossDependency("a", ("web", "db"), "any"),)),
        ("[{name: a, role: self, policy: all}]", (CrossDependency("a", ("self",)),)),
        ("[{name: a, role: null}]", (CrossDependency("a", None),)),
        ("[{name: a, role: ~}, {name: a}]", (CrossDependency("a", None), CrossDependency("a"))),
        ("{name: a}", (CrossDependency("a"),)),
        ("[a]", (CrossDependency("a"),)),
        ("[]", ()),
    ],
)
def test_cross_dependencies_have_a_name_a_role_and_a_policy(
    field: str, attribute: str, written: str, dependencies: tuple[CrossDependency, ...]
) -> None:
    assert getattr(load_task(f"  {field}: {written}"), attribute) == dependencies


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ("  requires: {a: b}", "5:13 PLAN-009 requires of task web must be a name, not a mapping"),
        ("  requires: [~]", "5:14 PLAN-009 item 1 of requires of task web must be a name, not nothing"),
        ("  requires: ['/a(/']", "5:14 PLAN-030 the pattern /a(/ is not supported: a ( without a matching )"),
        ("  cross-depends: [{role: a}]", "5:19 PLAN-010 ITEM has no name"),
        ("  cross-depends: [{name: [a]}]", "5:26 PLAN-009 name of ITEM must be the name of a task, not a list"),
        ("  cross-depends: [[a]]", "5:19 PLAN-009 ITEM must be a mapping with name and role, not a list"),
        ("  cross-depends: [{name: a, policy: some}]", "5:37 PLAN-009 policy of ITEM must be one of all, any, not 'some'"),
        ("  cross-depends: [{name: a, role: {b: c}}]", "5:35 PLAN-009 role of ITEM must be a role, or a list of roles, not a mapping"),
        ("  cross-depends: ['/a(/']", "5:19 PLAN-030 the pattern /a(/ is not supported: a ( without a matching )"),
        ("  cross-depends: [{name: '/a)/'}]", "5:26 PLAN-030 the pattern /a)/ is not supported: a ) without a matching ("),
    ],
)  # fmt: skip
def test_dependency_of_the_wrong_kind_is_an_error_with_its_place(fields: str, error: str) -> None:
    assert find_errors(fields) == [error.replace("ITEM", "item 1 of cross-depends of task web")]


@pytest.mark.parametrize(
    ("fields", "warning"),
    [
        ("  requires: [a, a]", "5:17 PLAN-025 a (item 2 of requires of task web) is given twice; it counts once"),
        ("  cross-depends: [{name: a}, a]", "5:30 PLAN-025 a (item 2 of cross-depends of task web) is given twice; it counts once"),
        ("  cross-depends: [{name: a, rol: b}]", "5:29 PLAN-020 rol of ITEM is not known, and has no effect; did you mean role?"),
        (
            "  {cross-depends: [a], cross_depends: [b]}",
            "6:18 PLAN-023 cross_depends of task web has no effect: the task has the field under another name too",
        ),
    ],
)  # fmt: skip
def test_odd_dependency_is_a_warning_with_its_place(fields: str, warning: str) -> None:
    if fields.startswith("  {"):
        fields = "\n".join(f"  {field}" for field in fields.strip(" {}").split(", "))
    assert find_warnings(fields) == [warning.replace("ITEM", "item 1 of cross-depends of task web")]


@pytest.mark.parametrize(
    ("fields", "given", "computed"),
    [
        ("  requires: {yaql_exp: ' $.a '}", (), [("requires", "$.a")]),
        ("  required_for: [a, {yaql_exp: $.b}]", ("a",), [("required_for", "[$.b]")]),
        ("  cross-depends: {yaql_exp: $.a}", (), [("cross_depends", "$.a")]),
        ("  cross-depended-by: [{yaql_exp: $.a}]", (), [("cross_depended_by", "$.a")]),
        (
            "  cross-depends: [{name: a}, {name: it's, role: {yaql_exp: $.r}, policy: any}]",
            (CrossDependency("a"),),
            [("cross_depends", r"[{name => 'it\'s', role => ($.r), policy => 'any'}]")],
        ),
        (
            "  cross-depends: [{name: {yaql_exp: $.n}, role: [a, b]}]",
            (),
            [("cross_depends", "[{name => ($.n), role => ['a', 'b']}]")],
        ),
        (
            "  cross-depends: [{name: {yaql_exp: $.n}, role: ~}]",
            (),
            [("cross_depends", "[{name => ($.n), role => null}]")],
        ),
    ],
)
def test_expression_becomes_a_computed_dependency(
    fields: str, given: tuple[Any, ...], computed: list[tuple[Any, str]]
) -> None:
    task = load_task(fields)
    assert task.computed == tuple(ComputedDependencies(field, expression) for field, expression in computed)
    assert getattr(task, computed[0][0]) == given


def _computed(field: Any, scope: str = "") -> tuple[PlanTask, ComputedDependencies]:
    return load_task(), ComputedDependencies(field, "$.x", scope)


@pytest.mark.parametrize(
    ("field", "result", "expected"),
    [
        ("requires", ["a", "b"], ("a", "b")),
        ("requires", "a", ("a",)),
        ("required_for", None, ()),
        ("cross_depends", [], ()),
        ("cross_depends", [{"name": "a", "role": "self"}, {"name": "b"}], (CrossDependency("a", ("self",)), CrossDependency("b"))),
        ("cross_depended_by", [{"name": "a", "role": None}], (CrossDependency("a", None),)),
        ("cross_depended_by", {"name": "a", "role": ["b", "c"]}, (CrossDependency("a", ("b", "c")),)),
    ],
)  # fmt: skip
def test_result_of_an_expression_is_read_as_the_field_would_be(
    field: str, result: Any, expected: tuple[Any, ...]
) -> None:
    assert read_computed(*_computed(field), result) == expected


def test_result_in_an_included_plan_names_its_tasks() -> None:
    assert read_computed(*_computed("requires", "run"), ["a", "/^b|c/"]) == ("run.a", "/run\\.(?:b|c)/")
    assert read_computed(*_computed("cross_depends", "run.x"), [{"name": "a"}]) == (CrossDependency("run.x.a"),)


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ([{"role": "a"}], "item 1 of the result has no name"),
        ([["a"]], "item 1 of the result must be a mapping with name and role, not a list"),
        ([{"name": True, "role": {"a": 1}}], "role of item 1 of the result must be a role, or a list of roles, not a mapping"),
    ],
)  # fmt: skip
def test_result_that_gives_no_dependencies_is_an_error(result: Any, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_computed(*_computed("cross_depends"), result)
    assert caught.value.code == "PLAN-018"
    assert caught.value.message == f"the expression in cross_depends of task web does not give dependencies: {problem}"
