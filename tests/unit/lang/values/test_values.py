"""Values: keys that Python would confuse are distinct, and equality is Puppet's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base.errors import InputError
from precast.lang.values.base import (
    DEFAULT,
    Binary,
    Hash,
    Regexp,
    Sensitive,
    compare,
    equals,
    float_text,
    from_data,
    identity_of,
    literal,
    rich,
    to_string,
)
from precast.lang.values.times import NS, Timespan, Timestamp

DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3, allow_nan=False) | st.text("aAb", max_size=2),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.lists(st.tuples(inner, inner), max_size=3).map(Hash.of),
    max_leaves=8,
)


def test_hash_keys_that_python_treats_as_equal_are_distinct() -> None:
    hash_value = Hash.of([(1, "a"), (1.0, "b"), (True, "c"), ((1,), "d"), ((1.0,), "e"), ((True,), "f")])
    assert [hash_value.lookup(key) for key in (1, 1.0, True, (1,), (1.0,), (True,))] == list("abcdef")
    assert len(hash_value) == 6


@pytest.mark.parametrize("keys", [(1, True), (True, 1), (0, False, 0.0), (False, 0)])
def test_hash_keeps_the_order_of_confusable_keys(keys: tuple[object, ...]) -> None:
    hash_value = Hash.of((key, index) for index, key in enumerate(keys))
    assert list(hash_value.values()) == list(range(len(keys)))
    assert all(hash_value.lookup(key) == index for index, key in enumerate(keys))


@given(st.lists(st.tuples(DATA, st.integers()), max_size=6))
def test_hash_finds_the_last_value_of_every_key(pairs: list[tuple[object, int]]) -> None:
    wanted = {identity_of(key): value for key, value in pairs}
    hash_value = Hash.of(pairs)
    assert len(hash_value) == len(wanted)
    assert all(hash_value.has(key) and hash_value.lookup(key) == wanted[identity_of(key)] for key, _ in pairs)


@given(DATA)
def test_values_equal_themselves_and_hash_alike(value: object) -> None:
    assert equals(value, value)
    assert hash(identity_of(value)) == hash(identity_of(value))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("aB", "Ab", True),
        ("Ö", "ö", False),  # only A to Z lose their case
        (1, 1.0, True),
        (1, True, False),
        (None, "", False),
        (("A",), ("a",), True),
        (Hash.of([("a", "X")]), Hash.of([("a", "x")]), True),
        (Hash.of([("a", 1)]), Hash.of([("A", 1)]), False),
        (Timespan(NS), 1, True),
        (1.5, Timestamp(1_500_000_000), True),
        (Regexp("a"), Regexp("A"), False),
        (Binary(b"a"), "YQ==", False),
    ],
)
def test_equality_is_puppets(a: object, b: object, same: bool) -> None:
    assert equals(a, b) is same
    assert equals(b, a) is same


def test_comparing_unlike_kinds_names_both() -> None:
    with pytest.raises(InputError, match="Comparison of: String < Integer") as caught:
        compare("a", 1)
    assert caught.value.code == "LANG-201"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e14, "100000000000000.0"),
        (1e15, "1.0e+15"),
        (-1234567890123456.0, "-1.234567890123456e+15"),
        (1000000000000000.5, "1000000000000000.5"),
        (1e16, "1.0e+16"),
        (1.25e100, "1.25e+100"),
        (1e-4, "0.0001"),
        (1e-5, "1.0e-05"),
        (-0.0, "-0.0"),
    ],
)
def test_floats_are_written_as_ruby_writes_them(value: float, text: str) -> None:
    assert float_text(value) == text


def test_sensitive_is_never_written() -> None:
    secret = Sensitive("hunter2")
    shown = [to_string((secret,)), literal(Hash.of([("a", secret)])), repr(secret), str(secret)]
    assert not any("hunter2" in text for text in shown)


def test_rich_form_marks_what_json_lacks() -> None:
    assert rich((DEFAULT, Hash.of([(1, Regexp("a"))]))) == [
        {"__ptype": "Default"},
        {"__ptype": "Hash", "__pvalue": [[1, {"__ptype": "Regexp", "__pvalue": "a"}]]},
    ]


def test_plain_data_survives_a_round_trip() -> None:
    data = {"a": [1, 1.5, None, True, {"b": "c"}]}
    assert rich(from_data(data)) == data
