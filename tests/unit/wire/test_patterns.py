"""Patterns match as Python's expressions do, and no pattern takes long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.wire.query.automata import MAX_CACHED, MAX_STATES
from precast.wire.query.patterns import BadPattern, Pattern

ATOMS = ["a", "b", ".", "[ab]", "[^a]", r"\d", r"\W", "^", "$", "(a|b)", "(?:ab)", r"\.", "-", "()", "(|a)", "[a-z_]"]
REPEATS = ["", "", "*", "+", "?", "{1,3}", "{2}", "{0,1}", "{2,}"]


@given(
    st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(REPEATS), st.sampled_from(["", "", "|"])), max_size=6),
    st.text("ab1-. \n_z", max_size=8),
)
def test_pattern_answers_as_python_does(parts: list[tuple[str, str, str]], text: str) -> None:
    # Python does not repeat places, as in ^*.
    pattern = "".join(atom + ("" if atom in ("^", "$") else repeat) + after for atom, repeat, after in parts)
    expected = re.search(pattern.replace("$", r"\Z"), text, re.ASCII) is not None
    assert Pattern(pattern).matches(text) is expected


@pytest.mark.parametrize(
    "pattern", ["(a*)*b", "(x+x+)+y", "(a|a)*b", "(.*.*.*.*.*)*b", "a?" * 100 + "a" * 100, "([a-z]+)+$", "(a|ab|b)*c"]
)
def test_hostile_pattern_visits_each_state_at_most_once_for_each_character(pattern: str) -> None:
    text = "a" * 4000 + "x" * 96
    compiled = Pattern(pattern)
    compiled.matches(text)
    # Python's own engine would need longer than the universe has been there.
    assert compiled.automaton.steps <= compiled.automaton.size * (len(text) + 1)


def test_transitions_that_are_cached_are_bounded() -> None:
    compiled = Pattern("(a|b|c|d)*(a|b){20}x" + ".{99}" * 3)
    for number in range(3000):
        compiled.matches(f"{number:b}".replace("1", "a").replace("0", "b") * 9)
    held = compiled.automaton._steps
    assert sum(len(step.reached) + len(step.moves) for step in held.values()) <= MAX_CACHED + MAX_STATES


@pytest.mark.parametrize(
    "pattern",
    [
        "((a{100}){100}){100}",
        "(" * 20 + ")" + "{100})" * 19 + "{100}",
        "(((){100}){100}){100}",
        "(a{50}){50}",
        "a" * 501,
    ],
)
def test_pattern_that_grows_beyond_the_limit_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        Pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a)\1", r"\\1 is not supported"),
        ("(?=a)", "plain groups"),
        ("(?P<x>a)", "plain groups"),
        ("a*?", "lazy"),
        ("a++", "lazy"),
        ("*a", "nothing to repeat"),
        ("(a", r"\( without"),
        ("a)", r"\) without"),
        ("[a", r"\[ without"),
        ("[b-a]", "class is invalid"),
        (r"[\q]", "not supported"),
        ("[a--b]", "hyphen"),
        ("a{2", "begins a repetition"),
        ("a{5,2}", "exceeds the upper bound"),
        ("a{101}", "repetitions"),
        ("a\\", "not supported"),
        ("(" * 51 + ")" * 51, "50 deep"),
    ],
)
def test_unsupported_pattern_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(BadPattern, match=reason):
        Pattern(pattern)


@pytest.mark.parametrize("pattern", ["[[]", "[]a]", "[a&&b]", "[a||b]", "[~~]", r"[\]]", r"[\\]", "[^]]", "[a-]"])
def test_class_with_special_characters_matches_them_literally(pattern: str) -> None:
    for char in "[]&|~\\ab-x":
        with_care = re.sub(r"\\.|(?<!^)[\[&~|]", lambda sign: sign[0] if len(sign[0]) == 2 else "\\" + sign[0], pattern)
        assert Pattern(pattern).matches(char) is (re.search(with_care, char) is not None), char


def test_ordinary_patterns_stay_below_the_limit_on_states() -> None:
    assert Pattern(r"^(web|app)-?\d{1,3}\.(eu|us)-[a-z]+-\d\.example\.(com|net)$").matches(
        "web12.eu-west-1.example.com"
    )
    assert MAX_STATES > 1000
