"""The parameters of a plan: declarations, defaults, types, and texts from a command line."""

from typing import Any

import pytest

from precast.base.errors import Issue, PrecastError
from precast.plans import issues
from precast.plans.model import Plan
from precast.plans.parameters import check_parameters, find_parameter_problems, read_parameters


def plan(**declared: Any) -> Plan:
    return Plan("web", (), parameters=declared)


def refusal(issue: Issue, declared: dict[str, Any], **given: Any) -> str:
    with pytest.raises(PrecastError) as caught:
        check_parameters(plan(**declared), given)
    assert issue.matches(caught.value), caught.value
    return f"{caught.value.message} | {caught.value.hint}"


def test_given_values_and_defaults_are_returned_in_the_order_of_the_plan() -> None:
    declared = {"version": {"type": "String"}, "workers": {"type": "Integer[1, 64]", "default": 4}, "extra": {}}
    assert check_parameters(plan(**declared), {"extra": None, "version": "1.2"}) == {
        "version": "1.2",
        "workers": 4,
        "extra": None,
    }


def test_unknown_parameter_is_refused_with_a_suggestion() -> None:
    text = refusal(issues.UNKNOWN_PARAMETER, {"version": {}, "workers": {}}, verison="1")
    assert "has no parameter verison; did you mean version?" in text
    assert "its parameters are: version, workers" in text


def test_missing_parameter_is_refused_with_its_type() -> None:
    text = refusal(issues.MISSING_PARAMETER, {"version": {"type": "Enum[a, b]"}})
    assert "parameter version has no value" in text
    assert "--param version=VALUE; its type is Enum['a', 'b']" in text


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("Integer[1, 64]", 65, "expects an Integer[1, 64] value, got Integer[65, 65]"),
        ("String", 3, "expects a String value, got Integer"),
        ("Array[Integer]", [1, "x"], "index 1 expects an Integer value, got String"),
        ("Struct[{a => Integer}]", {"a": 1, "b": 2}, "unrecognized key 'b'"),
        ("Boolean", "maybe", "expects a Boolean value, got String"),
        ("Pattern[/^v/]", "1.0", "expects a match for Pattern[/^v/], got '1.0'"),
    ],
)
def test_value_that_does_not_fit_is_refused_with_the_reason(kind: str, value: Any, reason: str) -> None:
    assert reason in refusal(issues.BAD_PARAMETER_VALUE, {"p": {"type": kind}}, p=value)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("Integer", "3", 3),
        ("Integer", "-3", -3),
        ("Float", "1.5", 1.5),
        ("Float", "2", 2.0),
        ("Numeric", "2", 2),
        ("Boolean", "true", True),
        ("Array[String]", '["a", "b"]', ["a", "b"]),
        ("Hash[String, Integer]", '{"a": 1}', {"a": 1}),
        ("Optional[Integer]", "null", None),
        ("Variant[Integer, Boolean]", "false", False),
    ],
)
def test_text_for_a_type_without_texts_is_read_as_json(kind: str, text: str, value: Any) -> None:
    chosen = check_parameters(plan(p={"type": kind}), {"p": text})["p"]
    assert chosen == value
    assert type(chosen) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"), [("String", "3"), ("Any", "true"), ("Variant[Integer, String]", "3"), ("Data", "null")]
)
def test_text_that_fits_stays_a_text(kind: str, text: str) -> None:
    assert check_parameters(plan(p={"type": kind}), {"p": text}) == {"p": text}


@pytest.mark.parametrize("text", ["", "03", "[1,", "1 2", "[" * 5_000])
def test_text_that_is_not_the_json_of_a_value_is_refused(text: str) -> None:
    assert "got String" in refusal(issues.BAD_PARAMETER_VALUE, {"p": {"type": "Integer"}}, p=text)


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("Integer[1, 8]", "9", "expects an Integer[1, 8] value, got Integer[9, 9]"),
        ("Optional[Float[0.0, 1.0]]", "2.5", "got Float[2.5, 2.5]"),
        ("Array[String]", "[1]", "index 0 expects a String value, got Integer"),
        ("Struct[{a => Integer}]", '{"a": "x"}', "entry 'a' expects an Integer value, got String"),
        ("Tuple[Integer, Integer]", "[1]", "expects size to be 2, got 1"),
        ("Enum[a, b]", "9", "got '9'"),
        ("Boolean", "1", "expects a Boolean value, got String"),
    ],
)
def test_json_of_the_right_kind_is_refused_for_what_is_wrong_with_it(kind: str, text: str, reason: str) -> None:
    assert reason in refusal(issues.BAD_PARAMETER_VALUE, {"p": {"type": kind}}, p=text)


@pytest.mark.parametrize(
    ("name", "declared", "issue", "reason"),
    [
        ("Version", {}, issues.BAD_PARAMETER_NAME, "'Version' is not the name of a parameter"),
        ("p", "String", issues.BAD_DECLARATION, "it is not a mapping"),
        ("p", {"tpye": "String"}, issues.BAD_DECLARATION, "'tpye' has no meaning here; did you mean type?"),
        ("p", {"type": "Integer", "default": "x"}, issues.BAD_DECLARATION, "the default expects an Integer value"),
        ("p", {"type": "Stdlib::Port"}, issues.BAD_PARAMETER_TYPE, "is not a type of plain data"),
        ("p", {"type": "Sensitive[String]"}, issues.BAD_PARAMETER_TYPE, "is not a type of plain data"),
        ("p", {"type": "Integer["}, issues.BAD_PARAMETER_TYPE, "end of input"),
        ("p", {"type": 3}, issues.BAD_PARAMETER_TYPE, "a type is a text"),
    ],
)
def test_invalid_declaration_is_a_problem(name: str, declared: Any, issue: Issue, reason: str) -> None:
    [problem] = find_parameter_problems(plan(**{name: declared}))
    assert problem.code == issue.code
    assert reason in problem.text


def test_every_invalid_declaration_is_reported() -> None:
    problems = find_parameter_problems(plan(good={"type": "String"}, A={}, b={"type": "Nope"}))
    assert [problem.code for problem in problems] == [issues.BAD_PARAMETER_NAME.code, issues.BAD_PARAMETER_TYPE.code]


def test_declaration_has_its_description() -> None:
    [parameter] = read_parameters(plan(version={"type": "String", "description": "the release"}))
    assert (parameter.name, parameter.description, parameter.has_default) == ("version", "the release", False)
