"""The comparison of two sets of facts."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from precast.base import canonical
from precast.services.facts import changes as fact_changes
from precast.store.facts.facts import FactChange

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
    assert [(change.path, change.before, change.after) for change in compare(before, after)] == expected


words = st.text(alphabet='ab,:"{}[]\\é', max_size=4)
flat = st.dictionaries(words, words | st.integers(-2, 2) | st.booleans() | st.none(), max_size=8)
FILLED = {"the same": "in both"}
FILLING = {f"library{number}": f"{number}.{number}" for number in range(100)}


@given(flat, flat)
@example({"a,": ":x,y"}, {"a,": ":x,z"})
@example({"a,": ":b,c"}, {"a,": ":c,c"})
@example({"a": "b,c", "b": "c"}, {"a": "b,d", "b": "d"})
@example({"a": "b,c"}, {"a": "b", "c": 1})
@example({":a": 1}, {":a": 2})
@example({"a": "x,y"}, {"a": "z,y"})
@example({"a": 1, "b": "x,y"}, {"a": 2, "b": "x,z"})
@example({"a": "x,m,y"}, {"a": "w,m,z"})
@example({"x,m,y": 1}, {"w,m,z": 1})
@example({'n":': ",x"}, {'m":': ",x"})
def test_large_mappings_compare_like_small_ones(left: dict[str, Any], right: dict[str, Any]) -> None:
    expected = [(change.path, change.before, change.after) for change in compare({"p": left}, {"p": right})]
    changes = compare({"p": left | FILLING}, {"p": right | FILLING})
    assert [(change.path, change.before, change.after) for change in changes] == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {"library7": "8"}, True),
        ({"a": 1, "b": "x"}, {"a": 2, "b": "x"}, True),
        ({"a": "x"}, {"b": "x"}, True),
        ({"a": 1, "b": "x"}, {"a": 2, "b": "y"}, True),
        ({"": 1}, {"": 2}, True),
        ({"a": ""}, {"a": "x"}, True),
        ({}, {"a": "x"}, False),  # one more
        ({"a": "1,b"}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": 2}, {"a": "1,b"}, False),
        ({"a": "x, y"}, {"a": "x, z"}, False),
        ({"a": "x"}, {"a": 'x"'}, False),
        ({"a": "x"}, {"a": {}}, False),
        ({"a": []}, {"a": "x"}, False),
    ],
)
def test_large_flat_mappings_are_decoded_only_where_they_differ(
    old: dict[str, Any], new: dict[str, Any], expected: bool
) -> None:
    texts = canonical.encode(FILLING | old), canonical.encode(FILLING | new)
    left = fact_changes.drop_equal_members(*texts)
    assert (max(map(len, left)) < 100) is expected
    assert (left == texts) is not expected


BLANKS = [(b'"a," :":1,y"', b'"a," :":2,y"'), (b'"a," :":1,y"', b'"a," :":x,y"'), (b'"a,"\n:":x,y"', b'"a,"\n:":1,y"')]


@pytest.mark.parametrize(("old", "new"), BLANKS)
def test_blanks_in_a_large_mapping_are_accepted(old: bytes, new: bytes) -> None:
    before, after = (canonical.encode({"p": FILLING})[:-2] + b"," + member + b"}}" for member in (old, new))
    (change,) = fact_changes.compare(before, after)
    assert (change.path, change.before, change.after) == ("/p/a,", old.partition(b":")[2], new.partition(b":")[2])


def test_large_number_is_not_taken_for_a_mapping() -> None:
    assert [change.path for change in compare({"p": 10**1100}, {"p": 2 * 10**1100})] == ["/p"]


def test_large_mapping_with_very_many_changes_is_decoded_whole() -> None:
    old, new = ({f"library{number}": str(number + more) for number in range(1001)} | FILLED for more in (0, 1))
    texts = canonical.encode(old), canonical.encode(new)
    assert fact_changes.drop_equal_members(*texts) == texts
    assert len(compare({"p": old}, {"p": new})) == 1001


@pytest.mark.parametrize("value", [b'"\xff"', b"1e999", b'"\\ud800"'])
def test_invalid_value_in_a_large_mapping_is_found(value: bytes) -> None:
    before = canonical.encode({"p": FILLING})
    with pytest.raises(fact_changes.NoFacts):
        fact_changes.compare(before, before.replace(b'"7.7"', value))


@given(facts)
def test_compare_of_a_set_with_itself_finds_nothing(facts: dict[str, Any]) -> None:
    assert compare(facts, facts) == []


@given(facts, facts)
def test_comparison_in_the_other_direction_is_the_inverse(left: dict[str, Any], right: dict[str, Any]) -> None:
    there = [(change.path, change.before, change.after) for change in compare(left, right)]
    back = [(change.path, change.after, change.before) for change in compare(right, left)]
    assert there == back


def leaves_of(path: str, value: Any) -> dict[str, bytes]:
    """Every leaf with its pointer, found in the simplest way; a mapping without members is a leaf."""
    if not isinstance(value, dict) or not value:
        return {path: canonical.encode(value)}
    leaves: dict[str, bytes] = {}
    for name, item in value.items():
        leaves |= leaves_of(f"{path}/{name.replace('~', '~0').replace('/', '~1')}", item)
    return leaves


@given(facts, facts)
@example({"": {}}, {"": {"": None}})
def test_compare_explains_every_leaf_that_differs_and_no_other(left: dict[str, Any], right: dict[str, Any]) -> None:
    before, after = leaves_of("", left), leaves_of("", right)
    differing = {path for path in before.keys() | after.keys() if path and before.get(path) != after.get(path)}
    changed = [change.path for change in compare(left, right)]
    # A mapping that was empty and has members now is reported by its members.
    filled = {path for path in differing if b"{}" in (before.get(path), after.get(path))}
    assert all(
        any(
            path == name or path.startswith(f"{name}/") or (path in filled and name.startswith(f"{path}/"))
            for name in changed
        )
        for path in differing
    )
    assert all(
        any(path == name or path.startswith(f"{name}/") for path in differing) for name in changed if left and right
    )


@given(facts, facts, st.sampled_from([b"1e999", b"1" * 5000, b'"\xff"']), st.booleans())
def test_invalid_json_is_found_wherever_it_is_new(
    left: dict[str, Any], right: dict[str, Any], broken: bytes, is_shadowed: bool
) -> None:
    before, after = canonical.encode(left), canonical.encode(right)
    new = b'{"new":' + broken + (b',"new":1' if is_shadowed else b"") + (b"," if right else b"")
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
def test_text_that_is_not_a_mapping_is_refused(after: bytes) -> None:
    with pytest.raises(fact_changes.NoFacts):
        fact_changes.compare(b"{}", after)
