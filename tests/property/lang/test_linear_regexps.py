"""Node blocks: an expression that an automaton can match gives the same groups as the engine with backtracking."""

from hypothesis import example, given
from hypothesis import strategies as st

from precast.lang.values.linear_regexps import compile_linear
from precast.lang.values.regexps import compile_regexp

ATOMS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", r"\d", r"\W", r"\h", r"\.", "-", "[[:alpha:]]", "é", r"\n", r"\x61", "[a-c&&[^b]]"]
)
PLACES = st.sampled_from(["^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B"])
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "{1,3}", "{2}", "{0,1}", "{2,}", "*?", "+?", "??", "{1,2}?"])
GROUPS = st.sampled_from(["(%s)", "(?:%s)", "(?i:%s)", "(?<n>%s)", "(?m:%s)", "(?=%s)", "(?>%s)"])


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.builds(lambda form, text, repeat: form % text + repeat, GROUPS, inner, REPEATS)
    return st.one_of(group, st.builds("{}{}".format, inner, inner), st.builds("{}|{}".format, inner, inner))


EXPRESSIONS = st.recursive(st.one_of(st.builds("{}{}".format, ATOMS, REPEATS), PLACES), _grow, max_leaves=8)


@given(EXPRESSIONS, st.text("ab1-.\n_zAé", max_size=10))
@example("(a|ab)(c|bcd)(d*)", "abcd")
@example("(?:(a)|b)*", "ab")
@example(r"^web(\d+)(?:\.(eu|us))?", "web12.eu")
def test_groups_of_the_automaton_are_those_of_backtracking(expression: str, text: str) -> None:
    linear = compile_linear(expression)
    if linear is None:
        return
    found = compile_regexp(expression).search(text)
    assert linear.search(text) == (None if found is None else (found[0], *found.groups()))


@given(EXPRESSIONS, st.text("ab1-.", min_size=40, max_size=200))
def test_automaton_visits_each_state_at_most_twice_for_each_character(expression: str, text: str) -> None:
    linear = compile_linear(expression)
    if linear is None:
        return
    linear.automaton.steps = 0
    linear.search(text)
    assert linear.automaton.steps <= 2 * linear.automaton.size * (len(text) + 1)
