"""Documents: equal values have one token and are converted once, and reads are noted."""

from collections.abc import Hashable

import pytest

from precast.services.plans.evaluation.data import (
    ABSENT,
    NO_DATA,
    WHOLE,
    FrozenList,
    FrozenMapping,
    NotedMapping,
    ValueTable,
    freeze,
    is_same,
)


def test_equal_values_have_one_token_and_are_one_object() -> None:
    table = ValueTable(10_000)
    one, other = table.read_document(b'{"a":[1,{"b":2}],"c":1}'), table.read_document(b'{"a":[1,{"b":2}],"c":2}')
    assert one.token("a") == other.token("a")
    assert one.token("c") != other.token("c")
    assert one.token(WHOLE) != other.token(WHOLE)
    assert one.token("absent") == ABSENT
    assert one.whole()["a"] is other.whole()["a"]
    assert one.whole()["a"] == FrozenList([1, FrozenMapping({"b": 2})])


def test_full_table_forgets_and_never_gives_a_token_twice() -> None:
    table = ValueTable(10)
    first = table.read_document(b'{"a":"0123456"}')
    table.read_document(b'{"a":"abcdefg"}')
    again = table.read_document(b'{"a":"0123456"}')
    assert first.token("a") != again.token("a")
    assert first.whole() == again.whole()


def test_node_wins_over_common_data_and_keys_have_an_order() -> None:
    table = ValueTable(10_000)
    both = table.read_document(b'{"a":1,"z":2}').over(table.read_document(b'{"a":0,"b":3}'))
    assert dict(both.whole()) == {"a": 1, "b": 3, "z": 2}
    assert list(both.whole()) == ["a", "b", "z"]


def test_reads_are_noted_with_the_token_of_what_was_read() -> None:
    table = ValueTable(10_000)
    document = table.read_document(b'{"a":1}')
    notes: list[tuple[str, object, Hashable]] = []
    noted = NotedMapping("$", document, lambda name, key, token: notes.append((name, key, token)))
    assert noted["a"] == 1
    assert noted.get("b", 5) == 5
    assert "a" in noted
    with pytest.raises(KeyError):
        noted["c"]
    token = document.token("a")
    assert notes == [("$", "a", token), ("$", "b", ABSENT), ("$", "a", token), ("$", "c", ABSENT)]


@pytest.mark.parametrize(
    "read", [len, list, hash, lambda data: data == {"a": 1}, lambda data: list(data.items()), bool]
)
def test_reading_all_of_a_document_is_noted(read: "object") -> None:
    document = ValueTable(10_000).read_document(b'{"a":1}')
    notes: list[object] = []
    read(NotedMapping("$", document, lambda name, key, token: notes.append((key, token))))  # type: ignore[operator]
    assert (WHOLE, document.token(WHOLE)) in notes


def test_no_data_is_empty() -> None:
    assert dict(NO_DATA.whole()) == {}
    assert NO_DATA.token("a") == ABSENT


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, True, False),
        (1, 1.0, False),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
        ("ab", ["a", "b"], False),
        (None, False, False),
        ({}, [], False),
    ],
)
def test_values_are_the_same_only_as_json(one: object, other: object, same: bool) -> None:
    assert is_same(freeze(one), freeze(other)) == same


def test_frozen_mapping_is_hashable_and_equals_a_mapping() -> None:
    assert hash(freeze({"a": [1], "b": {"c": 1}})) == hash(freeze({"b": {"c": 1}, "a": [1]}))
    assert freeze({"a": 1}) == {"a": 1}
    assert freeze({"a": 1}) != freeze({"a": 2})
    assert freeze({"a": 1}) != 3
