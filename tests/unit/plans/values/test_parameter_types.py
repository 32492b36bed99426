"""The types of parameters: those of plain data, each as it was written, and patterns that are matched in linear time."""

import pytest

from precast.lang.values.base import from_data
from precast.plans.values.parameter_types import MAX_MATCHED_CHARS, BadType, parse_parameter_type


@pytest.mark.parametrize(
    "text",
    [
        "Any", "Data", "Scalar", "ScalarData", "String", "String[1, 5]", "Integer[1, 10]", "Float", "Numeric", "Boolean", "Undef",
        "Enum['a', 'b']", "Pattern[/^a+$/, /b/]", "Collection", "Array", "Array[String, 1]", "Hash[String, Integer]",
        "Tuple[Integer, String, 2, 5]", "Struct[{'a' => Integer, Optional['b'] => Array[Pattern[/x/]]}]", "Optional[Integer]",
        "NotUndef", "Variant[Integer, Enum['x']]",
    ],
)  # fmt: skip
def test_type_of_plain_data_is_itself(text: str) -> None:
    assert parse_parameter_type(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "Callable", "Sensitive[String]", "Type[Integer]", "Regexp", "Timestamp", "Default", "File", "Class['x']", "Foo::Bar",
        "Array[Callable]", "1", "'x'", "", "Integer[5, 1]", "Array[" * 25 + "Any" + "]" * 25,
    ],
)  # fmt: skip
def test_other_type_is_refused(text: str) -> None:
    with pytest.raises(BadType):
        parse_parameter_type(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Integr[1, 9]", "there is no type Integr; did you mean Integer?"),
        ("Array[Sting]", "there is no type Sting; did you mean String?"),
        ("Bool", "there is no type Bool; did you mean Boolean?"),
        ("Sensitive[Enum['Sting']]", "Sensitive[String[5, 5]] is not a type of plain data"),
    ],
)
def test_misspelt_type_is_guessed(text: str, reason: str) -> None:
    with pytest.raises(BadType) as caught:
        parse_parameter_type(text)
    assert str(caught.value) == reason


@pytest.mark.parametrize("expression", ["(?=x)y", r"(a)\1", "(a{900}){900}"])
def test_pattern_that_no_automaton_matches_is_refused(expression: str) -> None:
    with pytest.raises(BadType, match="linear time"):
        parse_parameter_type(f"Pattern[/{expression}/]")


def test_pattern_that_engines_backtrack_over_is_matched() -> None:
    wanted = parse_parameter_type("Array[Pattern[/^(a|aa)+$/]]")
    assert wanted.check(from_data(["a" * 1_000]))
    assert not wanted.check(from_data(["a" * 1_000 + "!"]))


def test_pattern_matches_no_text_that_is_too_long() -> None:
    wanted = parse_parameter_type("Pattern[/a/]")
    assert wanted.check("a" * MAX_MATCHED_CHARS)
    assert not wanted.check("a" * (MAX_MATCHED_CHARS + 1))


def test_text_of_a_huge_type_is_refused() -> None:
    with pytest.raises(BadType, match="2000 characters"):
        parse_parameter_type(f"Enum[{', '.join(['abcdefgh'] * 1_000)}]")
