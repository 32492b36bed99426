"""How two sets of facts differ."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from precast.base import canonical
from precast.services import fact_changes
from precast.store.facts import FactChange

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)
facts = st.dictionaries(st.text(), values)


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[FactChange]:
    return fact_changes.compare(canonical.encode(before), canonical.encode(after))


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


def leaves_of(path: str, value: Any) -> dict[str, bytes]:
    """Every leaf with its pointer, the plain way; a mapping without members is a leaf."""
    if not isinstance(value, dict) or not value:
        return {path: canonical.encode(value)}
    found: dict[str, bytes] = {}
    for name, item in value.items():
        found |= leaves_of(f"{path}/{name.replace('~', '~0').replace('/', '~1')}", item)
    return found


@given(facts, facts)
@example({"": {}}, {"": {"": None}})
def test_compare_explains_every_leaf_that_differs_and_no_other(one: dict[str, Any], other: dict[str, Any]) -> None:
    before, after = leaves_of("", one), leaves_of("", other)
    differing = {path for path in before.keys() | after.keys() if path and before.get(path) != after.get(path)}
    changed = [change.path for change in compare(one, other)]
    # A mapping that was empty and has members now is told by its members.
    filled = {path for path in differing if b"{}" in (before.get(path), after.get(path))}
    assert all(
        any(
            path == name or path.startswith(f"{name}/") or (path in filled and name.startswith(f"{path}/"))
            for name in changed
        )
        for path in differing
    )
    assert all(
        any(path == name or path.startswith(f"{name}/") for path in differing) for name in changed if one and other
    )


@given(facts, facts, st.sampled_from([b"1e999", b"1" * 5000, b'"\xff"']), st.booleans())
def test_what_cannot_be_read_is_found_wherever_it_is_new(
    one: dict[str, Any], other: dict[str, Any], broken: bytes, is_shadowed: bool
) -> None:
    before, after = canonical.encode(one), canonical.encode(other)
    new = b'{"new":' + broken + (b',"new":1' if is_shadowed else b"") + (b"," if other else b"")
    with pytest.raises(fact_changes.NoFacts):
        fact_changes.compare(before, new + after[1:])


@pytest.mark.parametrize(
    "after",
    [
        b"",
        b"[]",
        b"1",
        b'{"a":1',
        b'{"a":nul}',
        b'{"a":01}',
        b'{"a":"\\ud800"}',
        b"{} {}",
        b'{"a":' + b"[" * 300 + b"]" * 300 + b"}",
    ],
)
def test_what_is_no_mapping_is_told(after: bytes) -> None:
    with pytest.raises(fact_changes.NoFacts):
        fact_changes.compare(b"{}", after)
