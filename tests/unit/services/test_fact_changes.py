"""How two sets of facts differ."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.services.fact_changes import compare

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)
facts = st.dictionaries(st.text(), values)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {}, []),
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 1.0}, [("/a", b"1", b"1.0")]),
        ({"a": True}, {"a": 1}, [("/a", b"true", b"1")]),
        ({"a": 0.0}, {"a": -0.0}, [("/a", b"0.0", b"-0.0")]),
        ({"a": [1, True]}, {"a": [1, 1]}, [("/a", b"[1,true]", b"[1,1]")]),
        ({"a": {"b": 1}}, {"a": {}}, [("/a/b", b"1", None)]),
        ({"a": {"b": 1}}, {"a": 2}, [("/a", b'{"b":1}', b"2")]),
        ({}, {"a~/": None}, [("/a~0~1", None, b"null")]),
        ({"b": 1, "a": 1}, {}, [("/a", b"1", None), ("/b", b"1", None)]),
    ],
)
def test_compare_names_each_path_that_differs(before: Any, after: Any, expected: list[tuple[str, Any, Any]]) -> None:
    assert [(one.path, one.before, one.after) for one in compare(before, after)] == expected


@given(facts)
def test_compare_of_a_set_with_itself_finds_nothing(one: dict[str, Any]) -> None:
    assert compare(one, one) == []


@given(facts, facts)
def test_compare_turned_around_is_the_same_turned_around(one: dict[str, Any], other: dict[str, Any]) -> None:
    there = [(change.path, change.before, change.after) for change in compare(one, other)]
    back = [(change.path, change.after, change.before) for change in compare(other, one)]
    assert there == back
