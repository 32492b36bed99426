"""Names of nodes and patterns over them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base.errors import InputError
from precast.wire.identity.names import check_name, is_name, matches


@pytest.mark.parametrize("name", ["a", "0", "web1.example.com", "a-b_c", "x" * 64, "a--b", "host_"])
def test_valid_node_name_is_accepted(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a..b", "-a", "a-", "a.", "_a", "A", "a/b", "a\\b", "a b", "a\n", "a\0", "*", "a*", "ä", "x" * 65],
)
def test_name_that_could_be_a_path_or_option_is_refused(name: str) -> None:
    with pytest.raises(InputError) as caught:
        check_name(name)
    assert caught.value.code == "WIRE-001"


@given(st.text())
def test_any_text_is_accepted_or_refused_in_one_short_line(text: str) -> None:
    if is_name(text):
        assert check_name(text) == text
        assert text.isascii()
        assert "/" not in text
    else:
        with pytest.raises(InputError) as caught:
            check_name(text)
        assert len(caught.value.render().splitlines()) == 2


@pytest.mark.parametrize(
    ("pattern", "name", "is_match"),
    [
        ("web1", "web1", True),
        ("web1", "web10", False),
        ("web1", "xweb1", False),
        ("web*", "web1.example.com", True),
        ("*.example.com", "example.com", False),
        ("web?", "web10", False),
        ("web[12]", "web2", True),
        ("*", "anything", True),
        ("Web1", "web1", False),
        ("web.", "web1", False),
        ("[", "a", False),
    ],
)
def test_pattern_matches_the_whole_name_or_not(pattern: str, name: str, is_match: bool) -> None:
    assert matches(pattern, name) is is_match


@given(st.text(max_size=40), st.text(alphabet="abc.-", max_size=40))
def test_any_pattern_gives_an_answer(pattern: str, name: str) -> None:
    assert matches(pattern, name) in (True, False)


def test_pattern_of_many_stars_is_answered_at_once() -> None:
    assert not matches("*a" * 100 + "b", "a" * 64)
